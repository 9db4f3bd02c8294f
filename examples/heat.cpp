// SPDX-License-Identifier: Apache-2.0
// Heat in a plate, computed by several processes on MPI, each with its own rows: mpirun -n 4 ./heat. One checkpoint
// holds the whole plate. Kill one or all of them, and start it again with any number of processes: it ends with the
// same bits.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpi.h>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <trainhook/mpi/collective.hpp>
#include <trainhook/mpi/runtime.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

namespace {

constexpr std::int64_t kRows = 256, kColumns = 256;

/// The rows of this process, between copies of its neighbours' rows.
class Plate {
 public:
  explicit Plate(const th::mpi::Communicator& world)
      : world_(world),
        first_(kRows * world.rank() / world.size()),
        rows_(kRows * (world.rank() + 1) / world.size() - first_),
        values_(static_cast<std::size_t>((rows_ + 2) * kColumns)) {
    if (rows_ == 0) throw std::invalid_argument(fmt::format("there are {} rows, and each process needs one", kRows));
    if (first_ == 0) std::ranges::fill(row(0), 100.0);  // the upper edge stays hot, the others cold
  }

  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::span<double> values() {
    return std::span(values_).subspan(kColumns, static_cast<std::size_t>(rows_ * kColumns));
  }

  void step() {
    const int above = first_ > 0 ? world_.rank() - 1 : MPI_PROC_NULL;
    const int below = first_ + rows_ < kRows ? world_.rank() + 1 : MPI_PROC_NULL;
    exchange(row(0), above, row(rows_), below);
    exchange(row(rows_ - 1), below, row(-1), above);
    const std::vector<double> before = values_;
    for (std::int64_t y = above < 0 ? 1 : 0; y < (below < 0 ? rows_ - 1 : rows_); ++y) {
      const double* const at = before.data() + (y + 1) * kColumns;
      for (std::int64_t x = 1; x + 1 < kColumns; ++x) {
        const double around = at[x - kColumns] + at[x + kColumns] + at[x - 1] + at[x + 1];
        row(y)[static_cast<std::size_t>(x)] = at[x] + 0.2 * (around - 4 * at[x]);
      }
    }
  }

 private:
  /// Row -1 and row `rows()` are copies.
  [[nodiscard]] std::span<double> row(std::int64_t y) {
    return std::span(values_).subspan(static_cast<std::size_t>((y + 1) * kColumns), kColumns);
  }

  void exchange(std::span<const double> mine, int to, std::span<double> copy, int from) const {
    const int error = MPI_Sendrecv(mine.data(), kColumns, MPI_DOUBLE, to, 0, copy.data(), kColumns, MPI_DOUBLE, from, 0,
                                   world_.native(), MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) throw std::runtime_error("a neighbour's row did not come");
  }

  const th::mpi::Communicator& world_;
  std::int64_t first_;
  std::int64_t rows_;
  std::vector<double> values_;
};

void simulate(const th::mpi::Communicator& world, const std::string& directory, std::int64_t steps,
              std::int64_t save_steps) {
  Plate plate(world);
  th::LoopSession loop;
  loop.variable(
      "temperature", plate.values(),
      {.shape = {plate.rows(), kColumns}, .part_of = {.shape = {kRows, kColumns}, .offset = {plate.first(), 0}}});
  auto session =
      th::monitored_training_session(loop, {.peers = th::mpi::peers(world),
                                            .checkpoint_dir = directory,
                                            .save_checkpoint_steps = save_steps,
                                            .hooks = {th::StopAtStepHook({.last_step = steps}), th::SignalHook()}});
  th::run_until_stop(session, [&] { session.run([&] { plate.step(); }); });
  if (world.rank() == 0) fmt::print("{} processes: step {}\n", world.size(), session.global_step());
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory = "heat-run";
  std::int64_t steps = 2'000;
  std::int64_t save_steps = 500;
  CLI::App app("Computes the heat in a plate with all processes of an MPI job, which share the disk of --dir.");
  app.add_option("--dir", directory, "checkpoints")->capture_default_str();
  app.add_option("--steps", steps, "compute up to this step")->capture_default_str();
  app.add_option("--save-steps", save_steps, "steps between checkpoints")->capture_default_str();
  try {
    const th::mpi::Runtime mpi(argc, argv);
    app.parse(argc, argv);
    simulate(mpi.world(), directory, steps, save_steps);
  } catch (const CLI::Success& help) { return app.exit(help); } catch (...) {
    fmt::print(stderr, "heat: {}\n", th::describe(std::current_exception()));
    return 1;
  }
  return 0;
}
