// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of the core library. Include it in exactly one file of a program that compiles them itself.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/core/impl/src.hpp>
#include <trainhook/proto/impl/src.hpp>
#include <trainhook/io/impl/src.hpp>
#include <trainhook/events/impl/src.hpp>
#include <trainhook/graph/impl/src.hpp>
#include <trainhook/graph/ops/impl/src.hpp>
#include <trainhook/session/impl/src.hpp>
#include <trainhook/loop/impl/src.hpp>
#include <trainhook/checkpoint/impl/src.hpp>
#include <trainhook/hooks/impl/src.hpp>
#include <trainhook/monitored/impl/src.hpp>
