// SPDX-License-Identifier: Apache-2.0
/// @file
/// An Estimator for test_estimator.py, which makes the same one in TensorFlow. Arguments: `train <directory> <max
/// steps>`, `evaluate <directory>`, `predict <directory>`, `both <directory> <max steps>`, which is train_and_evaluate,
/// or the name of a way to stop early. Log lines and results go to standard output.

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include <trainhook/core/log.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/estimator/early_stopping.hpp>
#include <trainhook/estimator/estimator.hpp>
#include <trainhook/estimator/in_memory_evaluator_hook.hpp>
#include <trainhook/estimator/train_and_evaluate.hpp>
#include <trainhook/trainhook.hpp>

namespace {

namespace th = trainhook;

/// x = 0 to 15 and y = 0.25 x + 1, in batches of four.
th::Dataset line() {
  std::vector<float> x;
  std::vector<float> y;
  for (int i = 0; i < 16; ++i) {
    x.push_back(static_cast<float>(i) / 8);
    y.push_back(0.25F * static_cast<float>(i) + 1);
  }
  return th::Dataset::from_tensor_slices({th::Tensor::copy_of<float>(x, {16}), th::Tensor::copy_of<float>(y, {16})})
      .batch(4);
}

th::EstimatorSpec model(const th::ModelInput& input) {
  const auto [x, y] = input.get<2>();
  const th::Variable weight = th::make_variable("weight", th::constant(input.graph, th::Tensor(0.5F)));
  const th::Variable bias = th::make_variable("bias", th::constant(input.graph, th::Tensor(0.0F)));
  const th::Output prediction = weight * x + bias;
  const th::Output loss = th::reduce_mean(th::squared_difference(prediction, y));
  th::EstimatorSpec spec{.predictions = {{"y", prediction}}, .loss = loss};
  if (input.mode == th::ModeKeys::Train) {
    spec.train_op =
        th::GradientDescentOptimizer({.learning_rate = 0.1}).minimize(loss, th::get_or_create_global_step(input.graph));
  }
  if (input.mode == th::ModeKeys::Eval)
    spec.eval_metric_ops = {{"error", th::metrics::mean_absolute_error(y, prediction)}};
  return spec;
}

void print(const th::EvalMetrics& metrics) {
  for (const auto& [name, value] : metrics) {
    if (name == "global_step")
      fmt::print("{} {}\n", name, value.scalar<std::int64_t>());
    else
      fmt::print("{} {}\n", name, value.scalar<float>());
  }
}

using Stop = std::function<th::HookList(const th::Estimator&)>;

const std::map<std::string_view, Stop>& stops() {
  static const th::StopIfOptions kOften{.run_every_steps = 2};
  static const th::StopIfOptions kLater{.min_steps = 4, .run_every_steps = 2};
  static const std::map<std::string_view, Stop> kStops{
      {"higher", [](const auto& estimator) { return th::stop_if_higher_hook(estimator, "error", 0.5, kOften); }},
      {"not_higher", [](const auto& estimator) { return th::stop_if_higher_hook(estimator, "error", 50, kOften); }},
      {"lower", [](const auto& estimator) { return th::stop_if_lower_hook(estimator, "loss", 4.5, kOften); }},
      {"not_lower", [](const auto& estimator) { return th::stop_if_lower_hook(estimator, "loss", 0.01, kOften); }},
      {"too_early", [](const auto& estimator) { return th::stop_if_lower_hook(estimator, "loss", 50, kLater); }},
      {"no_increase",
       [](const auto& estimator) { return th::stop_if_no_increase_hook(estimator, "error", 2, kOften); }},
      {"increase", [](const auto& estimator) { return th::stop_if_no_increase_hook(estimator, "error", 3, kOften); }},
      {"no_decrease", [](const auto& estimator) { return th::stop_if_no_decrease_hook(estimator, "loss", 1, kOften); }},
      {"predicate",
       [](const auto& estimator) {
         return th::make_early_stopping_hook(estimator,
                                             [asked = 0]() mutable {
                                               fmt::print("asked {}\n", ++asked);
                                               return asked == 3;
                                             },
                                             {.run_every_steps = 2});
       }},
      {"last_step", [](const auto& estimator) { return th::make_stop_at_checkpoint_step_hook(estimator, 7); }}};
  return kStops;
}

/// Three steps with an evaluation after each, then at most nine with the hook.
void stop_early(th::Estimator& estimator, const Stop& stop) {
  for (const std::int64_t steps : {1, 2, 3}) {
    estimator.train(line().repeat(), {.max_steps = steps});
    static_cast<void>(estimator.evaluate(line()));
  }
  estimator.train(line().repeat(), {.hooks = stop(estimator), .steps = 9});
}

void run(std::string_view what, const std::string& directory, std::optional<std::int64_t> max_steps) {
  th::Estimator estimator = th::make_estimator<th::EigenSession>(
      model, {.model_dir = directory, .save_summary_steps = 2, .save_checkpoints_steps = 3, .log_step_count_steps = 4});
  if (what == "train") {
    estimator.train(line().repeat(),
                    {.hooks = {th::InMemoryEvaluatorHook(estimator, line(), {.name = "memory", .every_n_iter = 4})},
                     .max_steps = max_steps});
  } else if (what == "evaluate") {
    print(estimator.evaluate(line()));
  } else if (what == "predict") {
    for (const th::Prediction& each : estimator.predict(line())) fmt::print("{}\n", each.at("y").scalar<float>());
  } else if (const auto stop = stops().find(what); stop != stops().end()) {
    stop_early(estimator, stop->second);
  } else {
    const auto metrics = th::train_and_evaluate(estimator, {.input_fn = line().repeat(), .max_steps = max_steps},
                                                {.input_fn = line(),
                                                 .exporters = {th::BestExporter{.exports_to_keep = 2}},
                                                 .throttle_secs = th::Duration::zero()});
    print(metrics.value());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) {
      fmt::print(
          stderr,
          "usage: write_estimator <train | evaluate | predict | both | a way to stop> <directory> [max steps]\n");
      return 1;
    }
    th::set_log_sink([](th::LogLevel, std::string_view text) { fmt::print("log {}\n", text); });
    run(argv[1], argv[2], argc > 3 ? std::optional<std::int64_t>(std::stoll(argv[3])) : std::nullopt);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "write_estimator: {}\n", error.what());
    return 1;
  }
}
