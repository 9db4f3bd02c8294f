// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/estimator/estimator.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/dataset_iterator.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/logging_tensor_hook.hpp>
#include <trainhook/hooks/nan_tensor_hook.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/hooks/text/tensor_text.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace trainhook::detail {

inline void check_steps(const TrainOptions& options) {
  if (options.steps && options.max_steps)
    throw InvalidArgumentError("Estimator::train: steps and max_steps are both given; give one of them");
  const auto validate = [](std::string_view option, const std::optional<std::int64_t>& count) {
    if (count && *count <= 0)
      throw InvalidArgumentError("Estimator::train: {} is {}; it must be positive", option, *count);
  };
  validate("steps", options.steps);
  validate("max_steps", options.max_steps);
}

/// A summary of the loss, unless the model function has added one.
inline void add_loss_summary(Graph& graph, const Output& loss) {
  const std::vector<Output> summaries = graph.collection<Output>(graph_keys::kSummaries);
  if (std::ranges::none_of(summaries, [](const Output& each) { return each.operation().name() == "loss"; }))
    summary::scalar("loss", loss);
}

/// What every task has: the user's hooks first, and `last_hooks` last.
inline HookList worker_hooks(const ModelSource& source, const BuiltModel& model, const TrainOptions& options,
                             const HookList& last_hooks) {
  HookList hooks = options.hooks;
  if (options.steps || options.max_steps)
    hooks.emplace_back(StopAtStepHook({.num_steps = options.steps, .last_step = options.max_steps}));
  hooks.emplace_back(NanTensorHook(model.spec.loss));
  if (source.config.log_step_count_steps > 0) {
    const FetchRefs shown{{"loss", model.spec.loss}, {"step", *get_global_step(*model.graph)}};
    hooks.emplace_back(LoggingTensorHook(shown, {.every_n_iter = source.config.log_step_count_steps}));
  }
  hooks.insert(hooks.end(), model.spec.training_hooks.begin(), model.spec.training_hooks.end());
  hooks.insert(hooks.end(), last_hooks.begin(), last_hooks.end());
  return hooks;
}

/// The hook that saves the model with the estimator's own periods, unless there is one among the hooks, which then gets
/// the listeners.
inline HookList chief_hooks(const Estimator& estimator, const BuiltModel& model, const HookList& others,
                            const TrainOptions& options, const std::shared_ptr<Scaffold>& scaffold) {
  HookList hooks = model.spec.training_chief_hooks;
  const CheckpointTarget target = estimator;
  const bool has_saver = has_checkpoint_saver(others) || has_checkpoint_saver(hooks);
  if (has_saver) {
    for (const auto& listener : options.saving_listeners) model.graph->add_to_collection(kSavingListeners, listener);
  } else if (target.save_secs || target.save_steps) {
    hooks.emplace_back(CheckpointSaverHook({.checkpoint_dir = target.checkpoint_dir,
                                            .save_secs = target.save_secs,
                                            .save_steps = target.save_steps,
                                            .scaffold = scaffold,
                                            .listeners = options.saving_listeners,
                                            .save_command_line = estimator.config().save_command_line}));
  } else if (!options.saving_listeners.empty()) {
    throw InvalidArgumentError(
        "Estimator::train: saving_listeners need a saver; give save_checkpoints_steps, save_checkpoints_secs, or a "
        "CheckpointSaverHook");
  }
  return hooks;
}

void check_training(const Estimator& estimator, const TrainOptions& options) {
  refuse_if_interrupted(options.hooks);
  check_steps(options);
  const RunConfig& config = estimator.config();
  if (!config.is_chief())
    throw UnimplementedError(
        "Estimator::train: task {} {} of {} is not the chief, "
        "and the tasks of an estimator cannot share a model yet",
        config.task_type, config.task_id, config.num_worker_replicas);
}

std::optional<std::int64_t> finished_step(const Estimator& estimator, const TrainOptions& options) {
  const auto newest = options.max_steps ? estimator.latest_checkpoint() : std::nullopt;
  if (!newest) return std::nullopt;
  const auto step = load_variable(estimator.source().file_system(), *newest, "global_step").scalar<std::int64_t>();
  return step >= *options.max_steps ? std::optional(step) : std::nullopt;
}

