// SPDX-License-Identifier: Apache-2.0
/// @file
/// Each stock hook, and those of the README and the guide: a run that is killed after any of its steps and goes on from
/// the checkpoint before, or that is interrupted after it and goes on from there, does the same as one that was not.
/// Not here: ResumedHooks has LoggingTensorHook and timers of one's own, the estimator's tests have
/// InMemoryEvaluatorHook. StepCounterHook and ProgressHook measure the time of a process, HParamsHook notes the start
/// of each. Those of compat/ are tested there.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/engine/profiler_hook.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/row_logger_hook.hpp>
#include <trainhook/hooks/early_stopping_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/exponential_moving_average_hook.hpp>
#include <trainhook/hooks/feed_fn_hook.hpp>
#include <trainhook/hooks/final_ops_hook.hpp>
#include <trainhook/hooks/global_step_waiter_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/learning_rate_warm_up_hook.hpp>
#include <trainhook/hooks/nan_tensor_hook.hpp>
#include <trainhook/hooks/reduce_learning_rate_on_plateau_hook.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/hooks/stop_on_predicate_hook.hpp>
#include <trainhook/hooks/summary_saver_hook.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "sanitized.hpp"

namespace trainhook {
namespace {

/// What was done, and at which step; doing it again after a kill counts once.
using Trace = std::set<std::string>;

/// The hook of the README: stops when a value is below a target.
class StopBelow final : public SessionRunHook {
 public:
  StopBelow(Output watched, float target) : watched_(watched), target_(target) {}
  SessionRunArgs before_run(SessionRunContext&) override { return {watched_}; }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    if (values.results[0].scalar<float>() < target_) context.request_stop();
  }

 private:
  Output watched_;
  float target_;
};

/// That of the guide, with state: reports the best value every five steps.
class BestValue final : public SessionRunHook {
 public:
  BestValue(Output watched, Trace& trace) : watched_(watched), trace_(&trace) {}
  SessionRunArgs before_run(SessionRunContext&) override { return {watched_}; }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    best_ = std::fmin(best_, values.results[0].scalar<float>());
    if (!timer_.trigger_if_due(context.global_step(), context)) return;
    trace_->insert(fmt::format("best {} after step {}", best_, context.global_step()));
  }
  StateValues save_state() override {
    StateValues state;
    state.set("best", Tensor(best_));
    return state;
  }
  void load_state(const StateValues& state) override { best_ = state.at("best").scalar<float>(); }

 private:
  Output watched_;
  Trace* trace_;
  float best_ = std::numeric_limits<float>::infinity();
  SecondOrStepTimer timer_{*this, {.every_steps = 5}};
};

/// One process that trains.
struct Program {
  testing::FaultyFileSystem disk;
  Trace& trace;
  float weight = 0;
  double rate = 1;
  LoopSession loop;
  Iterator& numbers = make_iterator(loop, Dataset::range(9).shuffle(4, 3).repeat(), "numbers");
  Output loss;    ///< falls until step 14, then rises
  Output broken;  ///< NaN from step 17 on
  Output input;   ///< what is fed
  std::function<void()> in_step = [] {};
  std::function<void()> at_end = [] {};
  bool saves = true;  ///< every four steps; else one of the hooks does

  Program(testing::MemoryFileSystem& files, Trace& traced) : disk(files), trace(traced) {
    loop.variable("weight", weight);
    loop.variable("learning_rate", rate);
    loss = loop.value("loss", [this] { return std::abs(14 - static_cast<float>(loop.global_step())); });
    broken = loop.value("broken", [this] { return loop.global_step() < 17 ? 1.0F : std::nanf(""); });
    input = loop.value("input", [] { return -1.0F; });
    summary::scalar("trained", loop.value("weight_now", [this] { return weight; }));
  }

  EvaluationHook evaluation(std::int64_t every) {
    return {[this] {
              return Metrics{{"loss", std::abs(13.0 - static_cast<double>(loop.global_step()))}};
            },
            {.every_n_steps = every, .output_dir = "run"}};
  }

