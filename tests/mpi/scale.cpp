// SPDX-License-Identifier: Apache-2.0
/// @file
/// How a job of several processes behaves up to 10,000 ranks: tables in Markdown of a simulation, and for a few ranks
/// what tests/bench/mpi_bench.cpp has measured. The same output in each run.

#include <array>
#include <cstdint>

#include <fmt/core.h>

#include "scale_machines.hpp"
#include "scale_scenarios.hpp"

namespace {

constexpr std::uint64_t kSeed = 1;
constexpr double kSmall = 1e9;  // bytes of a model
constexpr double kLarge = 100e9;

void row(const scale::Machine& machine, int ranks) {
  const scale::Save small = scale::save(machine, ranks, kSmall);
  const scale::Save large = scale::save(machine, ranks, kLarge);
  fmt::print("| {} | {:.1f} | {:.0f} | {:.2f} | {:.2f}, {:.2f} | {:.1f}, {:.1f} | {:.1f}, {:.0f} | {} |\n", ranks,
             1e6 * scale::agreement(machine, ranks), 1e6 * scale::agreement_of_independent_ranks(machine, ranks, kSeed),
             1e3 * small.rounds, small.listed, small.loop, large.listed, large.loop,
             scale::restore(machine, ranks, kSmall), scale::restore(machine, ranks, kLarge),
             scale::files(machine, ranks));
}

void table(const scale::Machine& machine) {
  const scale::Network& network = machine.network;
  fmt::print("Simulated with {}\n(L {:.2f} us, o {:.2f} us, g {:.2f} us, G {:.2f} ns/byte, {:.2f} us for a call):\n\n",
             machine.name, 1e6 * network.latency, 1e6 * network.overhead, 1e6 * network.gap, 1e9 * network.per_byte,
             1e6 * network.call);
  fmt::print(
      "| ranks | agreement, us/step | ... of independent ranks, steps of 10 ms | rounds of a save, ms "
      "| save of 1 GB: listed, loop goes on, s | save of 100 GB, s | restore of 1, 100 GB, s | files |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const int ranks : {1, 2, 4, 8, 64, 512, 4096, 10000}) row(machine, ranks);
  fmt::print("\n");
}

void starts(const scale::Machine& machine) {
  fmt::print(
      "A start of a new model of {:.0f} MB in {} variables, without files:\n\n"
      "| ranks | messages | bytes, all ranks together | bytes to one rank at most | ... without the variables | s |\n"
      "|---|---|---|---|---|---|\n",
      kSmall / 1e6, scale::kVariables);
  for (const int ranks : {8, 64, 10000}) {
    const scale::Job job = scale::start(machine, ranks, static_cast<std::size_t>(kSmall));
    scale::Job compared(machine, ranks);
    scale::compare(compared);
    fmt::print("| {} | {} | {} | {} | {} | {:.2f} |\n", ranks, job.messages(), job.bytes(), job.most_bytes_of_a_rank(),
               compared.most_bytes_of_a_rank(), job.last());
  }
  fmt::print("\n");
}

/// Medians of three runs of tests/bench/mpi_bench.cpp on the machine of `scale::this_machine`, in us: what an agreement
/// adds to a step that does nothing, and MPI_Allreduce of 8 bytes.
struct Measured {
  int ranks;
  double agreement;
  double reduction;
};

constexpr std::array<Measured, 3> kMeasured = {{{2, 1.29, 1.17}, {4, 9.84, 10.5}, {8, 33.1, 30.6}}};

void validation() {
  fmt::print(
      "Measured on two processors beside a simulation with the measured parameters, which has a processor for each "
      "rank:\n\n"
      "| ranks | MPI_Allreduce, measured, us | agreement, measured, us | agreement, simulated, us | ratio |\n"
      "|---|---|---|---|---|\n");
  for (const Measured& measured : kMeasured) {
    const double simulated = 1e6 * scale::agreement(scale::this_machine(), measured.ranks);
    fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", measured.ranks, measured.reduction, measured.agreement,
               simulated, simulated / measured.agreement);
  }
}

}  // namespace

int main() {
  table(scale::published_cluster());
  table(scale::this_machine());
  starts(scale::published_cluster());
  validation();
  return 0;
}
