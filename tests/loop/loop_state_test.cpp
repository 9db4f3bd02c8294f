// SPDX-License-Identifier: Apache-2.0
/// @file
/// Containers, optional values, tuples and structs as state.
#include <trainhook/loop/loop_state.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/log_lines.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using detail::StateBinding;

enum class Phase { Warm, Cold };

struct Cell {
  double heat = 0;
  std::vector<std::int32_t> neighbours{};
  std::map<std::string, std::vector<bool>> marks{};
  std::optional<std::string> note{};
  Phase phase = Phase::Warm;
  friend bool operator==(const Cell&, const Cell&) = default;
};
void visit_state(const auto& visit, Cell& cell) {
  visit("heat", cell.heat);
  visit("neighbours", cell.neighbours);
  visit("marks", cell.marks);
  visit("note", cell.note);
  visit("phase", cell.phase);
}

struct Tree {
  int value = 0;
  std::vector<Tree> children{};
  friend bool operator==(const Tree&, const Tree&) = default;
};
void visit_state(auto&& visit, Tree& tree) {
  visit("value", tree.value);
  visit("children", tree.children);
}

// Trivially copyable, but its bytes are not its state.
struct Link {
  int value = 0;
  const Link* next = nullptr;
};
void visit_state(const auto& visit, Link& link) { visit("value", link.value); }

// A container of itself, as a JSON value is.
struct Nested {
  using value_type = Nested;
  std::vector<Nested> items{};
  [[nodiscard]] auto begin() { return items.begin(); }
  [[nodiscard]] auto end() { return items.end(); }
  [[nodiscard]] std::size_t size() const { return items.size(); }
  void clear() { items.clear(); }
  auto insert(std::vector<Nested>::const_iterator at, const Nested& item) { return items.insert(at, item); }
};

static_assert(LoopState<std::optional<Link>> && LoopState<std::array<Link, 2>> && !LoopState<Link[2]>);
static_assert(!detail::RawState<std::optional<Link>> && !detail::RawState<std::array<Link, 2>>);
static_assert(!LoopState<Nested> && !LoopState<std::map<int, Nested>>);
static_assert(LoopState<std::vector<bool>> && LoopState<std::deque<std::string>> && LoopState<std::set<int>>);
static_assert(LoopState<std::multimap<int, std::list<double>>> && LoopState<std::map<std::string, Cell>>);
static_assert(LoopState<std::optional<std::vector<int>>> && LoopState<std::pair<int, std::string>>);
static_assert(LoopState<std::tuple<int, Cell>> && LoopState<std::array<std::string, 2>> && LoopState<Tree>);
static_assert(LoopState<std::vector<std::mt19937_64>> && LoopState<std::vector<Half>> && LoopState<Phase>);
static_assert(!LoopState<std::unordered_map<int, int>> && !LoopState<std::vector<int*>> && !LoopState<const Cell>);
static_assert(!LoopState<std::vector<std::unique_ptr<int>>> && !LoopState<std::map<int, std::string_view>>);
static_assert(!LoopState<std::pair<int, std::function<void()>>> && !LoopState<std::optional<std::vector<int*>>>);

// What would lose its own members, or holds addresses somewhere.
struct Tracked : std::vector<int> {
  int changes = 0;
};
struct Named : std::optional<std::string> {
  int changes = 0;
};
struct SameAsVector : std::vector<int> {};
struct Visible {
  int value = 0;
  int* next[2] = {};
};
struct WithVisible {
  Visible visible{};
};
static_assert(!LoopState<Tracked> && !LoopState<Named> && !LoopState<std::vector<Tracked>> && LoopState<SameAsVector>);
static_assert(!LoopState<std::variant<int, int*>> && LoopState<std::variant<int, float>>);
static_assert(!LoopState<std::vector<std::variant<int, int*>>> && !LoopState<std::optional<std::variant<int*>>>);
static_assert(!LoopState<Visible> && !LoopState<WithVisible> && !LoopState<std::array<WithVisible, 2>>);

void load(const StateBinding& binding, const Tensor& value) { binding.prepare(value)(); }