  /// To the last step, or until it is killed after so many runs: then nothing more reaches the disk. Or until it is
  /// interrupted after so many.
  void train(HookList hooks, int killed_after, int interrupted_after = 0) {
    struct Killed {};
    hooks.emplace_back(LambdaHook(
        {.after_run = [runs = interrupted_after](SessionRunContext& context, const SessionRunValues&) mutable {
          if (--runs == 0) context.interrupt("interrupted");
        }}));
    hooks.emplace_back(StopAtStepHook({.last_step = 24}));
    hooks.emplace_back(CheckpointInputPipelineHook());
    try {
      auto session = monitored_training_session(
          loop, {.checkpoint_dir = "run",
                 .save_checkpoint_steps = saves ? std::optional<std::int64_t>(4) : std::nullopt,
                 .save_summaries_steps = 5,
                 .log_step_count_steps = 0,
                 .hooks = std::move(hooks),
                 .file_system = &disk});
      for (int run = 0; !session.should_stop(); ++run) {
        if (run == killed_after) {
          disk.fail_from(1);
          throw Killed();
        }
        session.run([&] {
          Element element;
          numbers.get_next(element);
          weight += static_cast<float>(rate) * static_cast<float>(element[0].scalar<std::int64_t>());
          in_step();
        });
        trace.insert(fmt::format("step {}: weight {}", loop.global_step(), weight));
        trace.insert(fmt::format("rate {} after step {}", rate, loop.global_step()));
      }
      const std::string why = session.why_it_ended();
      session.close();
      forget_interruption();  // if there is a SignalHook
      if (why == "interrupted") return;
      trace.insert(fmt::format("the end at step {}: {}", loop.global_step(), why));
      at_end();
    } catch (const Killed&) {}
  }
};

/// With the summaries, timelines, rows and checkpoints that are on the disk.
Trace with_files(testing::MemoryFileSystem& disk, Trace trace) {
  for (const std::string& file : disk.files()) {
    if (file.ends_with(".csv") || file.ends_with(".jsonl")) trace.insert(file + ": " + disk.contents(file));
    if (file.ends_with(".index") || file.find("timeline-") != std::string::npos) trace.insert(file);
    if (file.find("tfevents") == std::string::npos) continue;
    for (const Event& event : read_events(disk, file).events) {
      for (const SummaryValue& value : event.values) {
        trace.insert(fmt::format("{}: {} at step {}{}", file.substr(0, file.rfind('/')), value.tag, event.step,
                                 value.scalar ? fmt::format(" is {}", *value.scalar) : ""));
      }
    }
  }
  return trace;
}

/// What one of the two did and the other did not.
Trace difference(const Trace& mine, const Trace& wanted) {
  Trace lines;
  std::ranges::set_symmetric_difference(mine, wanted, std::inserter(lines, lines.end()));
  return lines;
}

/// Without the checkpoints for resuming: after an interruption they are of other steps.
Trace without_checkpoints(Trace trace) {
  std::erase_if(trace, [](const std::string& line) {
    return line.starts_with("run/model.ckpt-") || line.starts_with("run/input.ckpt-");
  });
  return trace;
}

