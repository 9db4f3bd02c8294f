// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/estimator/train_and_evaluate.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/estimator/evaluation_graph.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

/// Why a checkpoint was taken. Stored in checkpoints, so never renumber.
enum class TakenFor : std::int64_t {
  Period = 0,
  Extra = 1,        ///< the end of a run, or a request
  Interruption = 2  ///< the end of an interrupted run
};

/// Evaluates the checkpoints that a saver has committed, except one that was taken because of an interruption, and
/// publishes the metrics. Its state says why the checkpoint was taken, so that a resumed run treats it in the same way.
class CheckpointEvaluator final : public SessionRunHook, public CheckpointSaverListener {
 public:
  CheckpointEvaluator(const Estimator& estimator, const EvalSpec& spec) : estimator_(&estimator), spec_(&spec) {}

  [[nodiscard]] std::optional<EvalMetrics> metrics() const { return metrics_; }

  [[nodiscard]] EvalHistory history() const {
    return read_eval_metrics(*estimator_->config().file_system, estimator_->eval_dir(spec_->name));
  }

  using CheckpointSaverListener::begin;
  void begin(Graph& /*graph*/) override {
    detail::SessionServices::of(services())
        .claim_metrics(*this, "train_and_evaluate", spec_->name.empty() ? "eval" : spec_->name);
  }

  void after_create_session(SessionRef session, Coordinator& /*coordinator*/) override {
    if (services().restored_from().empty()) return;
    resume(read_global_step(session, *get_global_step(session.graph())), session.graph());
  }

  /// After an interruption the saver's next period starts at the checkpoint of that step, but a save is due when it
  /// would have been without it: a period after the save before.
  void after_run(SessionRunContext& context, const SessionRunValues& /*values*/) override {
    if (due_ && context.global_step() >= *due_) services().request_save();
  }

  void end(SessionRef /*session*/) override { is_ending_ = true; }

  void before_save(SessionRef /*session*/, std::int64_t global_step) override {
    const std::uint64_t requests = detail::SessionServices::of(services()).num_save_requests();
    const bool is_requested = std::exchange(num_save_requests_, requests) != requests;
    const bool is_resumed_one = restored_ == std::pair(global_step, TakenFor::Interruption);  // under another name
    if (is_resumed_one || (is_ending_ && services().is_interrupted())) {
      taken_[global_step] = TakenFor::Interruption;
      return;
    }
    const bool is_extra = is_ending_ || (is_requested && (!due_ || global_step < *due_));
    taken_[global_step] = is_extra ? TakenFor::Extra : TakenFor::Period;
    last_save_ = global_step;
    due_.reset();
  }

  bool after_save(SessionRef /*session*/, std::int64_t global_step) override {
    const TakenFor why = taken_[global_step];
    taken_.erase(taken_.begin(), taken_.upper_bound(global_step));
    if (global_step == 0 || why == TakenFor::Interruption) return false;  // nothing is learned yet, or not a decision
    if (evaluated_at_ && clock().monotonic_now() - *evaluated_at_ < spec_->throttle_secs) {
      log_info("Skip the current checkpoint eval due to throttle secs ({} secs).",
               std::chrono::duration<double>(spec_->throttle_secs).count());
      return false;
    }
    evaluate(global_step, why);
    return false;
  }

  void end(SessionRef /*session*/, std::int64_t global_step) override {
    if (step_ != global_step && !services().is_interrupted()) evaluate(global_step, TakenFor::Extra);
  }

  [[nodiscard]] std::string name() const override {
    return name_of_state(*this, {}, {spec_->name.empty() ? "eval" : spec_->name});
  }

  StateValues save_state() override {
    StateValues state;
    if (taken_.empty() || taken_.rbegin()->second == TakenFor::Period) return state;
    state.set("step", Tensor(taken_.rbegin()->first));
    state.set("taken_for", Tensor(static_cast<std::int64_t>(taken_.rbegin()->second)));
    state.set("last_period", Tensor(last_save_));  // from which the period of the next one counts
    return state;
  }

  void load_state(const StateValues& state) override {
    restored_ = {state.at("step").scalar<std::int64_t>(),
                 static_cast<TakenFor>(state.at("taken_for").scalar<std::int64_t>())};
    last_save_ = state.at("last_period").scalar<std::int64_t>();
  }