/// Saves `full`, and loads it over `other`, which is empty or has other sizes.
template <class T>
Tensor expect_comes_back(T full, T other) {
  const Tensor saved = detail::state_of("s", full).save();
  const StateBinding binding = detail::state_of("s", other);
  EXPECT_TRUE(binding.dtype == saved.dtype() && binding.shape.compatible_with(saved.shape()));
  const auto commit = binding.prepare(saved);
  EXPECT_NE(other, full) << "nothing changes before the commit";
  commit();
  EXPECT_EQ(other, full);
  EXPECT_EQ(binding.save(), saved);
  return saved;
}

TEST(LoopState, ElementsOfAContainerAreATensor) {
  EXPECT_EQ(expect_comes_back<std::vector<bool>>({true, false, true}, {}), Tensor::of<bool>({true, false, true}));
  EXPECT_EQ(expect_comes_back<std::deque<float>>({1, 2}, {3, 4, 5}), Tensor::of<float>({1, 2}));
  EXPECT_EQ(expect_comes_back<std::list<std::string>>({"a", ""}, {"b"}), Tensor::of<std::string>({"a", ""}));
  EXPECT_EQ(expect_comes_back<std::set<std::int64_t>>({3, 1}, {2}), Tensor::of<std::int64_t>({1, 3}));
  EXPECT_EQ(expect_comes_back<std::vector<Half>>({Half{0x3c00}}, {}), Tensor::of<Half>({Half{0x3c00}}));
  EXPECT_EQ(expect_comes_back<std::vector<double>>({}, {1}), Tensor::copy_of(std::span<const double>(), Shape{0}));
}

TEST(LoopState, KeepsTheOrderOfEqualElements) {
  expect_comes_back<std::multimap<int, std::string>>({{1, "b"}, {1, "a"}, {0, "c"}, {1, "b"}}, {});
}

TEST(LoopState, WhatIsNestedIsAString) {
  const Cell cell{
      .heat = 0.1, .neighbours = {1, -2}, .marks = {{"x", {true}}, {"", {}}}, .note = "n", .phase = Phase::Cold};
  expect_comes_back<std::map<std::string, Cell>>({{"north", cell}, {"south", {}}}, {{"north", {}}, {"east", cell}});
  expect_comes_back<std::vector<std::vector<double>>>({{1, 2}, {}, {-0.0}}, {{3}});
  expect_comes_back<std::optional<std::vector<int>>>({{1, 2}}, {});
  expect_comes_back<std::optional<std::vector<int>>>({}, {{1, 2}});
  expect_comes_back<std::tuple<int, std::string, Cell>>({1, "a", cell}, {});
  expect_comes_back<std::vector<std::optional<int>>>({1, {}, 2}, {{}, 3});
  expect_comes_back<std::array<std::string, 2>>({"a", "b"}, {});
  expect_comes_back<std::vector<Tree>>({{1, {{2, {{3, {}}}}, {4, {}}}}}, {});
}

TEST(LoopState, KeepsTheBitsOfNumbersThatAreNone) {
  std::map<int, double> map{{0, std::nan("7")}, {1, -std::numeric_limits<double>::infinity()}};
  const StateBinding binding = detail::state_of("m", map);
  const Tensor saved = binding.save();
  map.clear();
  load(binding, saved);
  EXPECT_EQ(binding.save(), saved);
}

TEST(LoopState, GeneratorsInAContainerContinue) {
  std::vector<std::mt19937_64> noise{std::mt19937_64(1), std::mt19937_64(2)};
  const StateBinding binding = detail::state_of("noise", noise);
  EXPECT_TRUE(binding.is_generator);
  const Tensor saved = binding.save();
  const auto next = std::array{noise[0](), noise[1]()};
  noise.resize(1);
  load(binding, saved);
  EXPECT_EQ((std::array{noise.at(0)(), noise.at(1)()}), next);
}

TEST(LoopState, AComparatorStaysTheObjects) {
  std::set<int, std::function<bool(int, int)>> falling(std::greater<>{});
  falling = decltype(falling)({1, 3, 2}, std::greater<>{});
  load(detail::state_of("s", falling), Tensor::of<std::int32_t>({5, 6}));
  EXPECT_EQ(*falling.begin(), 6);
}