/// Kills or interrupts a training after each of its steps, lets it go on, and compares with one that was left alone and
/// did `done`.
void expect_the_same_after_an_end(const std::function<HookList(Program&)>& hooks,
                                  const std::vector<std::string>& done) {
  const testing::LogLines quiet;
  const auto trained = [&](int killed_after, int interrupted_after) {
    testing::MemoryFileSystem disk;
    Trace trace;
    if (killed_after > 0 || interrupted_after > 0) {
      Program first(disk, trace);
      first.train(hooks(first), killed_after > 0 ? killed_after : -1, interrupted_after);
    }
    Program program(disk, trace);
    program.train(hooks(program), -1);
    return with_files(disk, std::move(trace));
  };
  const Trace whole = trained(0, 0);
  for (const std::string& line : done)
    EXPECT_TRUE(whole.contains(line)) << line << " is not in\n" << fmt::format("{}", fmt::join(whole, "\n"));
  const auto steps = std::ranges::count_if(whole, [](const std::string& line) { return line.starts_with("step "); });
  ASSERT_GT(steps, 10);
  for (int runs = 1; runs < steps; runs += testing::kIsSanitized ? 3 : 1) {
    EXPECT_EQ(difference(trained(runs, 0), whole), Trace{}) << "killed after " << runs;
    EXPECT_EQ(difference(without_checkpoints(trained(0, runs)), without_checkpoints(whole)), Trace{})
        << "interrupted after " << runs;
  }
}

TEST(ResumedStockHooks, SaversSaveAtTheSameSteps) {
  const auto options = [](Program& program) {
    program.saves = false;
    return CheckpointSaverOptions{.checkpoint_dir = "run",
                                  .save_steps = 6,
                                  .saver = std::make_shared<Saver>(SaverOptions{.file_system = &program.disk}),
                                  .overlap = SaveOverlap::Wait};
  };
  const std::vector<std::string> done{"run/model.ckpt-6.index", "run/input.ckpt-18.index", "run/model.ckpt-24.index"};
  expect_the_same_after_an_end([&](Program& program) -> HookList { return {CheckpointSaverHook(options(program))}; },
                               done);
  expect_the_same_after_an_end(
      [&](Program& program) -> HookList { return {AsyncCheckpointSaverHook(options(program))}; }, done);
}

TEST(ResumedStockHooks, SummariesAreOfTheSameSteps) {
  expect_the_same_after_an_end(
      [](Program& program) -> HookList {
        const Output summary = summary::scalar("rate", program.loop.value("rate_now", [&] { return program.rate; }));
        return {SummarySaverHook({.save_steps = 7, .output_dir = "more", .summary_op = summary})};
      },
      {"run: trained at step 16 is 58", "more: rate at step 15 is 1"});
}

TEST(ResumedStockHooks, EvaluationsAreOfTheSameSteps) {
  expect_the_same_after_an_end([](Program& program) -> HookList { return {program.evaluation(5)}; },
                               {"run/eval: loss at step 15 is 2", "run/eval: loss at step 24 is 11"});
}

TEST(ResumedStockHooks, EarlyStoppingStopsAtTheSameStep) {
  expect_the_same_after_an_end(
      [](Program& program) -> HookList {
        return {program.evaluation(3), EarlyStoppingHook({.patience = 2})};
      },
      {"the end at step 18: early stopping: eval/loss has not improved for 2 evaluations; best 1 at step 12"});
}

TEST(ResumedStockHooks, TheSameCheckpointsAreTheBest) {
  expect_the_same_after_an_end(
      [](Program& program) -> HookList {
        return {program.evaluation(3), BestCheckpointHook({.keep = 2})};
      },
      {"run/best/model.ckpt-12.index", "run/best/model.ckpt-15.index"});
}

TEST(ResumedStockHooks, RatesAreTheSame) {
  expect_the_same_after_an_end(
      [](Program& program) -> HookList {
        return {LearningRateWarmUpHook({.steps = 10}), program.evaluation(3),
                ReduceLearningRateOnPlateauHook({.factor = 0.5, .patience = 2})};
      },
      {"rate 0.5 after step 4", "rate 1 after step 17", "rate 0.5 after step 18", "rate 0.25 after step 24"});
}

TEST(ResumedStockHooks, AveragesAreTheSame) {
  expect_the_same_after_an_end(
      [](Program& program) -> HookList {
        const auto average = make_hook<ExponentialMovingAverageHook>({.decay = 0.75, .variables = {"weight"}});
        program.at_end = [&program, average] {
          program.trace.insert(fmt::format("average {}", average->averages()[0].tensor.scalar<float>()));
        };
        return {average};
      },
      {});
}

