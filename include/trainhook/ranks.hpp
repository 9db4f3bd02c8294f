// SPDX-License-Identifier: Apache-2.0
/// @file
/// All of ranks/: several processes as one job, whatever carries their messages, and several threads in one session.
/// mpi.hpp brings it, over MPI.
#pragma once

#include <trainhook/ranks/collective.hpp>
#include <trainhook/ranks/peers.hpp>
#include <trainhook/ranks/worker_session_creator.hpp>
#include <trainhook/ranks/workers.hpp>