void run_training(const Estimator& estimator, const InputFn& input_fn, const TrainOptions& options,
                  const HookList& last_hooks) {
  const ModelSource& source = estimator.source();
  const RunConfig& config = estimator.config();
  BuiltModel model(source, input_fn, ModeKeys::Train);
  Graph& graph = *model.graph;
  const auto scaffold = model.spec.scaffold != nullptr ? model.spec.scaffold : std::make_shared<Scaffold>();
  add_loss_summary(graph, model.spec.loss);
  if (scaffold->saver() == nullptr && graph.collection<std::shared_ptr<Saver>>(graph_keys::kSavers).empty()) {
    graph.add_to_collection(
        graph_keys::kSavers,
        std::make_shared<Saver>(SaverOptions{.max_to_keep = config.keep_checkpoint_max,
                                             .keep_checkpoint_every_n_hours = config.keep_checkpoint_every_n_hours}));
  }
  const HookList hooks = worker_hooks(source, model, options, last_hooks);
  SessionHandle session = start_training(graph, [&source, &graph] { return source.engine(graph); },
                                         {.checkpoint_dir = estimator.model_dir(),
                                          .scaffold = scaffold,
                                          .save_checkpoint_secs = Duration::zero(),
                                          .save_summaries_steps = config.save_summary_steps,
                                          .log_step_count_steps = config.log_step_count_steps,
                                          .hooks = hooks,
                                          .chief_only_hooks = chief_hooks(estimator, model, hooks, options, scaffold),
                                          .file_system = config.file_system,
                                          .clock = config.clock});
  const std::array fetches{Fetch(model.spec.train_op), Fetch(model.spec.loss)};
  std::array<Tensor, 2> results;
  bool made_a_step = false;
  run_until_stop(*session.get(), [&] {
    session->run({.fetches = fetches}, results);
    made_a_step = true;
  });
  const bool is_interrupted = session->is_interrupted();
  if (is_interrupted) {
    log_info("Training was interrupted: {}. No other training with a SignalHook starts in this process.",
             session->why_it_ended());
  }
  if (made_a_step)
    log_info("Loss for final step: {}.", tensor_text(results[1]));
  else if (!is_interrupted && !(options.max_steps && session->global_step() >= *options.max_steps))
    log_warning("Training with estimator made no steps. Perhaps input is empty or misspecified.");
}

/// A model that predicts, and its position in the input.
struct PredictionRun {
  PredictionRun(const ModelSource& from, const InputFn& input_fn)
      : source(from), model(source, input_fn, ModeKeys::Predict) {}

  const Prediction* next() {
    for (;;) {
      if (rows && rows->next(row)) return take(row);
      rows.reset();
      if (!run_batch()) return nullptr;
      if (!yield_single_examples) return take(batch);
      rows.emplace(Dataset::from_tensor_slices(batch).make_iterator());
    }
  }

  ModelSource source;
  BuiltModel model;
  std::vector<std::string> names;
  std::vector<Fetch> fetches;
  bool yield_single_examples = true;
  std::optional<SessionHandle> session;

 private:
  const Prediction* take(const Element& element) {
    for (std::size_t i = 0; i < names.size(); ++i) now_.insert_or_assign(names[i], element[i]);
    return &now_;
  }

  // False at the end of the input, when the session is closed.
  bool run_batch() {
    SessionLifecycle& own = *session->get();
    try {
      if (!own.should_stop()) {
        batch.resize(fetches.size());
        own.run({.fetches = fetches}, batch);
        return true;
      }
    } catch (...) {
      const std::exception_ptr error = std::current_exception();
      if (!is_end_of_input(error) || !own.has_thrown(error)) {
        own.abort(error);
        throw;
      }
    }
    own.close();
    return false;
  }

  Element batch;
  Element row;
  std::optional<DatasetIterator> rows;
  Prediction now_;
};

}  // namespace trainhook::detail

