// SPDX-License-Identifier: Apache-2.0
/// @file
/// The machines that are simulated, and where each of their figures comes from.
#pragma once

#include "scale_model.hpp"

namespace scale {

constexpr double kCall = 0.13e-6;  ///< measured, as the following

/// Medians of five runs of mpi_scale_measure, two ranks of OpenMPI 4.1.4 in shared memory, on a virtual machine with
/// two cores (AMD EPYC) and ext4 that other programs used at the same time. The operations of the directory have no
/// server, so that all ranks together do as many as one. (A create takes so long as ext4 passes over inodes that were
/// in use just before; in a directory at rest it takes 12 us.)
inline Machine this_machine() {
  return {.name = "measured parameters: one virtual machine, shared memory, one disk",
          .network = {.latency = 0.29e-6, .overhead = 0.03e-6, .gap = 0.06e-6, .per_byte = 0.041e-9, .call = kCall},
          .storage = {.create = {.seconds = 836e-6, .per_second = 1 / 836e-6},
                      .rename = {.seconds = 12e-6, .per_second = 1 / 12e-6},
                      .open = {.seconds = 2e-6, .per_second = 1 / 2e-6},
                      .sync = 219e-6,
                      .write = {.client = 1.05e9, .all = 1.84e9},
                      .read = {.client = 0.59e9, .all = 2.24e9}}};
}

/// Figures that others have published. Network: netgauge's output for Tukey at Argonne National Laboratory, MVAPICH on
/// InfiniBand, which the CODES simulator has as tests/ng-mpi-tukey.dat: at 64 bytes o_s 1.14, o_r 1.17 and g 0.99 us, G
/// 0.5 ns/byte of long messages, and half a round trip 7.40 us, which netgauge calls L and which is L + 2o here. (For
/// comparison, LogGOPSim begins with L 2.5, o 1.5, g 1 us.) The time of a call is measured on this machine.
///
/// Storage: Dell, "Dell HPC Lustre Storage solution with Mellanox InfiniBand EDR", sections 4.1 and 4.3, 240 drives,
/// one pair of metadata servers: 15.1 GB/s written, 18.5 GB/s read, 1 to 1.5 GB/s by one client; of 240 threads 29,000
/// creates, 160,000 removes and 544,000 stats a second. One thread: Dell, "Dell Storage for HPC with Intel Enterprise
/// Edition for Lustre software", figure 12: about 504 creates, 1,800 removes and 2,000 stats a second.
///
/// Assumed, as no source was found: a rename takes as long as a remove, an open as a stat, a sync 5 ms. The threads of
/// these sources used many directories; ours is one, which may be slower.
inline Machine published_cluster() {
  return {.name = "published parameters: InfiniBand, Lustre",
          .network = {.latency = 5.10e-6, .overhead = 1.15e-6, .gap = 0.99e-6, .per_byte = 0.5e-9, .call = kCall},
          .storage = {.create = {.seconds = 1.0 / 504, .per_second = 29e3},
                      .rename = {.seconds = 1.0 / 1800, .per_second = 160e3},
                      .open = {.seconds = 1.0 / 2000, .per_second = 544e3},
                      .sync = 5e-3,
                      .write = {.client = 1.25e9, .all = 15.1e9},
                      .read = {.client = 1.25e9, .all = 18.5e9}}};
}

}  // namespace scale
