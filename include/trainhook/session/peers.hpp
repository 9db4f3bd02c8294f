// SPDX-License-Identifier: Apache-2.0
/// @file
/// Peers: the other processes of a job, as the hooks of one of them see them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/metric.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class SessionRunHook;

/// The other processes of a job, as the hooks of one of them see them; the monitored session's part is in
/// monitored/session_peers.hpp. The base class is a job of one process: every answer is the question. Used on the
/// thread that runs the session.
class Peers {
 public:
  Peers() = default;
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  TRAINHOOK_DECL virtual ~Peers();

  /// Those of a process alone.
  [[nodiscard]] TRAINHOOK_DECL static Peers& none();

  /// The number of this process, from 0, and how many there are that have an input of their own.
  [[nodiscard]] virtual int process() const noexcept { return 0; }
  [[nodiscard]] virtual int num_processes() const noexcept { return 1; }

  /// Whether this process writes what a job writes once.
  [[nodiscard]] virtual bool is_chief() const noexcept { return true; }

  /// The peers with which `hook` decides: all, but none for a hook of a worker, or for an EvaluationHook that only this
  /// process has.
  [[nodiscard]] virtual Peers& of(const SessionRunHook& /*hook*/) { return *this; }

  /// Calls `give` in every process and returns in each what it returned in the first one; if it throws in one, all get
  /// its error. All must call it at the same place: in the same callback, for the same step, of a hook that all have.
  [[nodiscard]] virtual std::string same_for_all(FunctionRef<std::string()> give) { return give(); }

  /// The same for metrics.
  [[nodiscard]] virtual Metrics share(FunctionRef<Metrics()> measure) { return measure(); }

  /// For a save that is due for another reason than the step: whether it may be made now. If not, it is a wish,
  /// which counts when all have agreed.
  [[nodiscard]] virtual bool agrees_to_save() { return true; }

  /// For a saver hook, after each run and before it saves: the next step at which it may save because of the step
  /// alone. The smallest one of all hooks counts.
  virtual void expect_save(std::int64_t /*step*/) noexcept {}
  static constexpr std::int64_t kAnyStep = std::numeric_limits<std::int64_t>::lowest();
  static constexpr std::int64_t kNoStep = (std::numeric_limits<std::int64_t>::max)();
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/peers.ipp>
#endif
