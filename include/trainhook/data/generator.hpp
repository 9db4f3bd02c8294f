// SPDX-License-Identifier: Apache-2.0
/// @file
/// Generator: a user-defined source of elements.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <trainhook/data/element.hpp>

namespace trainhook {

/// One pass over the elements of a generator. `next` stores the next element in its argument and returns true, or
/// returns false at the end. `save` and `restore` save its position; without them the pipeline has external state. If
/// `prefetch` or a parallel `map` follows, another thread calls `next`, and `save` before it. `next` may then wait for
/// the program, but must return before the iterator is restored or destroyed.
struct Generator {
  std::function<bool(Element& element)> next{};
  std::function<std::string()> save{};
  std::function<void(std::string_view state)> restore{};
};

}  // namespace trainhook
