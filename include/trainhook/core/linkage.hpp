// SPDX-License-Identifier: Apache-2.0
/// @file
/// TRAINHOOK_DECL, which marks each function that is declared in a header and defined in its `impl/*.ipp` file; and
/// what the compiler must be told or must not.
#pragma once

// The compiler stops at a file that does not exist, before the errors that would follow.
#if __cplusplus < 202002L
#include <trainhook needs C++20: compile with -std=c++20 or newer>
#endif
#if !defined(__cpp_exceptions)
#include <trainhook reports errors as exceptions: compile without -fno-exceptions>
#endif
#if defined(Bool) || defined(None) || defined(Status) || defined(Success)
#include <trainhook has to be included before Xlib, or after: #undef Bool, #undef None, #undef Status, #undef Success>
#endif
#if !defined(__cpp_rtti)
#include <trainhook asks hooks for their types: compile without -fno-rtti>
#endif

// Define TRAINHOOK_SEPARATE_COMPILATION if the bodies come from a library (the target `trainhook::trainhook` does it),
// or from one file of the program that includes `trainhook/impl/src.hpp`. Without it the library is header-only.
#ifdef TRAINHOOK_SEPARATE_COMPILATION
#define TRAINHOOK_DECL
#else
#define TRAINHOOK_DECL inline
#endif

// Files of both modes in one program would silently break the one-definition rule, so the linker refuses them: one
// symbol is thread-local in header-only files and an ordinary variable in all others. Its name carries the version, and
// the standard library's debug mode, which changes the layout of containers.
namespace trainhook::detail {
extern "C" {
#if defined(TRAINHOOK_SEPARATE_COMPILATION) && defined(_GLIBCXX_DEBUG)
extern const char trainhook_0_3_debug_mode_mixes_with_header_only_files;
[[gnu::used]] static const char* const kCompilationMode = &trainhook_0_3_debug_mode_mixes_with_header_only_files;
#elif defined(TRAINHOOK_SEPARATE_COMPILATION)
extern const char trainhook_0_3_mixes_with_header_only_files;
[[gnu::used]] static const char* const kCompilationMode = &trainhook_0_3_mixes_with_header_only_files;
#elif defined(_GLIBCXX_DEBUG)
// NOLINTNEXTLINE(misc-definitions-in-headers): weak, so that any number of files may define it
[[gnu::weak, gnu::used]] thread_local char trainhook_0_3_debug_mode_mixes_with_header_only_files;
#else
// NOLINTNEXTLINE(misc-definitions-in-headers): weak, so that any number of files may define it
[[gnu::weak, gnu::used]] thread_local char trainhook_0_3_mixes_with_header_only_files;
#endif
}
}  // namespace trainhook::detail
