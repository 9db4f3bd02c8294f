// SPDX-License-Identifier: Apache-2.0
/// @file
/// Expects an error of a type whose message holds all of some words.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

namespace trainhook::testing {

template <class ErrorType = InvalidArgumentError, class Act>
void expect_error(std::initializer_list<std::string_view> words, Act&& act) {
  try {
    act();
    ADD_FAILURE() << "no error";
  } catch (const ErrorType& error) {
    for (const std::string_view word : words) {
      EXPECT_NE(std::string_view(error.what()).find(word), std::string_view::npos)
          << "'" << word << "' is missing in: " << error.what();
    }
  }
}

}  // namespace trainhook::testing
