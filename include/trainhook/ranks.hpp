// SPDX-License-Identifier: Apache-2.0
/// @file
/// All of ranks/: several processes as one job, whatever carries their messages. mpi.hpp brings it, over MPI.
#pragma once

#include <trainhook/ranks/collective.hpp>
#include <trainhook/ranks/peers.hpp>