TEST(LoopState, EachMemberOfAStructIsAState) {
  LoopSession loop;
  Cell cell{.heat = 1.5, .neighbours = {7}};
  loop.state("cell", cell);
  std::vector<std::string> names;
  for (const StateSpec& spec : loop.state()) names.push_back(spec.name);
  const std::string prefix = "_trainhook/state/cell/";
  EXPECT_EQ(names, (std::vector<std::string>{"global_step", prefix + "heat", prefix + "neighbours", prefix + "marks",
                                             prefix + "note", prefix + "phase"}));
  EXPECT_EQ(loop.saved_value(prefix + "heat"), Tensor(1.5));
  EXPECT_EQ(loop.saved_value(prefix + "neighbours"), Tensor::of<std::int32_t>({7}));
}

/// Saves `saved`, and loads it over `object`.
template <class T>
void load_from(T& object, T saved) {
  load(detail::state_of("s", object), detail::state_of("s", saved).save());
  EXPECT_EQ(object, saved);
}

TEST(LoopState, ElementsOfAVectorOfTheSavedSizeKeepTheirAddress) {
  std::vector<Cell> cells(2);
  const Cell& cell = cells[1];
  load_from(cells, {{.heat = 1}, {.heat = 2, .neighbours = {3}}});
  EXPECT_EQ(&cell, &cells[1]);
  EXPECT_EQ(cell.heat, 2);

  std::vector<float> numbers{1, 2, 3};
  const float& number = numbers[2];
  load_from(numbers, {4, 5, 6});
  EXPECT_EQ(&number, &numbers[2]);

  std::vector<bool> bits{true, false};
  load_from(bits, {false, false});
  std::string text = "before";
  const char* const letter = &text[5];
  load_from(text, std::string("behind"));
  EXPECT_EQ(letter, &text[5]);
}

TEST(LoopState, WhatIsNestedIsSetInPlaceAsFarAsSizesAndKeysAreThoseSaved) {
  using Groups = std::map<std::string, std::vector<std::optional<std::string>>>;
  std::pair<int, Groups> groups{1, {{"a", {"x", {}}}, {"b", {"y"}}}};
  const std::optional<std::string>& first = groups.second["a"][0];
  const std::string& word = *groups.second["b"][0];
  const auto& other = groups.second["b"];
  load_from(groups, {2, {{"a", {"u", "v"}}, {"b", {"w"}}}});
  EXPECT_EQ(&first, &groups.second["a"][0]);
  EXPECT_EQ(&word, &*groups.second["b"][0]);
  load_from(groups, {2, {{"a", {"u", "v"}}, {"b", {"w", "z"}}}});
  EXPECT_EQ(&first, &groups.second["a"][0]);
  EXPECT_EQ(&other, &groups.second["b"]);
  load_from(groups, {2, {{"a", {"u", "v"}}, {"c", {"w", "z"}}}});

  std::map<double, int> signs{{0.0, 1}};
  load_from(signs, {{-0.0, 2}});
  EXPECT_TRUE(std::signbit(signs.begin()->first)) << "the key has the saved bits";
}

struct Watched {
  int value = 0;
  const char* watcher = nullptr;  // of this process, no state
  friend bool operator==(const Watched& a, const Watched& b) { return a.value == b.value; }
};
void visit_state(const auto& visit, Watched& watched) { visit("value", watched.value); }

TEST(LoopState, MembersThatAreNoStateStayInElementsThatAreThere) {
  std::vector<Watched> all{{1, "first"}, {2, "second"}};
  load_from(all, {{3}, {4}, {5}});
  EXPECT_STREQ(all[1].watcher, "second");
  EXPECT_EQ(all[2].watcher, nullptr);
  load_from(all, {{6}});
  EXPECT_STREQ(all[0].watcher, "first");
}

/// Whether a state of this type takes the bytes; if not, the object keeps its value.
template <class T>
bool takes(T object, const std::string& bytes) {
  const T before = object;
  try {
    load(detail::state_of("s", object), Tensor(bytes));
  } catch (const DataLossError& error) {
    EXPECT_NE(std::string(error.what()).find("'s'"), std::string::npos) << error.what();
    EXPECT_EQ(object, before);
    return false;
  }
  return true;
}

