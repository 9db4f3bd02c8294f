// SPDX-License-Identifier: Apache-2.0
/// @file
/// The part of the soak that only takes long.
#include "soak.hpp"

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <fmt/format.h>

namespace soak {

namespace {

std::uint64_t entries_of(const char* directory) {
  return static_cast<std::uint64_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

/// Resident memory in KiB, threads, and open files of this process.
std::array<std::uint64_t, 3> footprint() {
  std::ifstream status("/proc/self/status");
  std::uint64_t memory = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) std::istringstream(line.substr(6)) >> memory;
  }
  return {memory, entries_of("/proc/self/task"), entries_of("/proc/self/fd")};
}

/// Takes a look every so many steps.
class FootprintHook final : public th::SessionRunHook {
 public:
  FootprintHook(std::int64_t steps, Findings& findings) : steps_(steps), findings_(&findings) {}

  void after_run(th::SessionRunContext&, const th::SessionRunValues&) override {
    if (++step_ == steps_ / 10) {
      early_ = footprint();
    } else if (step_ % (steps_ / 10) == 0 && step_ < steps_) {
      const auto now = footprint();
      findings_->count();
      constexpr std::uint64_t kNoise = 2'048;  // KiB
      if (now[0] > early_[0] + kNoise || now[1] != early_[1] || now[2] != early_[2]) {
        findings_->report(fmt::format("after {} steps {} KiB, {} threads, {} files instead of {}, {}, {}", step_,
                                      now[0], now[1], now[2], early_[0], early_[1], early_[2]));
      }
    }
  }

 private:
  std::int64_t steps_;
  Findings* findings_;
  std::int64_t step_ = 0;
  std::array<std::uint64_t, 3> early_{};
};

}  // namespace

// Memory, threads and open files stay what they are; fewer steps if `every` says so.
int long_run(const Soak& soak) {
  Findings findings("long run");
  const std::int64_t steps = 3'000'000 / static_cast<std::int64_t>(soak.every);
  const std::string directory = soak.directory("long");
  fs::remove_all(directory);
  float weight = 0;
  th::LoopSession loop;
  th::summary::scalar("training_weight", loop.variable("weight", weight));
  auto session = th::monitored_training_session(
      loop, {.checkpoint_dir = directory,
             .save_checkpoint_steps = steps / 100,
             .save_summaries_steps = 1'000,
             .log_step_count_steps = 10'000,
             .hooks = {th::StopAtStepHook({.last_step = steps}), FootprintHook(steps, findings)}});
  while (!session.should_stop()) session.run([&] { weight += 1e-6F; });
  session.close();
  return findings.finish();
}

}  // namespace soak
