// SPDX-License-Identifier: Apache-2.0
/// @file
/// The symbol with which the linker rejects programs that mix both modes.
#pragma once

#include <trainhook/core/linkage.hpp>

#ifdef TRAINHOOK_SEPARATE_COMPILATION
#ifdef _GLIBCXX_DEBUG
const char trainhook::detail::trainhook_0_3_debug_mode_mixes_with_header_only_files = 0;
#else
const char trainhook::detail::trainhook_0_3_mixes_with_header_only_files = 0;
#endif
#endif