std::string number(std::uint64_t number) { return {reinterpret_cast<const char*>(&number), sizeof number}; }

TEST(LoopState, RefusesLengthsThatTheBytesDoNotHave) {
  using Rows = std::vector<std::vector<double>>;
  EXPECT_TRUE(takes(Rows{{1}}, number(1) + number(1) + number(0)));
  EXPECT_FALSE(takes(Rows{{1}}, number(1) + number(1) + number(0) + 'x'));
  EXPECT_FALSE(takes(Rows{{1}}, number(1) + number(2) + number(0)));
  EXPECT_FALSE(takes(Rows{{1}}, number(2) + number(1) + number(0)));
  for (const std::uint64_t huge : {std::uint64_t{1} << 32U, ~std::uint64_t{0}, ~std::uint64_t{0} / 8 + 1}) {
    EXPECT_FALSE(takes(Rows{{1}}, number(huge)));
    EXPECT_FALSE(takes(Rows{{1}}, number(1) + number(huge) + number(0)));
    EXPECT_FALSE(takes(std::map<std::string, int>{{"a", 1}}, number(1) + number(huge) + "aaaa"));
  }
  EXPECT_FALSE(takes(Rows{{1}}, ""));
}

TEST(LoopState, RefusesDamageInEachByteThatItCannotHave) {
  std::map<std::string, Cell> map{{"north", {.heat = 2, .neighbours = {1}, .marks = {{"x", {true}}}, .note = "n"}}};
  const std::string good = detail::state_of("s", map).save().data<std::string>()[1];
  EXPECT_TRUE(takes(decltype(map){}, good));
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(takes(map, good.substr(0, size))) << size;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      (void)takes(decltype(map){}, bad);  // a number may change; nothing else may happen
    }
  }
}

TEST(LoopState, RefusesAKeyThatIsThereTwiceAndABoolThatIsNone) {
  EXPECT_TRUE(takes(std::map<char, bool>{}, number(2) + "a\x01" + "b\x01"));
  EXPECT_FALSE(takes(std::map<char, bool>{}, number(2) + "a\x01" + "a\x01"));
  EXPECT_FALSE(takes(std::map<char, bool>{}, number(1) + "a\x02"));
  EXPECT_FALSE(takes(std::optional<std::string>{}, "\x02" + number(0)));
  std::set<int> set{7};
  EXPECT_THROW(load(detail::state_of("s", set), Tensor::of<std::int32_t>({1, 1})), DataLossError);
  EXPECT_EQ(set, std::set<int>{7});
}

TEST(LoopState, RefusesStructsThatAreTooDeep) {
  Tree tree;
  for (int i = 0; i < 150; ++i) tree = Tree{.value = i, .children = {tree}};
  std::vector<Tree> trees{tree};
  const StateBinding binding = detail::state_of("s", trees);
  load(binding, binding.save());
  EXPECT_EQ(trees, std::vector<Tree>{tree});
  for (int i = 0; i < 100; ++i) trees = {Tree{.value = i, .children = trees}};
  testing::expect_error<InvalidArgumentError>({"'s'", "200"}, [&] { (void)binding.save(); });
  std::string deep = number(1);
  for (int i = 0; i < 1'000'000; ++i) deep += std::string(4, '\0') + number(1);
  EXPECT_FALSE(takes(std::vector<Tree>{}, deep));
}

struct Strict {
  int value = 1;
  friend bool operator==(const Strict&, const Strict&) = default;
};
void visit_state(const auto& visit, Strict& strict) {
  visit("value", strict.value);
  if (strict.value < 0) throw std::out_of_range("it is negative");
}

TEST(LoopState, WhatAStructRefusesIsItsOwnError) {
  std::vector<Strict> all(1);
  const testing::LogLines log;
  const StateBinding binding = detail::state_of("s", all);
  EXPECT_THROW(load(binding, Tensor(number(1) + std::string(4, '\xff'))), std::out_of_range);
  EXPECT_EQ(all, std::vector<Strict>(1));
  all[0].value = -1;
  EXPECT_THROW((void)binding.save(), std::out_of_range);
  EXPECT_EQ(log.count("E visit_state of state 's' threw: it is negative"), 1U);
}

}  // namespace
}  // namespace trainhook
