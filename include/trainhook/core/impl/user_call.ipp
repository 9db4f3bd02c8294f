// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/user_call.hpp>

#include <stdexcept>

#include <fmt/format.h>

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

void rethrow_in_context(const std::string& context) {
  const auto text = [&context](const std::exception& error) {
    const std::string_view what = error.what();
    return what.starts_with(context) ? std::string(what) : fmt::format("{}: {}", context, what);
  };
  if (!is_failure(std::current_exception())) throw;
  try {
    throw;
  } catch (Error& error) {
    error = Error(error.code(), text(error));
    throw;
  } catch (std::runtime_error& error) {
    error = std::runtime_error(text(error));
    throw;
  } catch (std::logic_error& error) {
    error = std::logic_error(text(error));
    throw;
  }
}

void rethrow_of_user(std::string_view function, std::string_view name) {
  if (!is_failure(std::current_exception())) throw;
  const std::string context =
      name.empty() ? fmt::format("{} threw", function) : fmt::format("{} '{}' threw", function, name);
  log_error("{}: {}", context, describe(std::current_exception()));
  rethrow_in_context(context);
}

}  // namespace trainhook::detail
