// SPDX-License-Identifier: Apache-2.0
/// @file
/// EvaluationHook: evaluates the model during training and at the end.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/refusal.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/fetch_refs.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class FileWriter;

/// Computes metrics every N steps or T seconds, and at the end, but not if a signal ends the run, which will be
/// resumed. Logs them, writes them as scalars for TensorBoard, in a directory of their own, and publishes them as
/// `eval/loss` and so on for hooks such as EarlyStoppingHook. A metric with the tag of a training summary is a second
/// curve in its chart. An evaluation leaves the session's generators as they were.
///
/// In a job, one in `hooks` evaluates in all processes at the same step, so that `evaluate` may add up over them; all
/// publish the metrics of the chief, which alone logs and writes them. One in `chief_only_hooks` evaluates in the chief
/// alone.
class EvaluationHook final : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> every_n_steps{};  ///< at multiples of this, wherever the run started
    OptionalDuration every_n_secs{};
    bool at_end = true;  ///< also when the session ends, unless that step was evaluated; beside a period it is extra:
                         ///< EarlyStoppingHook and ReduceLearningRateOnPlateauHook do not count it
    std::string name = "eval";  ///< of the log line, of published metrics, of the directory of events, and of its state
                                ///< in checkpoints; each evaluation of a session has its own
    std::string output_dir{};   ///< events go to `<output_dir>/<name>`; empty: none are written
  };

  /// Metrics that your code computes, for example on variables of a LoopSession: `[&] { return th::Metrics{{"loss",
  /// loss_of(test)}}; }`.
  /// @throws InvalidArgumentError unless exactly one positive period is given, or none with `at_end`; the same below.
  TRAINHOOK_DECL EvaluationHook(std::function<Metrics()> evaluate, Options options);

  TRAINHOOK_MISTAKE(
      "a function that evaluates returns Metrics: write [&] { return trainhook::Metrics{{\"loss\", loss}}; }",
      class Function)
  EvaluationHook(Function&& evaluate, const Options& options)
    requires(!std::convertible_to<Function, std::function<Metrics()>>)
  TRAINHOOK_REFUSED;

  TRAINHOOK_MISTAKE("say when to evaluate: EvaluationHook(evaluate, {.every_n_steps = 100}), or {} for only at the end",
                    class Evaluate)
  explicit EvaluationHook(Evaluate&& evaluate)
    requires(!std::same_as<std::remove_cvref_t<Evaluate>, EvaluationHook>)
  TRAINHOOK_REFUSED;

  /// Scalars of the session, computed in one run with `feeds`.
  TRAINHOOK_DECL EvaluationHook(FetchRefs metrics, FeedDict feeds, Options options);

  /// Scalars of the session, averaged over `data`, a Dataset, whose components are fed to `inputs`, in order; those
  /// beyond are not used. Batches are weighted by their size, the first dimension of the first component.
  template <class Data>
    requires requires(Data data, std::vector<Tensor> element) { data.make_iterator().next(element); }
  EvaluationHook(FetchRefs metrics, const Data& data, std::vector<Output> inputs, Options options)
      : EvaluationHook(std::move(metrics), FeedDict(), std::move(options)) {
    each_element_ = [data](FunctionRef<void(const std::vector<Tensor>& element)> use) {
      std::vector<Tensor> element;
      for (auto elements = data.make_iterator(); elements.next(element);) use(element);
    };
    set_inputs(std::move(inputs));
  }

  TRAINHOOK_DECL EvaluationHook(EvaluationHook&& other) noexcept;
  TRAINHOOK_DECL ~EvaluationHook() override;

  /// The newest metrics; empty before the first evaluation.
  [[nodiscard]] const Metrics& metrics() const noexcept { return metrics_; }

  [[nodiscard]] const Options& options() const noexcept { return options_; }

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void end(SessionRef session) override;
  [[nodiscard]] TRAINHOOK_DECL std::string name() const override;

 private:
  TRAINHOOK_DECL void set_inputs(std::vector<Output> inputs);
  TRAINHOOK_DECL void evaluate(SessionRef session, std::int64_t step, bool is_extra);
  TRAINHOOK_DECL void share_period();
  [[nodiscard]] TRAINHOOK_DECL Metrics measure(SessionRef session);
  [[nodiscard]] Peers& peers() const { return services().peers().of(*this); }
  [[nodiscard]] TRAINHOOK_DECL Metrics run_on_data(SessionRef session) const;

  // The values of one run, by name. @throws InvalidArgumentError for a result that is not a number.
  [[nodiscard]] TRAINHOOK_DECL Metrics figures(const std::vector<Tensor>& results) const;

  Options options_;
  std::function<Metrics()> evaluate_;
  FetchRefs refs_;
  FeedDict feeds_;
  std::function<void(FunctionRef<void(const std::vector<Tensor>& element)> use)> each_element_;
  std::vector<Output> inputs_;
  std::optional<SecondOrStepTimer> timer_;  // none: at the end only
  Variable global_step_;
  FetchList fetches_;
  FileWriter* writer_ = nullptr;
  std::optional<std::int64_t> start_step_;  // of the session, until its first events are written
  std::optional<std::int64_t> measured_;    // the last evaluated step
  bool in_first_period_ = false;            // the first period of the whole training, as far as known
  Metrics metrics_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/evaluation_hook.ipp>
#endif
