// SPDX-License-Identifier: Apache-2.0
/// @file
/// Whether a sanitizer watches: then everything takes up to thirty times as long, and cases that repeat themselves with
/// other places or other random numbers do it less often. They do it in full without a sanitizer, and fuzzers and soak
/// look for the rest.
#pragma once

namespace trainhook::testing {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRAINHOOK_TEST_IS_SANITIZED true
#endif
#endif
#if !defined(TRAINHOOK_TEST_IS_SANITIZED)
#define TRAINHOOK_TEST_IS_SANITIZED false
#endif
inline constexpr bool kIsSanitized = TRAINHOOK_TEST_IS_SANITIZED;
#undef TRAINHOOK_TEST_IS_SANITIZED

}  // namespace trainhook::testing