 private:
  /// What the model of this step was found to be: hooks see the evaluation that came after its checkpoint, and one that
  /// a kill has prevented is made now.
  void resume(std::int64_t global_step, const Graph& graph) {
    const TakenFor why = restored_.first == global_step ? restored_.second : TakenFor::Period;
    due_.reset();
    if (why != TakenFor::Interruption) {
      last_save_ = global_step;
    } else if (const auto savers = graph.offered<CheckpointClaim>(); !savers.empty() && savers.front()->save_steps) {
      due_ = last_save_ + *savers.front()->save_steps;  // of the one that has this listener
    }
    const EvalHistory evaluated = history();
    const auto found = evaluated.find(global_step);
    if (found == evaluated.end()) {
      if (global_step > 0 && why != TakenFor::Interruption && spec_->throttle_secs == Duration::zero())
        evaluate(global_step, why);
      return;
    }
    EvalMetrics metrics{{"global_step", Tensor(global_step)}};
    for (const auto& [tag, value] : found->second) metrics.emplace(tag, Tensor(value));
    publish_metrics(services(), spec_->name, metrics, why != TakenFor::Period);
    step_ = global_step;
  }

  [[nodiscard]] Clock& clock() const { return given_or_system(estimator_->config().clock); }

  void evaluate(std::int64_t global_step, TakenFor why) {
    evaluate_unless_interrupted([&] {
      metrics_ = estimator_->evaluate(spec_->input_fn, {.steps = spec_->steps,
                                                        .hooks = spec_->hooks,
                                                        .checkpoint_path = services().newest_checkpoint(),
                                                        .name = spec_->name});
      publish_metrics(services(), spec_->name, *metrics_, why != TakenFor::Period);
      step_ = global_step;
      evaluated_at_ = clock().monotonic_now();
    });
  }

  const Estimator* estimator_;
  const EvalSpec* spec_;
  std::optional<EvalMetrics> metrics_;
  std::optional<std::int64_t> step_;  // that was evaluated last
  std::optional<Duration> evaluated_at_;
  std::map<std::int64_t, TakenFor> taken_;                            // checkpoints that are being written, by step
  std::pair<std::int64_t, TakenFor> restored_{-1, TakenFor::Period};  // the state of the restored checkpoint
  std::int64_t last_save_ = 0;                                        // that no interruption was the reason of
  std::optional<std::int64_t> due_;  // the step of the next one, if the saver does not know it
  std::uint64_t num_save_requests_ = 0;
  bool is_ending_ = false;
};

/// What an exporter keeps. Latest and final checkpoints are the best ones by their global step.
inline BestCheckpointOptions kept_by(const BestExporter& exporter, const TrainSpec& /*spec*/) {
  return {.metric = exporter.metric, .better = exporter.better, .keep = exporter.exports_to_keep};
}
inline BestCheckpointOptions kept_by(const LatestExporter& exporter, const TrainSpec& /*spec*/) {
  return {.metric = "global_step", .better = Better::Higher, .keep = exporter.exports_to_keep.value_or(INT_MAX)};
}
inline BestCheckpointOptions kept_by(const FinalExporter& /*exporter*/, const TrainSpec& spec) {
  return {.metric = "global_step",
          .better = Better::Higher,
          .keep = INT_MAX,
          .from_step = spec.max_steps.value_or(INT64_MAX)};
}

inline const std::string& name_of(const Exporter& exporter) {
  return std::visit([](const auto& one) -> const std::string& { return one.name; }, exporter);
}

/// The hook that does what an exporter says.
inline BestCheckpointHook exporting_hook(const Estimator& estimator, const TrainSpec& train_spec, const EvalSpec& spec,
                                         const Exporter& exporter) {
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
  options.on_best = std::visit([](const auto& one) { return one.on_best; }, exporter);
  return BestCheckpointHook(std::move(options));
}

}  // namespace trainhook::detail

namespace trainhook {

std::optional<EvalMetrics> train_and_evaluate(Estimator& estimator, const TrainSpec& train_spec,
                                              const EvalSpec& eval_spec) {
  if (eval_spec.throttle_secs < Duration::zero())
    throw InvalidArgumentError("EvalSpec: throttle_secs must not be negative");
  const auto evaluator = std::make_shared<detail::CheckpointEvaluator>(estimator, eval_spec);
  TrainOptions options{
      .hooks = train_spec.hooks, .max_steps = train_spec.max_steps, .saving_listeners = train_spec.saving_listeners};
  options.saving_listeners.push_back(evaluator);
  options.hooks.emplace_back(evaluator);
  HookList exporters;
  for (const Exporter& exporter : eval_spec.exporters)
    exporters.emplace_back(detail::exporting_hook(estimator, train_spec, eval_spec, exporter));
  detail::check_training(estimator, options);
  detail::refuse_if_interrupted(eval_spec.hooks);
  const std::optional<std::int64_t> last = detail::finished_step(estimator, options);
  // An earlier process may have ended between the last save and the evaluation, or the export.
  if (last && exporters.empty() && evaluator->history().contains(*last))
    log_info("Skipping training since max_steps has already saved.");
  else
    detail::run_training(estimator, train_spec.input_fn, options, exporters);
  return evaluator->metrics();
}

}  // namespace trainhook