namespace trainhook {

Estimator::Estimator(std::function<OwnedSession(Graph&)> engine, ModelFn model_fn, RunConfig config)
    : source_{std::move(engine), std::move(model_fn), std::move(config)} {
  if (!source_.engine || !source_.model_fn) throw InvalidArgumentError("Estimator: engine or model_fn is empty");
  source_.config.file_system = &detail::given_or_posix(source_.config.file_system);
  if (source_.config.save_checkpoints_secs && source_.config.save_checkpoints_steps)
    throw InvalidArgumentError("RunConfig: save_checkpoints_steps and save_checkpoints_secs are both given; give one");
  if (!model_dir().empty()) return;
  if (source_.config.num_worker_replicas > 1)
    throw InvalidArgumentError("Estimator: model_dir is empty; the tasks of a job need one that they share");
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the library does not change the environment
  const char* const chosen = std::getenv("TMPDIR");
  source_.config.model_dir = fmt::format("{}/trainhook-{:016x}", chosen == nullptr || *chosen == '\0' ? "/tmp" : chosen,
                                         detail::temporary_number());
  source_.file_system().make_directories(model_dir());
  log_warning("Using temporary folder as model directory: {}", model_dir());
}

std::string Estimator::eval_dir(std::string_view name) const { return detail::eval_dir_of(source_.config, name); }

std::optional<std::string> Estimator::latest_checkpoint() const {
  return trainhook::latest_checkpoint(source_.file_system(), model_dir());
}

Estimator::operator detail::CheckpointTarget() const {
  const RunConfig& config = source_.config;
  detail::CheckpointTarget target{.checkpoint_dir = config.model_dir,
                                  .task_type = config.task_type,
                                  .task_id = config.task_id,
                                  .num_worker_replicas = config.num_worker_replicas};
  const bool has_period = config.save_checkpoints_secs || config.save_checkpoints_steps;
  const Duration secs =
      config.save_checkpoints_secs.value_or(has_period ? Duration::zero() : std::chrono::seconds(600));
  if (secs > Duration::zero()) target.save_secs = secs;
  if (config.save_checkpoints_steps.value_or(0) > 0) target.save_steps = config.save_checkpoints_steps;
  return target;
}

Estimator& Estimator::train(const InputFn& input_fn, const TrainOptions& options) {
  detail::check_training(*this, options);
  if (detail::finished_step(*this, options))
    log_info("Skipping training since max_steps has already saved.");
  else
    detail::run_training(*this, input_fn, options, {});
  return *this;
}

EvalMetrics Estimator::evaluate(const InputFn& input_fn, const EvaluateOptions& options) const {
  if (options.steps && *options.steps <= 0)
    throw InvalidArgumentError("Estimator::evaluate: steps is {}; it must be positive", *options.steps);
  const CheckpointSource checkpoint = source_.checkpoint_for(options.checkpoint_path, "evaluate");
  detail::EvaluationGraph evaluation(source_, input_fn, options.steps, options.hooks);
  EvalMetrics metrics = evaluation.run(checkpoint);
  FileWriter writer(eval_dir(options.name), {.file_system = source_.config.file_system, .clock = source_.config.clock});
  const std::optional<std::string> newest = latest_checkpoint();
  const auto step = metrics.at("global_step").scalar<std::int64_t>();
  // What was measured of this checkpoint before counts no more, nor what a lost run measured after it.
  if (!newest || step_of_checkpoint(*newest).value_or(step) <= step) writer.restart_at(step);
  detail::write_metrics(writer, metrics, checkpoint.path());
  writer.close();
  return metrics;
}

Predictions Estimator::predict(const InputFn& input_fn, const PredictOptions& options) const {
  const CheckpointSource checkpoint = source_.checkpoint_for(options.checkpoint_path, "predict");
  auto run = std::make_shared<detail::PredictionRun>(source_, input_fn);
  const EstimatorSpec& spec = run->model.spec;
  for (const NamedOutput& each : spec.predictions) {
    const auto& wanted = options.predict_keys;
    if (!wanted.empty() && std::ranges::find(wanted, each.name) == wanted.end()) continue;
    run->names.push_back(each.name);
    run->fetches.emplace_back(each.output);
  }
  if (run->names.size() < options.predict_keys.size() || run->names.empty())
    throw InvalidArgumentError("Estimator::predict: some of predict_keys are not predictions of the model");
  run->yield_single_examples = options.yield_single_examples;
  HookList hooks = options.hooks;
  hooks.insert(hooks.end(), spec.prediction_hooks.begin(), spec.prediction_hooks.end());
  Graph& graph = *run->model.graph;
  const detail::ModelSource& source = run->source;
  run->session.emplace(
      std::make_shared<ChiefSessionCreator>(
          graph, [&graph, &source] { return source.engine(graph); },
          ChiefSessionCreatorOptions{.scaffold = spec.scaffold,
                                     .checkpoint_filename_with_path = checkpoint,
                                     .file_system = source.config.file_system,
                                     .clock = source.config.clock}),
      MonitoredSessionOptions{
          .hooks = std::move(hooks), .file_system = source.config.file_system, .clock = source.config.clock});
  return Predictions([run] { return run->next(); });
}

}  // namespace trainhook
