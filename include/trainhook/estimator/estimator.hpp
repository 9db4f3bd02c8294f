// SPDX-License-Identifier: Apache-2.0
/// @file
/// Estimator: trains, evaluates and predicts with a model that a function builds. Predictions: one element after
/// another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/estimator/evaluation_graph.hpp>
#include <trainhook/estimator/model_fn.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/saving/checkpoint_saver_options.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// The values for one element or one batch, by the names of the predictions.
using Prediction = std::map<std::string, Tensor, std::less<>>;

/// A single-pass range, the result of `Estimator::predict`. Owns the session that computes it.
class Predictions {
 public:
  /// @param next returns the next prediction, or null after the last; the result is valid until the next call
  explicit Predictions(std::function<const Prediction*()> next) : next_(std::move(next)) {}

  /// The next prediction, valid until the next call; null after the last, when the session has ended.
  [[nodiscard]] const Prediction* next() { return next_(); }

  class Iterator {
   public:
    using value_type = Prediction;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(Predictions& from) : from_(&from), now_(from.next()) {}
    const Prediction& operator*() const noexcept { return *now_; }
    Iterator& operator++() {
      now_ = from_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) noexcept { return it.now_ == nullptr; }

   private:
    Predictions* from_;
    const Prediction* now_;
  };
  [[nodiscard]] Iterator begin() { return Iterator(*this); }
  [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

 private:
  std::function<const Prediction*()> next_;
};

/// Set `steps` or `max_steps`, or neither to train until the input ends or a hook requests a stop.
struct TrainOptions {
  HookList hooks{};
  std::optional<std::int64_t> steps{};      ///< the steps of this call
  std::optional<std::int64_t> max_steps{};  ///< the global step at which training ends, over all calls
  std::vector<std::shared_ptr<CheckpointSaverListener>> saving_listeners{};  ///< of the estimator's saver, or else of
                                                                             ///< the first saver hook among the hooks
};

struct EvaluateOptions {
  std::optional<std::int64_t> steps{};  ///< batches; none: until the input ends
  HookList hooks{};
  CheckpointSource checkpoint_path{};  ///< empty: the newest of the model
  std::string name{};                  ///< events go to `eval_<name>`, or to `eval`
};

struct PredictOptions {
  std::vector<std::string> predict_keys{};  ///< the predictions to return; empty: all
  HookList hooks{};
  CheckpointSource checkpoint_path{};  ///< empty: the newest of the model
  bool yield_single_examples = true;   ///< false: whole batches
};

/// Trains, evaluates and predicts with the model that `model_fn` builds, each call in a new graph and session. The
/// state between calls is in the checkpoints of `model_dir`, so `while (!interruption()) { train; evaluate; }`
/// continues. Not thread-safe. Source: TensorFlow's `Estimator`.
class Estimator {
 public:
  /// Most programs call `make_estimator`.
  /// @param engine opens a session of an engine for a graph, with uninitialized variables
  /// Without `model_dir`, makes a directory in `$TMPDIR` or `/tmp`, logs it, and does not delete it.
  /// @throws InvalidArgumentError for a configuration that contradicts itself, and for a job without `model_dir`.
  TRAINHOOK_DECL Estimator(std::function<OwnedSession(Graph&)> engine, ModelFn model_fn, RunConfig config);

  [[nodiscard]] const RunConfig& config() const noexcept { return source_.config; }
  [[nodiscard]] const std::string& model_dir() const noexcept { return source_.config.model_dir; }
  /// The directory of the events of evaluations called `name`. Source: TensorFlow's `Estimator.eval_dir`.
  [[nodiscard]] TRAINHOOK_DECL std::string eval_dir(std::string_view name = {}) const;
  /// The prefix of the newest checkpoint, if there is one.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> latest_checkpoint() const;
  TRAINHOOK_DECL operator detail::CheckpointTarget() const;

  /// Trains from the newest checkpoint, or from the initial values, and saves the last step. Returns early if a
  /// SignalHook among the hooks gets a signal, and logs why; a loop around it asks `interruption()`.
  /// @throws CancelledError if an earlier run was interrupted, InvalidArgumentError for steps that are not positive,
  /// for both kinds of steps, or for listeners without a saver.
  TRAINHOOK_DECL Estimator& train(const InputFn& input_fn, const TrainOptions& options = {});

  /// Evaluates a checkpoint, or the initial values if there is none, and writes the metrics for TensorBoard.
  TRAINHOOK_DECL EvalMetrics evaluate(const InputFn& input_fn, const EvaluateOptions& options = {}) const;

  /// The predictions for each element of the input, computed lazily: `for (const auto& each : estimator.predict(data))
  /// use(each.at("class"))`.
  [[nodiscard]] TRAINHOOK_DECL Predictions predict(const InputFn& input_fn, const PredictOptions& options = {}) const;

  /// For hooks that build the model themselves.
  [[nodiscard]] const detail::ModelSource& source() const noexcept { return source_; }

 private:
  detail::ModelSource source_;
};

namespace detail {

/// For `Estimator::train` and `train_and_evaluate`. `check_training`: @throws as `Estimator::train`, before any file is
/// touched. `finished_step`: the step of the newest checkpoint, if that is the last step or beyond. `run_training`:
/// makes a session, also if there is no step left to train; `last_hooks` come after all others.
TRAINHOOK_DECL void check_training(const Estimator& estimator, const TrainOptions& options);
[[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> finished_step(const Estimator& estimator,
                                                                       const TrainOptions& options);
TRAINHOOK_DECL void run_training(const Estimator& estimator, const InputFn& input_fn, const TrainOptions& options,
                                 const HookList& last_hooks);

}  // namespace detail

/// An estimator whose sessions are of engine `S`; `session_args` are passed to its constructor after the graph.
template <SessionLike S, class... SessionArgs>
[[nodiscard]] Estimator make_estimator(ModelFn model_fn, RunConfig config, SessionArgs... session_args) {
  return Estimator([session_args...](Graph& graph) { return OwnedSession::make<S>(graph, session_args...); },
                   std::move(model_fn), std::move(config));
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/estimator/impl/estimator.ipp>
#endif
