// SPDX-License-Identifier: Apache-2.0
/// @file
/// Aggregates show their members; what a structured binding cannot name shows none.
#include <trainhook/loop/aggregate_members.hpp>

#include <array>
#include <concepts>
#include <optional>
#include <random>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

using detail::MemberList;
using detail::MembersOf;
using detail::standard_name;

enum class Phase { Warm };
struct Empty {};
struct Pair {
  float first;
  int second;
};
struct Arrays {
  int counts[3];
  Pair pair;
  double matrix[2][2];
  char name[256];
  bool flag;
};
struct Kinds {
  unsigned low : 3;
  unsigned high : 5;
  const int constant = 1;
  int* address;
  std::optional<int> perhaps;
  std::array<int, 2> two;
  Phase phase;
};
struct Derived : Pair {
  int third;
};
union Either {
  int whole;
  float part;
};
struct OfUnion {
  int kind;
  Either value;
};
struct Anonymous {
  int kind;
  union {
    int whole;
    float part;
  };
};
struct Most {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
struct TooMany {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};
class Closed {
 public:
  Closed() = default;
  int value = 0;
};

static_assert(std::same_as<MembersOf<Pair>, MemberList<float, int>>);
static_assert(std::same_as<MembersOf<Arrays>, MemberList<int[3], Pair, double[2][2], char[256], bool>>);
static_assert(std::same_as<MembersOf<Kinds>,
                           MemberList<unsigned, unsigned, int, int*, std::optional<int>, std::array<int, 2>, Phase>>);
static_assert(std::same_as<MembersOf<Most>,
                           MemberList<int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int>>);

template <class T>
constexpr bool kShowsNothing = std::same_as<MembersOf<T>, MemberList<>>;
static_assert(kShowsNothing<Empty> && kShowsNothing<Derived> && kShowsNothing<OfUnion> && kShowsNothing<Anonymous>);
static_assert(kShowsNothing<TooMany> && kShowsNothing<Closed> && kShowsNothing<int> && kShowsNothing<Either>);
static_assert(kShowsNothing<std::array<int, 2>>, "an array is no struct");

TEST(AggregateMembers, KnowsTheNamesOfTheStandardLibraryOnly) {
  EXPECT_EQ(standard_name<std::mt19937>(), "mersenne_twister_engine");
  EXPECT_EQ(standard_name<std::bernoulli_distribution>(), "bernoulli_distribution");
  EXPECT_EQ(standard_name<Pair>(), "");
  EXPECT_EQ(standard_name<double>(), "");
}

}  // namespace
}  // namespace trainhook
