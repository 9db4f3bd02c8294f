// SPDX-License-Identifier: Apache-2.0
/// @file
/// Jobs whose ranks take elements of an input, with a CheckpointInputPipelineHook.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/peers.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::support {

using Options = MonitoredTrainingSessionOptions;
using Numbers = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

/// What a rank takes in each step, and how it ended.
struct Trace {
  std::int64_t begin = -1;  ///< the step at which it began
  std::vector<Numbers> steps{};
  std::string error{};
};

class InputOfRanks : public ::testing::Test {
 protected:
  static constexpr std::int64_t kBatch = 12;

  using Change = std::function<void(int rank, LoopSession& loop, Options& options)>;

  /// Trains with so many ranks until `last_step`, and saves every `save_steps` and at the end.
  std::vector<Trace> train(int size, std::int64_t last_step, const Change& change = {}) {
    testing::ThreadedRanks ranks(size);
    std::vector<Trace> traces(static_cast<std::size_t>(size));
    ranks.run([&](const std::shared_ptr<Collective>& collective) {
      Trace& trace = traces[static_cast<std::size_t>(collective->rank())];
      float weight = 0;
      LoopSession loop;
      loop.variable("weight", weight);
      Iterator& input =
          make_iterator(loop, is_global ? Dataset::range(1000).batch(kBatch) : Dataset::range(1000), "input");
      Options options{.peers = ranks::peers(collective, {.max_wait_secs = std::chrono::seconds(60)}),
                      .checkpoint_dir = "run",
                      .save_checkpoint_steps = save_steps,
                      .file_system = collective->rank() == 0 ? static_cast<FileSystem*>(&faulty) : &*disk};
      options.hooks = {StopAtStepHook({.last_step = last_step})};
      if (with_hook) options.hooks.emplace_back(CheckpointInputPipelineHook());
      try {
        if (change) change(collective->rank(), loop, options);
        auto session = monitored_training_session(loop, options);
        trace.begin = session.global_step();
        run_until_stop(session, [&] {
          Numbers taken;
          session.run([&] {
            ++weight;
            taken = take(input, collective->rank(), size);
          });
          trace.steps.push_back(taken);
        });
      } catch (...) { trace.error = describe(std::current_exception()); }
    });
    return traces;
  }

  /// The rank's rows of a batch, or so many elements that the positions of the ranks differ.
  [[nodiscard]] Numbers take(Iterator& input, int rank, int size) const {
    Element element;
    Numbers taken;
    for (int i = 0; i <= (is_global ? 0 : rank); ++i) {
      input.get_next(element);
      const auto values = element[0].data<std::int64_t>();
      taken.insert(taken.end(), values.begin(), values.end());
    }
    if (!is_global) return taken;
    return {taken.begin() + kBatch * rank / size, taken.begin() + kBatch * (rank + 1) / size};
  }

  /// What all ranks take together, in the order of the steps and ranks.
  static Numbers taken_by_all(const std::vector<Trace>& traces) {
    Numbers taken;
    for (std::size_t step = 0; step < traces.front().steps.size(); ++step) {
      for (const Trace& trace : traces)
        taken.insert(taken.end(), trace.steps.at(step).begin(), trace.steps.at(step).end());
    }
    return taken;
  }
  static std::string errors(const std::vector<Trace>& traces) {
    std::string text;
    for (const Trace& trace : traces) text += trace.error;
    return text;
  }

  /// That the ranks began at that step and took from there what the ranks of `whole` took.
  static void expect_goes_on(const std::vector<Trace>& traces, std::int64_t step, const std::vector<Trace>& whole) {
    ASSERT_EQ(errors(traces), "");
    for (std::size_t rank = 0; rank < traces.size(); ++rank) {
      ASSERT_EQ(traces[rank].begin, step) << "rank " << rank;
      EXPECT_EQ(traces[rank].steps, std::vector<Numbers>(whole[rank].steps.begin() + step, whole[rank].steps.end()))
          << "rank " << rank;
    }
  }

  /// The names of the files that have a complete checkpoint of an input.
  Strings input_files() {
    Strings names;
    for (const std::string& prefix : checkpoints_on_disk(*disk, "run"))
      if (prefix.starts_with("run/input")) names.push_back(prefix.substr(4));
    std::ranges::sort(names);
    return names;
  }
  Strings listed() {
    Strings names;
    const auto state = get_checkpoint_state(*disk, "run", "checkpoint_input");
    for (const std::string& prefix : state.value_or(CheckpointState{}).all_model_checkpoint_paths)
      names.push_back(prefix.substr(4));
    return names;
  }
  std::int64_t saved_step() {
    const auto newest = latest_checkpoint(*disk, "run");
    return newest ? step_of_checkpoint(*newest).value() : -1;
  }
  void use_new_disk() {
    disk.emplace();
    faulty.reset();
  }

  testing::LogLines log;
  bool is_global = false;  // each rank takes its rows of the same batches
  bool with_hook = true;
  std::int64_t save_steps = 1000;
  std::optional<testing::MemoryFileSystem> disk{std::in_place};
  testing::FaultyFileSystem faulty{*disk};  // of rank 0
};

}  // namespace trainhook::support
