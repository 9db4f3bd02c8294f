// SPDX-License-Identifier: Apache-2.0
/// @file
/// All of mpi/: a job of several processes, sums over them, an optimizer for all, and model.hpp.
#pragma once

#include <trainhook/model.hpp>
#include <trainhook/mpi/all_reduce.hpp>
#include <trainhook/mpi/broadcast_global_variables_hook.hpp>
#include <trainhook/mpi/collective.hpp>
#include <trainhook/mpi/communicator.hpp>
#include <trainhook/mpi/distributed_optimizer.hpp>
#include <trainhook/mpi/runtime.hpp>
#include <trainhook/mpi/shard_globally.hpp>
#include <trainhook/ranks.hpp>
