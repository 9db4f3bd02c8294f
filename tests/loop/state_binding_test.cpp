// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bindings of generators, plain bytes and pairs of functions.
#include <trainhook/loop/state_binding.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <locale>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/loop/loop_state.hpp>
#include <trainhook/testing/log_lines.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using detail::StateBinding;

static_assert(StreamedState<std::mt19937_64> && StreamedState<std::normal_distribution<double>> && !StreamedState<int>);
static_assert(LoopState<std::uint64_t> && LoopState<std::string> && LoopState<std::array<int, 3>>);
static_assert(LoopState<std::optional<int>> && LoopState<int[3]> && LoopState<std::array<std::array<float, 2>, 2>>);
static_assert(!LoopState<std::span<int>> && !LoopState<std::string_view> && !LoopState<std::initializer_list<int>>);
static_assert(!LoopState<std::array<int*, 3>> && !LoopState<int* [3]> && !LoopState<std::array<std::string_view, 2>>);
static_assert(!LoopState<std::optional<int*>> && !LoopState<std::nullptr_t> && !LoopState<int std::pair<int, int>::*>);
static_assert(!LoopState<std::reference_wrapper<int>> && !LoopState<std::vector<int>::iterator>);
static_assert(!LoopState<const int> && !LoopState<int*> && !LoopState<std::true_type>);

void load(const StateBinding& binding, const Tensor& value) { binding.prepare(value)(); }

template <class Generator>
void expect_goes_on(Generator generator) {
  (void)generator();
  const StateBinding binding = detail::state_of("g", generator);
  const Tensor saved = binding.save();
  std::vector<typename Generator::result_type> first;
  for (int i = 0; i < 2000; ++i) first.push_back(generator());
  load(binding, saved);
  for (const auto value : first) ASSERT_EQ(generator(), value);
}

TEST(StateBinding, LetsEveryStandardGeneratorContinue) {
  expect_goes_on(std::mt19937(1));
  expect_goes_on(std::mt19937_64(2));
  expect_goes_on(std::minstd_rand(3));
  expect_goes_on(std::ranlux24(4));
  expect_goes_on(std::ranlux48(5));
  expect_goes_on(std::knuth_b(6));
}

/// An engine for which there is no memory half-way through its text; the stream keeps the exception to itself.
struct EngineWithoutMemory {
  using result_type = int;
  friend std::ostream& operator<<(std::ostream& out, const EngineWithoutMemory& /*engine*/) {
    out << "1 2 ";
    out.setstate(std::ios::badbit);
    return out << 3;
  }
  friend std::istream& operator>>(std::istream& in, EngineWithoutMemory& /*engine*/) { return in; }
};

TEST(StateBinding, ATextThatCouldNotBeWrittenToItsEndIsNotSaved) {
  EngineWithoutMemory engine;
  const StateBinding binding = detail::state_of("noise", engine);
  testing::expect_error<ResourceExhaustedError>({"'noise'"}, [&] { (void)binding.save(); });
}

TEST(StateBinding, LetsAdaptorsOfAdaptorsContinue) {
  expect_goes_on(std::independent_bits_engine<std::ranlux24, 17, std::uint32_t>(1));
  expect_goes_on(std::shuffle_order_engine<std::discard_block_engine<std::mt19937, 9, 7>, 12>(2));
}

/// Whether the generator takes its own text with one word replaced. Words count from the back if `at` is negative.
template <class Generator>
bool takes(Generator generator, int at, const std::string& word) {
  (void)generator();
  const StateBinding binding = detail::state_of("g", generator);
  std::istringstream text(binding.save().template data<std::string>()[1]);
  std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
  words.at(at < 0 ? words.size() - static_cast<std::size_t>(-at) : static_cast<std::size_t>(at)) = word;
  std::string hostile;
  for (const std::string& each : words) hostile += each + ' ';
  hostile.pop_back();
  const Generator before = generator;
  try {
    load(binding, Tensor(hostile));
  } catch (const DataLossError&) {
    EXPECT_EQ(generator, before);
    return false;
  }
  for (int i = 0; i < 2000; ++i) (void)generator();
  return true;
}

