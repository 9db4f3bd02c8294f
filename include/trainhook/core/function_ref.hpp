// SPDX-License-Identifier: Apache-2.0
/// @file
/// FunctionRef: a non-owning reference to a callable, for parameters that are only called during the call.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

template <class Signature>
class FunctionRef;

/// Two pointers; the callable must outlive every call. A default-constructed one refers to nothing and must not be
/// called.
template <class Result, class... Args>
class FunctionRef<Result(Args...)> {
 public:
  constexpr FunctionRef() noexcept = default;

  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<Result, F&, Args...>)
  FunctionRef(F&& function) noexcept
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  explicit operator bool() const noexcept { return call_ != nullptr; }
  Result operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_ = nullptr;
  Result (*call_)(void*, Args...) = nullptr;
};

}  // namespace trainhook
