// SPDX-License-Identifier: Apache-2.0
/// @file
/// add_generators: LibTorch's random numbers, of dropout and initial values, continue after a resume.
#pragma once

#include <string_view>

#include <ATen/core/Generator.h>
#include <ATen/core/ivalue.h>  // before others of LibTorch 1.13, for clang

#include <trainhook/core/linkage.hpp>
#include <trainhook/loop/loop_session.hpp>

namespace trainhook::libtorch {

/// Saves and restores a generator.
TRAINHOOK_DECL void add_generator(LoopSession& loop, std::string_view name, ::at::Generator generator);

/// Saves and restores the default generator of the CPU, called `<name>/cpu`, and of each CUDA device that the program
/// has, called `<name>/cuda_<number>`.
TRAINHOOK_DECL void add_generators(LoopSession& loop, std::string_view name = "torch_generators");

}  // namespace trainhook::libtorch

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/torch/impl/generators.ipp>
#endif