TEST(StateBinding, RefusesNumbersThatAnEngineCannotHave) {
  const std::string huge = "18446744073709551615";
  // The place in the table.
  EXPECT_TRUE(takes(std::mt19937(), -1, "624"));
  EXPECT_FALSE(takes(std::mt19937(), -1, "625"));
  EXPECT_FALSE(takes(std::mt19937_64(), -1, huge));
  EXPECT_TRUE(takes(std::ranlux48_base(), -1, "11"));
  EXPECT_FALSE(takes(std::ranlux48_base(), -1, "12"));
  EXPECT_FALSE(takes(std::ranlux24_base(), -1, huge));
  EXPECT_FALSE(takes(std::ranlux24_base(), -1, "-1"));
  // The carry.
  EXPECT_TRUE(takes(std::ranlux48_base(), -2, "1"));
  EXPECT_FALSE(takes(std::ranlux48_base(), -2, "2"));
  // What a discard block has used.
  EXPECT_TRUE(takes(std::ranlux48(), -1, "11"));
  EXPECT_FALSE(takes(std::ranlux48(), -1, "12"));
  EXPECT_FALSE(takes(std::ranlux24(), -1, huge)) << "discards for ever";
  // The number from which a shuffled engine computes an index, and its table.
  EXPECT_TRUE(takes(std::knuth_b(), -1, "2147483646"));
  EXPECT_FALSE(takes(std::knuth_b(), -1, "2147483647"));
  EXPECT_FALSE(takes(std::knuth_b(), -1, huge));
  EXPECT_FALSE(takes(std::knuth_b(), 1, huge));
  // Words of the state.
  EXPECT_FALSE(takes(std::mt19937(), 0, "4294967296"));
  EXPECT_TRUE(takes(std::mt19937_64(), 0, huge));
  EXPECT_FALSE(takes(std::ranlux48_base(), 0, "281474976710656"));
  EXPECT_FALSE(takes(std::minstd_rand(), 0, "2147483647"));
  EXPECT_FALSE(takes(std::minstd_rand(), 0, "0")) << "gives nothing but zeros";
  EXPECT_FALSE(takes(std::minstd_rand(), 0, "1x"));
  // Engines inside of adaptors.
  EXPECT_FALSE(takes(std::independent_bits_engine<std::ranlux24, 17, std::uint32_t>(), -2, huge));
  EXPECT_FALSE(takes(std::shuffle_order_engine<std::discard_block_engine<std::mt19937, 9, 7>, 12>(), 624, "625"));
}

TEST(StateBinding, PassesOnThatNoMemoryHasRoomForALength) {
  const testing::LogLines log;
  std::discrete_distribution<int> distribution({1, 2, 3});
  const StateBinding binding = detail::state_of("d", distribution);
  EXPECT_THROW(load(binding, Tensor("4611686018427387904 0.5")), std::length_error);
  EXPECT_EQ(log.count("E operator>> of state 'd' threw: "), 1U);
}

TEST(StateBinding, KeepsTheNumberThatANormalDistributionHasInReserve) {
  std::mt19937_64 noise(7);
  std::normal_distribution<double> normal(0.1, 1.0 / 3);
  (void)normal(noise);
  const StateBinding generator = detail::state_of("g", noise);
  const StateBinding distribution = detail::state_of("d", normal);
  const std::array<Tensor, 2> saved{generator.save(), distribution.save()};
  const std::array<double, 2> next{normal(noise), normal(noise)};
  load(generator, saved[0]);
  load(distribution, saved[1]);
  EXPECT_EQ(normal(noise), next[0]);
  EXPECT_EQ(normal(noise), next[1]);
}

struct Grouped : std::numpunct<char> {
  [[nodiscard]] char do_thousands_sep() const override { return '.'; }
  [[nodiscard]] std::string do_grouping() const override { return "\3"; }
  [[nodiscard]] char do_decimal_point() const override { return ','; }
};

TEST(StateBinding, WritesNumbersTheSameWayInEveryLocale) {
  std::mt19937_64 noise(7);
  const StateBinding binding = detail::state_of("g", noise);
  const Tensor plain = binding.save();
  const std::locale previous = std::locale::global(std::locale(std::locale::classic(), new Grouped));
  const Tensor grouped = binding.save();
  EXPECT_NO_THROW(load(binding, plain));
  std::locale::global(previous);
  EXPECT_EQ(grouped, plain);
}

TEST(StateBinding, RefusesTextThatAGeneratorDoesNotWrite) {
  std::mt19937_64 noise(7);
  const std::mt19937_64 before = noise;
  const StateBinding binding = detail::state_of("g", noise);
  const std::string good = binding.save().data<std::string>()[1];
  for (const std::string& bad :
       {std::string(), std::string("x"), good.substr(0, good.size() / 2), good + " 1", "x" + good}) {
    EXPECT_THROW(binding.prepare(Tensor(bad)), DataLossError) << bad.size();
  }
  EXPECT_EQ(noise, before);
}

