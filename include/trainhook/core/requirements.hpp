// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the compiler must be told or must not. It stops at a file that does not exist, before the errors that would
/// follow.
#pragma once

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
