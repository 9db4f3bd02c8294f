// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of ops that only imported graphs have: `EigenSession(graph, {.kernels = compat::kernels()})`.
#pragma once

#include <trainhook/compat/kernels.hpp>
