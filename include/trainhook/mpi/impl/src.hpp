// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of mpi/, for the one file of a program that compiles them itself.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/mpi/impl/all_reduce.ipp>
#include <trainhook/mpi/impl/background_sum.ipp>
#include <trainhook/mpi/impl/broadcast_global_variables_hook.ipp>
#include <trainhook/mpi/impl/collective.ipp>
#include <trainhook/mpi/impl/communicator.ipp>
#include <trainhook/mpi/impl/distributed_optimizer.ipp>
#include <trainhook/mpi/impl/request.ipp>
#include <trainhook/mpi/impl/roll_call.ipp>
#include <trainhook/mpi/impl/runtime.ipp>
#include <trainhook/mpi/impl/shard_globally.ipp>
#include <trainhook/mpi/impl/watchdog.ipp>
