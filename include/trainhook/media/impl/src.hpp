// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of media/, for the one file of a program that compiles them itself.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/media/impl/batch_summary.ipp>
#include <trainhook/media/impl/gzip.ipp>
#include <trainhook/media/impl/mnist.ipp>
#include <trainhook/media/impl/png.ipp>
#include <trainhook/media/impl/wav.ipp>
