// SPDX-License-Identifier: Apache-2.0
/// @file
/// PrometheusTextfileHook: the state of a run for Prometheus.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Keeps a file for the textfile collector of Prometheus' node_exporter, which everybody may read if its folder is
/// open:
///
///     trainhook_steps_total                          the global step
///     trainhook_last_step_timestamp_seconds          when it was reached, in seconds since the Unix epoch
///     trainhook_last_checkpoint_timestamp_seconds    when this run saved last; missing before that
///     trainhook_resident_memory_bytes                of the process, where `/proc` says it
///     trainhook_metric{name="eval/loss"}             what other hooks publish under that name
///
/// All have the label `run`. An alert looks at the age of a timestamp. The file is replaced as a whole, and removed
/// when the run ends without an error; after a kill or an error it stays. A failure is logged and tried again at the
/// next period. In a job, the first process writes.
class PrometheusTextfileHook final : public SessionRunHook {
 public:
  struct Options {
    std::string run{};                   ///< the label; empty: the session's `checkpoint_dir`
    std::vector<std::string> metrics{};  ///< names of published metrics
    Duration every_secs = std::chrono::seconds(15);
  };

  /// @param path ends in `.prom`, or node_exporter does not read it
  /// @throws InvalidArgumentError for another ending, and a period that is not positive.
  explicit PrometheusTextfileHook(std::string path) : PrometheusTextfileHook(std::move(path), Options{}) {}
  TRAINHOOK_DECL PrometheusTextfileHook(std::string path, Options options);
  PrometheusTextfileHook(PrometheusTextfileHook&& other) noexcept = default;

  /// Runs after the hooks that save.
  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Report; }

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void end(SessionRef session) override;

 private:
  TRAINHOOK_DECL void look_at_saves();
  [[nodiscard]] TRAINHOOK_DECL std::string text(std::int64_t step, double now) const;
  TRAINHOOK_DECL void write(std::int64_t step);

  std::string path_;
  Options options_;
  SecondOrStepTimer timer_;
  std::string run_;      // the label
  bool writes_ = false;  // false: another process does
  std::uint64_t saves_ = 0;
  double saved_at_ = 0;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/watch/impl/prometheus_textfile_hook.ipp>
#endif
