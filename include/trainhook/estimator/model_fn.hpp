// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a program gives an Estimator: ModelFn and InputFn, the functions that build its model and input, and RunConfig:
/// where and how often it saves, and its task in a job.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/model/metrics.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class Clock;
class FileSystem;
class Scaffold;

/// The purpose of a model. Source: TensorFlow's `ModeKeys`.
enum class ModeKeys { Train, Eval, Predict };

/// "train", "eval" or "infer", as in TensorFlow.
[[nodiscard]] TRAINHOOK_DECL std::string_view name_of(ModeKeys mode) noexcept;

/// The argument of a model function.
struct ModelInput {
  Graph& graph;
  ModeKeys mode;
  std::vector<Output> components;  ///< one element of the input, usually a batch of features and labels

  /// The components of an element that has `N` of them: `const auto [image, label] = input.get<2>();`
  /// @throws InvalidArgumentError if there is another number of components.
  template <std::size_t N>
  [[nodiscard]] std::array<Output, N> get() const {
    if (components.size() != N)
      throw InvalidArgumentError("model function: the input of mode '{}' has {} components, not {}", name_of(mode),
                                 components.size(), N);
    std::array<Output, N> result;
    for (std::size_t i = 0; i < N; ++i) result[i] = components[i];
    return result;
  }
};

/// An output of a model and its name.
struct NamedOutput {
  std::string name{};
  Output output{};
};

/// A metric of a model and its name.
struct NamedMetric {
  std::string name{};
  StreamingMetric metric{};
};

/// The model for one mode. Source: TensorFlow's `EstimatorSpec`.
struct EstimatorSpec {
  std::vector<NamedOutput> predictions{};      ///< for predicting; the first dimension is the batch
  Output loss{};                               ///< a scalar; for training and evaluating
  Operation train_op{};                        ///< for training; must advance the global step
  std::vector<NamedMetric> eval_metric_ops{};  ///< evaluated in addition to the loss
  HookList training_chief_hooks{};
  HookList training_hooks{};
  HookList evaluation_hooks{};
  HookList prediction_hooks{};
  std::shared_ptr<Scaffold> scaffold{};  ///< null: a new one with all defaults

  /// @throws InvalidArgumentError, naming the field, if something that `mode` needs is missing or wrong.
  TRAINHOOK_DECL void validate(ModeKeys mode) const;
};

/// Builds the model. Each call of train, evaluate or predict calls it with a new graph.
using ModelFn = std::function<EstimatorSpec(const ModelInput&)>;

/// Builds the input in the same graph: a Dataset, a function that returns one, or a function of the graph that returns
/// a Dataset or the components, for example of an iterator that it created.
class InputFn {
 public:
  TRAINHOOK_DECL InputFn(Dataset dataset);
  template <std::invocable F>
    requires std::convertible_to<std::invoke_result_t<F&>, Dataset>
  InputFn(F make) : InputFn([make = std::move(make)](Graph&) mutable { return Dataset(make()); }) {}
  template <std::invocable<Graph&> F>
    requires(!std::same_as<std::remove_cvref_t<F>, InputFn>)
  InputFn(F build) {
    if constexpr (std::convertible_to<std::invoke_result_t<F&, Graph&>, Dataset>) {
      build_ = [build = std::move(build)](Graph& graph) mutable { return components_of(graph, build(graph)); };
    } else {
      build_ = [build = std::move(build)](Graph& graph) mutable {
        const auto outputs = build(graph);
        return std::vector<Output>(outputs.begin(), outputs.end());
      };
    }
  }

  [[nodiscard]] std::vector<Output> operator()(Graph& graph) const { return build_(graph); }

 private:
  [[nodiscard]] TRAINHOOK_DECL static std::vector<Output> components_of(Graph& graph, const Dataset& dataset);

  std::function<std::vector<Output>(Graph&)> build_;
};

/// Source: TensorFlow's `RunConfig`. A period of 0 turns the feature off.
struct RunConfig {
  std::string model_dir{};          ///< for checkpoints and events of training; empty: a temporary one
  std::int64_t tf_random_seed = 1;  ///< of every graph that the estimator creates
  std::int64_t save_summary_steps = 100;
  OptionalDuration save_checkpoints_secs{};  ///< if neither period is given: every 600 s
  std::optional<std::int64_t> save_checkpoints_steps{};
  int keep_checkpoint_max = 5;                    ///< 0 keeps all
  double keep_checkpoint_every_n_hours = 10'000;  ///< keeps the first one of each so many hours permanently
  bool save_command_line = true;                  ///< also writes the program's arguments to `run.pbtxt`
  std::int64_t log_step_count_steps = 100;        ///< the period of logging loss and steps per second
  std::string task_type = "worker";               ///< "chief", "worker" or "evaluator"
  std::int64_t task_id = 0;
  std::int64_t num_worker_replicas = 1;  ///< the number of training tasks, including the chief
  FileSystem* file_system = nullptr;     ///< null: the disk; must outlive the estimator
  Clock* clock = nullptr;                ///< null: the system's clock; must outlive the estimator

  /// True if this task saves the model: it is the only one, or the chief.
  [[nodiscard]] bool is_chief() const noexcept { return num_worker_replicas <= 1 || task_type == "chief"; }
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/estimator/impl/model_fn.ipp>
#endif
