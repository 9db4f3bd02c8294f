// SPDX-License-Identifier: Apache-2.0
/// @file
/// MembersOf: the types of an aggregate's members.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace trainhook::detail {

/// What the compiler calls a type.
template <class T>
[[nodiscard]] constexpr std::string_view type_text() {
  constexpr std::string_view kKey = "T = ";
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t begin = text.find(kKey) + kKey.size();
  return text.substr(begin, text.find_last_of("];") - begin);
}

/// The name of a type or template of the standard library without its namespaces; empty for other types.
template <class T>
[[nodiscard]] constexpr std::string_view standard_name() {
  std::string_view text = type_text<T>();
  if (!text.starts_with("std::")) return {};
  text = text.substr(0, text.find_first_of("<;"));
  return text.substr(text.rfind(':') + 1);
}

/// The types of members in their order.
template <class... Member>
struct MemberList {};

inline constexpr std::size_t kMostMembers = 16;

/// Initializes anything; of an array, its first element.
struct Anything {
  template <class M>
  operator M() const;
};

/// Initializes what a structured binding of `T` cannot name: a base, a union, a member or type without a name.
template <class T>
struct Unnamed {
  template <class M>
    requires(std::is_base_of_v<M, T> || std::is_union_v<M> ||
             type_text<M>().find("<unnamed") != std::string_view::npos ||
             type_text<M>().find(" at ") != std::string_view::npos)
  operator M() const;
};

/// Whether `T` has an Nth member and `A` initializes it.
template <class T, class A, std::size_t N>
[[nodiscard]] constexpr bool has_member() {
  // clang-format off
  if constexpr (N == 1) return requires(A a) { T{a}; };
  if constexpr (N == 2) return requires(A a) { T{{}, a}; };
  if constexpr (N == 3) return requires(A a) { T{{}, {}, a}; };
  if constexpr (N == 4) return requires(A a) { T{{}, {}, {}, a}; };
  if constexpr (N == 5) return requires(A a) { T{{}, {}, {}, {}, a}; };
  if constexpr (N == 6) return requires(A a) { T{{}, {}, {}, {}, {}, a}; };
  if constexpr (N == 7) return requires(A a) { T{{}, {}, {}, {}, {}, {}, a}; };
  if constexpr (N == 8) return requires(A a) { T{{}, {}, {}, {}, {}, {}, {}, a}; };
  if constexpr (N == 9) return requires(A a) { T{{}, {}, {}, {}, {}, {}, {}, {}, a}; };
  if constexpr (N == 10) return requires(A a) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, a}; };
  if constexpr (N == 11) return requires(A a) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, a}; };
  if constexpr (N == 12) return requires(A a) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, a}; };
  if constexpr (N == 13) return requires(A a) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, a}; };
  if constexpr (N == 14) return requires(A a) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, a}; };
  if constexpr (N == 15) return requires(A a) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, a}; };
  if constexpr (N == 16) return requires(A a) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, a}; };
  if constexpr (N == 17) return requires(A a) { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, a}; };
  // clang-format on
}

/// How many members a structured binding can name; 0 if there are too many or one cannot be named.
template <class T, std::size_t N = 1>
[[nodiscard]] constexpr std::size_t count_members() {
  if constexpr (!has_member<T, Anything, N>()) {
    return N - 1;
  } else if constexpr (N > kMostMembers || has_member<T, Unnamed<T>, N>()) {
    return 0;
  } else {
    return count_members<T, N + 1>();
  }
}

template <class... Member>
[[nodiscard]] MemberList<Member...> listed(const Member&... /*members*/) {
  return {};
}

template <class T, std::size_t N>
auto members_of(T& t) {
  // clang-format off
  if constexpr (N == 0) { return MemberList<>(); }
  if constexpr (N == 1) { auto& [a] = t; return listed(a); }
  if constexpr (N == 2) { auto& [a, b] = t; return listed(a, b); }
  if constexpr (N == 3) { auto& [a, b, c] = t; return listed(a, b, c); }
  if constexpr (N == 4) { auto& [a, b, c, d] = t; return listed(a, b, c, d); }
  if constexpr (N == 5) { auto& [a, b, c, d, e] = t; return listed(a, b, c, d, e); }
  if constexpr (N == 6) { auto& [a, b, c, d, e, f] = t; return listed(a, b, c, d, e, f); }
  if constexpr (N == 7) { auto& [a, b, c, d, e, f, g] = t; return listed(a, b, c, d, e, f, g); }
  if constexpr (N == 8) { auto& [a, b, c, d, e, f, g, h] = t; return listed(a, b, c, d, e, f, g, h); }
  if constexpr (N == 9) { auto& [a, b, c, d, e, f, g, h, i] = t; return listed(a, b, c, d, e, f, g, h, i); }
  if constexpr (N == 10) { auto& [a, b, c, d, e, f, g, h, i, j] = t; return listed(a, b, c, d, e, f, g, h, i, j); }
  if constexpr (N == 11) { auto& [a, b, c, d, e, f, g, h, i, j, k] = t;
                           return listed(a, b, c, d, e, f, g, h, i, j, k); }
  if constexpr (N == 12) { auto& [a, b, c, d, e, f, g, h, i, j, k, l] = t;
                           return listed(a, b, c, d, e, f, g, h, i, j, k, l); }
  if constexpr (N == 13) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = t;
                           return listed(a, b, c, d, e, f, g, h, i, j, k, l, m); }
  if constexpr (N == 14) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = t;
                           return listed(a, b, c, d, e, f, g, h, i, j, k, l, m, n); }
  if constexpr (N == 15) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = t;
                           return listed(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o); }
  if constexpr (N == 16) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = t;
                           return listed(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p); }
  // clang-format on
}

template <class T>
[[nodiscard]] constexpr std::size_t visible_members() {
  if constexpr (!std::is_class_v<T> || !std::is_aggregate_v<T> || requires { std::tuple_size<T>::value; }) {
    return 0;
  } else {
    return count_members<T>();
  }
}

/// The members of an aggregate without a base, at most 16; an empty list if the type does not show them.
template <class T>
using MembersOf = decltype(members_of<T, visible_members<T>()>(std::declval<T&>()));

}  // namespace trainhook::detail
