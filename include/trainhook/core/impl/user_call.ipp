// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of user_call.hpp.
#pragma once

#include <trainhook/core/user_call.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

namespace trainhook::detail {

bool is_failure(const std::exception_ptr& error) noexcept {
  try {
    if (error != nullptr) std::rethrow_exception(error);
  } catch (const OutOfRangeError&) { return false; } catch (const AbortedError&) {
    return false;
  } catch (const UnavailableError&) { return false; } catch (...) {
    return true;
  }
  return false;
}

void log_thrown_by(std::string_view function, std::string_view name, const std::exception_ptr& error) noexcept {
  if (!is_failure(error)) return;
  const std::string_view quote = name.empty() ? "" : "'";
  log_error("{}{}{}{}{} threw: {}", function, name.empty() ? "" : " ", quote, name, quote, describe(error));
}

}  // namespace trainhook::detail
