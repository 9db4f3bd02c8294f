// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of train_and_evaluate.hpp.
#pragma once

#include <trainhook/estimator/train_and_evaluate.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/estimator/evaluation_graph.hpp>
#include <trainhook/events/read_eval_metrics.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook::detail {

/// Makes metrics known to the hooks of its session, and tells when a restored session is there.
class EvaluationPublisher final : public SessionRunHook {
 public:
  explicit EvaluationPublisher(std::function<void(std::int64_t step)> resumed) : resumed_(std::move(resumed)) {}

  void publish(std::string_view name, const EvalMetrics& metrics) { publish_metrics(services(), name, metrics); }

  void after_create_session(SessionRef session, Coordinator& /*coordinator*/) override {
    if (!services().restored_from().empty()) resumed_(read_global_step(session, *get_global_step(session.graph())));
  }

 private:
  std::function<void(std::int64_t)> resumed_;
};

/// Evaluates the checkpoints that a saver has committed.
class EvaluatingListener final : public CheckpointSaverListener {
 public:
  EvaluatingListener(const Estimator& estimator, const EvalSpec& spec) : estimator_(&estimator), spec_(&spec) {}

  [[nodiscard]] const std::shared_ptr<EvaluationPublisher>& publisher() const noexcept { return publisher_; }
  [[nodiscard]] std::optional<EvalMetrics> metrics() const { return metrics_; }

  bool after_save(SessionRef /*session*/, std::int64_t global_step) override {
    if (global_step == 0) return false;  // nothing is learned yet
    if (evaluated_at_ && clock().monotonic_now() - *evaluated_at_ < spec_->throttle_secs) {
      log_info("Skip the current checkpoint eval due to throttle secs ({} secs).",
               std::chrono::duration<double>(spec_->throttle_secs).count());
      return false;
    }
    evaluate(global_step);
    return false;
  }

  void end(SessionRef /*session*/, std::int64_t global_step) override {
    if (step_ != global_step) evaluate(global_step);
  }

 private:
  /// What the model of this step was found to be: hooks see the evaluation that came after its checkpoint, and one that
  /// a kill has prevented is made now.
  void resume(std::int64_t global_step) {
    const RunConfig& config = estimator_->config();
    const EvalHistory history =
        read_eval_metrics(given_or_posix(config.file_system), estimator_->eval_dir(spec_->name));
    const auto found = history.find(global_step);
    if (found == history.end()) {
      if (global_step > 0 && spec_->throttle_secs == Duration::zero()) evaluate(global_step);
      return;
    }
    EvalMetrics metrics{{"global_step", Tensor(global_step)}};
    for (const auto& [tag, value] : found->second) metrics.emplace(tag, Tensor(value));
    publisher_->publish(spec_->name, metrics);
  }

  [[nodiscard]] Clock& clock() const { return given_or_system(estimator_->config().clock); }

  void evaluate(std::int64_t global_step) {
    metrics_ =
        estimator_->evaluate(spec_->input_fn, {.steps = spec_->steps, .hooks = spec_->hooks, .name = spec_->name});
    publisher_->publish(spec_->name, *metrics_);
    step_ = global_step;
    evaluated_at_ = clock().monotonic_now();
  }

  const Estimator* estimator_;
  const EvalSpec* spec_;
  std::shared_ptr<EvaluationPublisher> publisher_ =
      std::make_shared<EvaluationPublisher>([this](std::int64_t step) { resume(step); });
  std::optional<EvalMetrics> metrics_;
  std::optional<std::int64_t> step_;  // that was evaluated last
  std::optional<Duration> evaluated_at_;
};

/// What an exporter keeps. Latest and final checkpoints are the best ones by their global step.
TRAINHOOK_DECL BestCheckpointOptions kept_by(const BestExporter& exporter, const TrainSpec& /*spec*/) {
  return {.metric = exporter.metric, .better = exporter.better, .keep = exporter.exports_to_keep};
}
TRAINHOOK_DECL BestCheckpointOptions kept_by(const LatestExporter& exporter, const TrainSpec& /*spec*/) {
  return {.metric = "global_step", .better = Better::Higher, .keep = exporter.exports_to_keep.value_or(INT_MAX)};
}
TRAINHOOK_DECL BestCheckpointOptions kept_by(const FinalExporter& /*exporter*/, const TrainSpec& spec) {
  return {.metric = "global_step",
          .better = Better::Higher,
          .keep = INT_MAX,
          .from_step = spec.max_steps.value_or(INT64_MAX)};
}

TRAINHOOK_DECL const std::string& name_of(const Exporter& exporter) {
  return std::visit([](const auto& one) -> const std::string& { return one.name; }, exporter);
}

/// The hook that does what an exporter says.
TRAINHOOK_DECL BestCheckpointHook exporting_hook(const Estimator& estimator, const TrainSpec& train_spec,
                                                 const EvalSpec& spec, const Exporter& exporter) {
  constexpr std::array<std::string_view, std::variant_size_v<Exporter>> kKinds{"BestExporter", "LatestExporter",
                                                                               "FinalExporter"};
  const std::string& name = name_of(exporter);
  if (name.empty() || std::ranges::count(spec.exporters, name, name_of) > 1)
    throw InvalidArgumentError("{}: name is '{}'; each exporter needs a unique name", kKinds[exporter.index()], name);
  BestCheckpointOptions options = std::visit([&](const auto& one) { return kept_by(one, train_spec); }, exporter);
  if (options.keep <= 0) {
    throw InvalidArgumentError("{} '{}': exports_to_keep is {}; it must be a positive number", kKinds[exporter.index()],
                               name, options.keep);
  }
  options.metric = fmt::format("{}/{}", spec.name.empty() ? "eval" : spec.name, options.metric);
  options.directory = fmt::format("{}/export/{}", estimator.model_dir(), name);
  return BestCheckpointHook(std::move(options));
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL std::optional<EvalMetrics> train_and_evaluate(Estimator& estimator, const TrainSpec& train_spec,
                                                             const EvalSpec& eval_spec) {
  if (eval_spec.throttle_secs < Duration::zero())
    throw InvalidArgumentError("EvalSpec: throttle_secs must not be negative");
  const auto evaluating = std::make_shared<detail::EvaluatingListener>(estimator, eval_spec);
  TrainOptions options{
      .hooks = train_spec.hooks, .max_steps = train_spec.max_steps, .saving_listeners = train_spec.saving_listeners};
  options.saving_listeners.push_back(evaluating);
  options.hooks.emplace_back(evaluating->publisher());
  for (const Exporter& exporter : eval_spec.exporters)
    options.hooks.emplace_back(detail::exporting_hook(estimator, train_spec, eval_spec, exporter));
  estimator.train(train_spec.input_fn, options);
  return evaluating->metrics();
}

}  // namespace trainhook
