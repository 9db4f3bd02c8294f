// SPDX-License-Identifier: Apache-2.0
/// @file
/// All processes of a test program, for its tests.
#pragma once

#include <trainhook/mpi/communicator.hpp>

namespace trainhook::testing {

[[nodiscard]] const mpi::Communicator& world();

}  // namespace trainhook::testing
