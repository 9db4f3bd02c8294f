// SPDX-License-Identifier: Apache-2.0
/// @file
/// ModelFn and InputFn: the functions that build an Estimator's model and input.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/model/metrics.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

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

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/estimator/impl/model_fn.ipp>
#endif
