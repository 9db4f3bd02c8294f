// SPDX-License-Identifier: Apache-2.0
/// @file
/// Small programs with a graph, one for each stock hook; prints what they log and raise. Events and files go to the
/// directory. The twins are in test_hooks.py.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/compat/stop_hooks.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/hooks/hooks.hpp>
#include <trainhook/hooks/text/tensor_text.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/trainhook.hpp>

namespace {

namespace th = trainhook;

/// w grows by `[x, 2 x]` each step, x is 1 unless it is fed; `loss` is NaN from step 4 on.
struct Program {
  std::string directory;
  th::Graph graph{};
  th::Variable step = th::get_or_create_global_step(graph);
  th::Variable w = th::make_variable("w", th::constant(graph, th::Tensor::of<float>({0, 0.5F})));
  th::Output x = th::placeholder_with_default(th::constant(graph, th::Tensor(1.0F)), {}, "x");
  th::Operation train{};
  th::Output w_after{};
  th::Output loss{};

  explicit Program(std::string where) : directory(std::move(where)) {
    const th::Output grown = th::assign_add(w, th::stack({x, 2.0F * x}));
    {
      const th::Graph::Scope after = graph.control_dependencies({grown.operation()});
      train = th::assign_add(step, 1).operation();
    }
    const th::Graph::Scope after = graph.control_dependencies({train});
    w_after = th::identity(w).named("w_after");
    loss = th::log(3.5F - th::cast(step, th::DType::Float)).named("loss");
  }

  /// To the end, or to the error that ends it.
  void run(th::HookList hooks) {
    try {
      auto session = th::MonitoredSession<th::EigenSession>(
          th::chief_session_creator<th::EigenSession>(graph, {.checkpoint_dir = directory}),
          {.hooks = std::move(hooks)});
      th::run_until_stop(session, train);
    } catch (const th::NanLossDuringTrainingError&) {
      fmt::print("raised NanLossDuringTrainingError\n");
    } catch (const th::Error& error) { fmt::print("raised {}Error\n", th::error_code_name(error.code())); }
  }
};

th::StopAtStepHook stop_at(std::int64_t step) { return th::StopAtStepHook({.last_step = step}); }

void logging(Program& program) {
  program.run(
      {th::LoggingTensorHook({{"w", program.w_after}, {"loss", program.loss}}, {.every_n_iter = 2}), stop_at(7)});
}

void logging_at_end(Program& program) {
  program.run({th::LoggingTensorHook({"w_after:0", "loss"}, {.every_n_iter = 3, .at_end = true}), stop_at(6)});
}

void logging_only_at_end(Program& program) {
  program.run({th::LoggingTensorHook({{"w", program.w}}, {.at_end = true}), stop_at(2)});
}

void logging_formatted(Program& program) {
  program.run({th::LoggingTensorHook({"w_after"}, {.every_n_iter = 2,
                                                   .formatter =
                                                       [](std::span<const th::NamedTensor> values) {
                                                         return fmt::format("w is {}",
                                                                            values[0].tensor.data<float>()[1]);
                                                       }}),
               stop_at(4)});
}

void stop_after_steps(Program& program) {
  for (int again = 0; again < 2; ++again) {
    program.run({th::StopAtStepHook({.num_steps = 3}), th::LoggingTensorHook({"w_after"}, {.every_n_iter = 1}),
                 th::CheckpointSaverHook({.checkpoint_dir = program.directory, .save_steps = 100})});
  }
}

void counter(Program& program) {
  program.run({th::StepCounterHook({.every_n_steps = 3, .output_dir = program.directory}), stop_at(10)});
}

void nan_fails(Program& program) {
  program.run({th::NanTensorHook(program.loss), th::LoggingTensorHook({"loss"}, {.every_n_iter = 1}), stop_at(9)});
}

void nan_stops(Program& program) {
  program.run({th::NanTensorHook(program.loss, {.fail_on_nan_loss = false}),
               th::LoggingTensorHook({"loss"}, {.every_n_iter = 1}), stop_at(9)});
}

void feeds(Program& program) {
  program.run({th::FeedFnHook([&program, n = 0.0F]() mutable {
                 return th::FeedDict{{program.x, n += 0.5F}};
               }),
               th::LoggingTensorHook({"w_after"}, {.every_n_iter = 1}), stop_at(4)});
}

void waiter(Program& program) {
  program.run({stop_at(5), th::CheckpointSaverHook({.checkpoint_dir = program.directory, .save_steps = 100})});
  program.run({th::GlobalStepWaiterHook({.wait_until_step = 4}),
               th::LoggingTensorHook({"w_after"}, {.every_n_iter = 1}), stop_at(7)});
}

void profiler(Program& program) {
  program.run({th::ProfilerHook({.save_steps = 3, .output_dir = program.directory}), stop_at(8)});
}

/// The second session is a worker's, that waits until its chief, the first one, has saved the last step.
void stop_at_checkpoint(Program& program) {
  program.run({stop_at(5), th::CheckpointSaverHook({.checkpoint_dir = program.directory, .save_steps = 100})});
  program.run({th::StopAtCheckpointStepHook({.model_dir = program.directory, .last_step = 5}),
               th::LoggingTensorHook({"w_after"}, {.every_n_iter = 1})});
}

/// Runs of four steps each, but for the last ones.
void multi_step(Program& program) {
  const th::Variable length = th::get_or_create_steps_per_run_variable(program.graph);
  const th::Output after = th::assign_add(program.step, th::cast(length, th::DType::Int64));
  program.train = after.operation();
  program.run({th::MultiStepStopAtStepHook({.last_step = 10, .steps_per_run = 4}),
               th::LoggingTensorHook({{"w", th::identity(after)}}, {.every_n_iter = 1})});
}

/// What a logged tensor looks like: all tensors of a checkpoint that the test wrote.
void texts(Program& program) {
  const std::string checkpoint = program.directory + "/texts";
  for (const th::NamedShape& variable : th::list_variables(checkpoint))
    fmt::print("{} = {}\n", variable.name, th::detail::numpy_text(th::load_variable(checkpoint, variable.name)));
}

const std::map<std::string_view, void (*)(Program&)> kPrograms{{"logging", logging},
                                                               {"logging_at_end", logging_at_end},
                                                               {"logging_only_at_end", logging_only_at_end},
                                                               {"logging_formatted", logging_formatted},
                                                               {"stop_after_steps", stop_after_steps},
                                                               {"counter", counter},
                                                               {"nan_fails", nan_fails},
                                                               {"nan_stops", nan_stops},
                                                               {"feeds", feeds},
                                                               {"waiter", waiter},
                                                               {"profiler", profiler},
                                                               {"stop_at_checkpoint", stop_at_checkpoint},
                                                               {"multi_step", multi_step},
                                                               {"texts", texts}};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw th::InvalidArgumentError("usage: write_hooks <program> <directory>");
    th::set_log_sink([](th::LogLevel, std::string_view line) { fmt::print("{}\n", line); });
    Program program(argv[2]);
    kPrograms.at(argv[1])(program);
  } catch (const std::exception& error) {
    fmt::print(stderr, "write_hooks: {}\n", error.what());
    return 1;
  }
}
