// SPDX-License-Identifier: Apache-2.0
/// @file
/// What types show of themselves, and state that is not read as another type.
#include <trainhook/loop/state_form.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/loop/loop_state.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using detail::form_of;
using detail::StateBinding;

enum class Phase : std::uint8_t { Warm, Cold };
struct Particle {
  double place[3];
  std::int32_t age;
};
struct Actor {
  double heat = 0;
  std::vector<Particle> particles{};
  std::optional<std::string> note{};
  std::vector<Actor> children{};
};
void visit_state(const auto& visit, Actor& actor) {
  visit("heat", actor.heat);
  visit("particles", actor.particles);
  visit("note", actor.note);
  visit("children", actor.children);
}
struct Strict {
  std::int32_t size = 0;
  std::vector<int> items{};
};
void visit_state(const auto& visit, Strict& strict) {
  visit("size", strict.size);
  if (strict.size == 0) throw std::invalid_argument("an empty one");
  visit("items", strict.items);
}
class Closed {
 public:
  Closed() = default;
  std::int32_t value = 0;
};

TEST(StateForm, ShowsKindsAndSizesInOrder) {
  EXPECT_EQ((form_of<std::map<std::string, std::int32_t>>()), "[(string, int32)]");
  EXPECT_EQ((form_of<std::pair<std::optional<float>, std::array<Half, 2>>>()), "(optional float32, [float16 x 2])");
  EXPECT_EQ((form_of<std::vector<std::set<BFloat16>>>()), "[[bfloat16]]");
  EXPECT_EQ((form_of<std::variant<std::int32_t, float>>()), "variant {int32, float32}");
  EXPECT_EQ((form_of<std::int16_t[2][3]>()), "[[int16 x 3] x 2]");
  EXPECT_EQ(form_of<Phase>(), "uint8");
  EXPECT_EQ(form_of<char>(), "char");
  EXPECT_EQ(form_of<std::chrono::milliseconds>(), "duration(1, 1000) of int64");
  EXPECT_EQ(form_of<Particle>(), "{[float64 x 3], int32} in 32 bytes");
  EXPECT_EQ(form_of<Closed>(), "object in 4 bytes at multiples of 4");
}

TEST(StateForm, NamesTheMembersThatAStructVisits) {
  EXPECT_EQ(form_of<std::vector<Actor>>(),
            "[{heat: float64, particles: [{[float64 x 3], int32} in 32 bytes], note: optional string, "
            "children: [{...}]}]");
  EXPECT_EQ(form_of<Strict>(), "{size: int32}") << "until it refuses to be empty";
}

TEST(StateForm, TellsEnginesAndDistributionsApart) {
  EXPECT_EQ(form_of<std::minstd_rand0>(), "linear_congruential_engine(16807, 0, 2147483647)");
  EXPECT_EQ(form_of<std::minstd_rand>(), "linear_congruential_engine(48271, 0, 2147483647)");
  EXPECT_EQ(form_of<std::mt19937_64>(), "mersenne_twister_engine(18446744073709551615)");
  EXPECT_EQ(form_of<std::ranlux24>(), "discard_block_engine(16777215) of subtract_with_carry_engine(16777215)");
  EXPECT_EQ(form_of<std::knuth_b>(),
            "shuffle_order_engine(2147483646) of linear_congruential_engine(16807, 0, 2147483647)");
  EXPECT_EQ(form_of<std::uniform_int_distribution<std::int32_t>>(), "uniform_int_distribution of int32");
  EXPECT_EQ(form_of<std::weibull_distribution<float>>(), "weibull_distribution of float32");
}

/// Expects that what a `Saved` wrote is refused by a `Read`, with both forms, and is not called damage.
template <class Read, class Saved>
void expect_refused(Saved saved, std::string_view saved_form, std::string_view read_form) {
  const Tensor value = detail::state_of("s", saved).save();
  Read object{};
  const StateBinding binding = detail::state_of("s", object);
  EXPECT_TRUE(binding.dtype == value.dtype() && binding.shape.compatible_with(value.shape()));
  testing::expect_error<InvalidArgumentError>({"'s'", saved_form, read_form}, [&] { (void)binding.prepare(value); });
}

struct FloatInt {
  float first = 1;
  std::int32_t second = 2;
};
struct IntFloat {
  std::int32_t first = 1;
  float second = 2;
};

TEST(StateForm, BytesAreNotReadAsAnotherTypeOfTheirSize) {
  expect_refused<IntFloat>(FloatInt(), "{float32, int32} in 8 bytes", "{int32, float32} in 8 bytes");
  expect_refused<std::array<float, 2>>(FloatInt(), "{float32, int32} in 8 bytes", "[float32 x 2]");
  expect_refused<std::variant<float, std::int32_t>>(std::variant<std::int32_t, float>(3), "variant {int32, float32}",
                                                    "variant {float32, int32}");
  expect_refused<std::chrono::milliseconds>(std::chrono::seconds(3), "duration(1, 1)", "duration(1, 1000)");
  expect_refused<Closed>(FloatInt(), "8 bytes", "object in 4 bytes");
}

TEST(StateForm, NestedValuesAreNotReadAsOtherNumbers) {
  expect_refused<std::map<std::string, float>>(std::map<std::string, std::int32_t>{{"a", 1}}, "[(string, int32)]",
                                               "[(string, float32)]");
  expect_refused<std::pair<float, std::string>>(std::pair<std::int32_t, std::string>(1, "a"), "(int32, string)",
                                                "(float32, string)");
  expect_refused<std::vector<std::vector<std::int64_t>>>(std::vector<std::vector<double>>{{1}}, "[[float64]]",
                                                         "[[int64]]");
  expect_refused<std::vector<Strict>>(std::vector<Actor>(1), "heat: float64", "[{size: int32}]");
}

TEST(StateForm, ATextIsNotReadByAnotherEngine) {
  expect_refused<std::minstd_rand>(std::minstd_rand0(7), "(16807, 0,", "(48271, 0,");
  expect_refused<std::uniform_real_distribution<double>>(std::uniform_int_distribution<std::int32_t>(0, 9),
                                                         "uniform_int_distribution of int32",
                                                         "uniform_real_distribution of float64");
}

TEST(StateForm, WhatHasTheShapeOfStringsIsNoForm) {
  std::map<std::string, std::int32_t> map;
  const StateBinding binding = detail::state_of("s", map);
  testing::expect_error<InvalidArgumentError>({"string[2]", "[(string, int32)]"}, [&] {
    (void)binding.prepare(Tensor::of<std::string>({"a", "b"}));
  });
}

TEST(StateForm, ReadsValuesOfVersion02WhichHaveNoForm) {
  FloatInt plain;
  const FloatInt saved{.first = 3, .second = 4};
  std::vector<std::uint8_t> bytes(sizeof saved);
  std::memcpy(bytes.data(), &saved, sizeof saved);
  detail::state_of("s", plain).prepare(Tensor::copy_of(std::span<const std::uint8_t>(bytes), Shape{8}))();
  EXPECT_EQ(plain.first, 3);
  EXPECT_EQ(plain.second, 4);

  std::minstd_rand engine;
  detail::state_of("s", engine).prepare(Tensor("12345"))();
  EXPECT_EQ(engine, std::minstd_rand(12345));

  std::pair<std::int32_t, std::string> pair;
  std::string text("\x07\0\0\0\x01\0\0\0\0\0\0\0x", 13);
  detail::state_of("s", pair).prepare(Tensor(text))();
  EXPECT_EQ(pair, std::pair(std::int32_t{7}, std::string("x")));
}

}  // namespace
}  // namespace trainhook