TEST(StateBinding, ChangesNothingBeforeItIsCommitted) {
  std::mt19937_64 noise(7);
  const std::mt19937_64 before = noise;
  const StateBinding binding = detail::state_of("g", noise);
  std::mt19937_64 other(8);
  const auto commit = binding.prepare(detail::save_streamed("g", other));
  EXPECT_EQ(noise, before);
  commit();
  EXPECT_EQ(noise, other);
}

TEST(StateBinding, StoresNumbersAndStringsAsTensorsOfTheirType) {
  std::int32_t epoch = 3;
  std::string note = "first";
  const StateBinding number = detail::state_of("n", epoch);
  const StateBinding text = detail::state_of("t", note);
  EXPECT_EQ(number.save(), Tensor(std::int32_t{3}));
  EXPECT_EQ(number.dtype, DType::Int32);
  EXPECT_EQ(text.save(), Tensor("first"));
  load(number, Tensor(std::int32_t{4}));
  load(text, Tensor("second"));
  EXPECT_EQ(epoch, 4);
  EXPECT_EQ(note, "second");
}

TEST(StateBinding, StoresPlainObjectsAsTheirBytes) {
  struct Particle {
    float position;
    std::int32_t age;
  };
  Particle particle{1.5F, 7};
  const StateBinding binding = detail::state_of("p", particle);
  EXPECT_EQ(binding.dtype, DType::UInt8);
  const Tensor saved = binding.save();
  EXPECT_EQ(saved.shape(), (Shape{1, 36})) << "the form of the type, a zero, and the bytes";
  particle = {};
  load(binding, saved);
  EXPECT_EQ(particle.position, 1.5F);
  EXPECT_EQ(particle.age, 7);
}

TEST(StateBinding, GoesThroughAPairOfFunctions) {
  std::string text = "one";
  const StateBinding by_text = detail::state_by(
      "s", [&] { return text; }, [&](const std::string& saved) { text = saved; });
  EXPECT_EQ(by_text.save(), Tensor("one"));
  load(by_text, Tensor("two"));
  EXPECT_EQ(text, "two");

  Tensor tensor = Tensor::of<float>({1, 2});
  const StateBinding by_tensor = detail::state_by(
      "t", [&] { return tensor; }, [&](const Tensor& saved) { tensor = saved; });
  EXPECT_EQ(by_tensor.dtype, DType::Float);
  EXPECT_FALSE(by_tensor.shape.has_rank()) << "the next one may be longer";
  load(by_tensor, Tensor::of<float>({1, 2, 3}));
  EXPECT_EQ(tensor, Tensor::of<float>({1, 2, 3}));
}

TEST(StateBinding, PassesOnWhatALoaderThrows) {
  const testing::LogLines log;
  const auto save = [] { return std::string(); };
  const StateBinding plain =
      detail::state_by("s", save, [](const std::string&) { throw std::invalid_argument("stoi"); });
  EXPECT_THROW(load(plain, Tensor("x")), std::invalid_argument);
  const StateBinding error =
      detail::state_by("s", save, [](const std::string&) { throw UnimplementedError("version 2"); });
  EXPECT_THROW(load(error, Tensor("x")), UnimplementedError);
}

TEST(StateBinding, NamesTheStateWhoseFunctionThrows) {
  const testing::LogLines log;
  const StateBinding broken = detail::state_by(
      "s", []() -> std::string { throw std::range_error("too far"); }, [](const std::string&) { throw 3; });
  EXPECT_THROW(static_cast<void>(broken.save()), std::range_error);
  EXPECT_THROW(load(broken, Tensor("x")), int);
  const StateBinding error = detail::state_by(
      "e", [] { return std::string(); }, [](const std::string&) { throw UnimplementedError("later"); });
  EXPECT_THROW(load(error, Tensor("x")), UnimplementedError);
  EXPECT_EQ(log.count("E the save function of state 's' threw: too far"), 1U);
  EXPECT_EQ(log.count("E the load function of state 's' threw: "), 1U);
  EXPECT_EQ(log.count("E the load function of state 'e' threw: Unimplemented: later"), 1U);
}

}  // namespace
}  // namespace trainhook