TEST(ResumedStockHooks, RowsAreTheSame) {
  expect_the_same_after_an_end(
      [](Program& program) -> HookList {
        return {program.evaluation(6),
                CsvLoggerHook({"loss"}, {.path = "run/log.csv", .every_n_steps = 9, .metrics = {"eval/loss"}}),
                JsonLinesHook({"loss"}, {.path = "run/log.jsonl", .every_n_steps = 10})};
      },
      {"run/log.csv: step,loss,eval/loss\n6,,7\n9,5,\n12,,1\n18,4,5\n24,,11\n",
       "run/log.jsonl: {\"step\":10,\"loss\":4}\n{\"step\":20,\"loss\":6}\n"});
}

TEST(ResumedStockHooks, TimelinesAreOfTheSameSteps) {
  expect_the_same_after_an_end(
      [](Program&) -> HookList { return {ProfilerHook({.save_steps = 5, .output_dir = "run"})}; },
      {"run/timeline-20.json"});
}

TEST(ResumedStockHooks, FunctionsHaveTheirState) {
  expect_the_same_after_an_end(
      [](Program& program) -> HookList {
        const auto sum = std::make_shared<float>(0);
        return {LambdaHook({.after_run =
                                [&program, sum](SessionRunContext& context, const SessionRunValues&) {
                                  *sum += program.weight;
                                  program.trace.insert(fmt::format("sum {} at step {}", *sum, context.global_step()));
                                },
                            .save_state =
                                [sum] {
                                  StateValues state;
                                  state.set("sum", Tensor(*sum));
                                  return state;
                                },
                            .load_state = [sum](const StateValues& state) { *sum = state.at("sum").scalar<float>(); },
                            .name = "sum"})};
      },
      {});
}

TEST(ResumedStockHooks, APredicateIsAskedAtTheSameSteps) {
  expect_the_same_after_an_end(
      [](Program& program) -> HookList {
        return {StopOnPredicateHook(
            [&program] {
              program.trace.insert(fmt::format("asked after step {}", program.loop.global_step()));
              return program.loop.global_step() > 18;
            },
            {.run_every_steps = 5})};
      },
      {"asked after step 1", "asked after step 16", "asked after step 21"});
}

TEST(ResumedStockHooks, ThoseThatActOnEachRunDoTheSame) {
  expect_the_same_after_an_end(
      [](Program& program) -> HookList {
        const auto last = std::make_shared<FinalOpsHook>(program.loss);
        program.at_end = [&program, last] {
          program.trace.insert(fmt::format("final loss {}", last->final_ops_values()[0].scalar<float>()));
        };
        auto feeds = FeedFnHook([&program] { return FeedDict{{program.input, 2 * program.weight}}; });
        auto fed =
            LambdaHook({.before_run = [&program](SessionRunContext&) { return SessionRunArgs{program.input}; },
                        .after_run =
                            [&program](SessionRunContext& context, const SessionRunValues& values) {
                              program.trace.insert(fmt::format("fed {} at step {}", values.results[0].scalar<float>(),
                                                               context.global_step()));
                            }});
        return {std::move(feeds),
                std::move(fed),
                GlobalStepWaiterHook({.wait_until_step = 0}),
                SignalHook({.stop_signals = {}, .save_signals = {}, .deadline = {}, .directory = "run"}),
                last,
                NanTensorHook(program.broken, {.fail_on_nan_loss = false})};
      },
      {"fed 0 at step 1", "final loss 3"});
}

TEST(ResumedStockHooks, ThoseOfTheReadmeAndTheGuideDoTheSame) {
  expect_the_same_after_an_end(
      [](Program& program) -> HookList {
        return {StopBelow(program.loss, 0.5F), BestValue(program.loss, program.trace)};
      },
      {"best 13 after step 1", "best 3 after step 11"});
}

}  // namespace
}  // namespace trainhook
