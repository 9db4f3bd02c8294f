// SPDX-License-Identifier: Apache-2.0
/// @file
/// make_shared_object: like std::make_shared, but less to compile in a header-only program.
#pragma once

#include <memory>
#include <utility>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

template <class T>
void delete_object(void* object) {
  delete static_cast<T*>(object);
}

/// As `std::make_shared`, but with one type of control block for objects of all types: a function for each type instead
/// of six, for one more allocation. Not for a `T` with `std::enable_shared_from_this`.
template <class T, class... Args>
[[nodiscard]] std::shared_ptr<T> make_shared_object(Args&&... args) {
  static_assert(
      !requires(T& made) { made.weak_from_this(); }, "std::make_shared is for such a type");
  T* const object = new T(std::forward<Args>(args)...);
  return {std::shared_ptr<void>(static_cast<void*>(object), delete_object<T>), object};
}

}  // namespace trainhook::detail
