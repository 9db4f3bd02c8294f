// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/rank_failure.hpp>

namespace trainhook::detail {

RankFailure failure_of(const std::exception_ptr& error) {
  RankFailure failure{.code = ErrorCode::Unknown, .message = "an exception that the library did not see"};
  if (error == nullptr) return failure;
  failure.message = describe(error);
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    failure = {.code = known.code(), .message = known.what()};
  } catch (...) {  // of another family
  }
  if (failure.code == ErrorCode::OutOfRange || failure.code == ErrorCode::Aborted ||
      failure.code == ErrorCode::Unavailable)
    failure.code = ErrorCode::FailedPrecondition;
  return failure;
}

}  // namespace trainhook::detail
