// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of thrown_error.hpp.
#pragma once

#include <trainhook/monitored/thrown_error.hpp>

#include <new>
#include <stdexcept>
#include <system_error>
#include <typeinfo>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

/// Part of an exception that tells when it is gone.
struct Lifetime {
  std::shared_ptr<const void> alive = std::make_shared<bool>();
};

/// A standard exception with a lifetime; whoever catches an `E` catches it.
template <class E>
struct Followed final : E, Lifetime {
  explicit Followed(const E& error) : E(error) {}
};

template <class E>
struct WithLifetime {
  static void throw_copy_of(const std::exception& error) {
    if (typeid(error) == typeid(E)) throw Followed<E>(static_cast<const E&>(error));
  }
};

template <class E>
struct WithoutLifetime {
  static void throw_copy_of(const std::exception& error) {
    if (const E* followed = dynamic_cast<const Followed<E>*>(&error)) throw E(*followed);
  }
};

/// Throws a copy of an exception of the standard library that programs throw; of a type of their own nobody can make
/// one. (std::make_exception_ptr would leave a function of its own for each type.)
template <template <class> class Copy>
void throw_copy_of(const std::exception& error) {
  const auto try_each = [&]<class... E>() { (Copy<E>::throw_copy_of(error), ...); };
  try_each.template operator()<std::runtime_error, std::range_error, std::overflow_error, std::underflow_error,
                               std::system_error, std::logic_error, std::invalid_argument, std::domain_error,
                               std::length_error, std::out_of_range, std::bad_alloc>();
}

// The same error as a new object, of the type that belongs to its code.
[[nodiscard]] inline std::exception_ptr copy_of(const Error& error) noexcept {
  try {
    throw_error(error.code(), error.what());
  } catch (...) { return std::current_exception(); }
}

std::exception_ptr ThrownError::record(const std::exception_ptr& error) noexcept {
  forget();
  error_ = error;
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    if (typeid(known) == typeid(OutOfRangeError)) error_ = copy_of(known);
  } catch (const std::exception& standard) {
    try {
      throw_copy_of<WithLifetime>(standard);
    } catch (const Lifetime&) { error_ = std::current_exception(); } catch (...) {  // memory ran out for the copy
    }
  } catch (...) { return error_; }
  try {
    std::rethrow_exception(error_);
  } catch (const Error& known) { lifetime_ = known.lifetime(); } catch (const Lifetime& followed) {
    lifetime_ = followed.alive;
  } catch (...) {  // of a type that cannot be followed
  }
  is_known_ = !lifetime_.expired();
  return error_;
}

void ThrownError::forget_if_past() noexcept {
  if (error_ == nullptr || is_known_ || std::uncaught_exceptions() > 0) return;
  if (std::current_exception() != error_) forget();
}

void ThrownError::forget_if_handled() noexcept {
  if (!is_known_) return forget();
  std::exception_ptr copy;
  try {
    std::rethrow_exception(error_);
  } catch (const Error& known) { copy = copy_of(known); } catch (const std::exception& standard) {
    try {
      throw_copy_of<WithoutLifetime>(standard);
    } catch (...) { copy = std::current_exception(); }
  }
  error_ = nullptr;  // if it was handled, that was the last reference
  if (!lifetime_.expired()) {
    error_ = copy;
    is_known_ = false;
    return;
  }
  forget();
}

}  // namespace trainhook::detail
