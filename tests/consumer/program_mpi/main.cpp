// SPDX-License-Identifier: Apache-2.0
/// @file
/// A user's program for several processes: each adds its part.
#include <array>

#include <fmt/core.h>
#include <trainhook/mpi/all_reduce.hpp>
#include <trainhook/mpi/collective.hpp>
#include <trainhook/mpi/runtime.hpp>

int main(int argc, char** argv) {
  const trainhook::mpi::Runtime mpi(argc, argv);
  std::array<float, 2> parts = {1, 2};
  trainhook::mpi::all_reduce(parts, trainhook::mpi::Reduction::Sum, mpi.world());
  const int size = trainhook::mpi::collective(mpi.world())->size();
  fmt::print("rank {} of {}: {} {}\n", mpi.world().rank(), size, parts[0], parts[1]);
}
