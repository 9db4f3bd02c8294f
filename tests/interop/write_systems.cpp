// SPDX-License-Identifier: Apache-2.0
/// @file
/// Small programs in which the five systems are compared with TensorFlow's: w grows by 1 each step, and hooks and
/// listeners write down when they are called. Prints these lines; checkpoints and events go to the directory. The twins
/// are in test_systems.py.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/log.hpp>
#include <trainhook/hooks/hooks.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/model/graph_def/meta_graph_def.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/compat/singular_monitored_session.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/trainhook.hpp>

namespace {

namespace th = trainhook;
using th::testing::RecordingHook;
using th::testing::RecordingListener;
using Session = th::MonitoredSession<th::LoopSession>;

/// What all of them share. Log lines that TensorFlow has as well come between the callbacks.
struct Program {
  std::string directory;
  std::int64_t last_step;
  float w = 0;
  th::LoopSession loop{};
  th::Variable variable = loop.variable("w", w);
  th::Output summary = th::summary::scalar("weight", variable);
  std::shared_ptr<th::testing::Trace> trace = std::make_shared<th::testing::Trace>();

  Program(std::string where, std::int64_t last) : directory(std::move(where)), last_step(last) {
    loop.export_graph(th::graph_export());  // as TensorFlow does
    th::set_log_sink([lines = trace](th::LogLevel, std::string_view line) {
      for (const std::string_view kept : {"Saving checkpoints for ", "Restored ", "FinalOpsHook: "}) {
        if (line.starts_with(kept)) lines->add("log " + std::string(line));
      }
    });
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    th::set_log_sink({});
    std::fputs(trace->lines().c_str(), stdout);
  }

  [[nodiscard]] std::shared_ptr<RecordingHook> recorder(const std::string& name) const {
    return th::make_hook<RecordingHook>(trace, RecordingHook::Options{.name = name});
  }
  [[nodiscard]] std::shared_ptr<RecordingListener> listener(const std::string& name) const {
    return std::make_shared<RecordingListener>(trace, name);
  }
  [[nodiscard]] th::StopAtStepHook stop() const { return th::StopAtStepHook({.last_step = last_step}); }
  [[nodiscard]] th::CheckpointSaverHook saver(
      std::vector<std::shared_ptr<th::CheckpointSaverListener>> listeners = {}) const {
    return th::CheckpointSaverHook({.checkpoint_dir = directory, .save_steps = 2, .listeners = std::move(listeners)});
  }

  [[nodiscard]] Session session(th::HookList hooks) {
    const auto open = [this] {
      loop.open();
      return th::OwnedSession{.owner = {}, .session = loop};
    };
    return Session(std::make_shared<th::ChiefSessionCreator>(
                       loop.graph(), open, th::ChiefSessionCreatorOptions{.checkpoint_dir = directory}),
                   {.hooks = std::move(hooks)});
  }

  void step(Session& session) {
    session.run([this] { w += 1; });
  }
  /// To the end, or to the error that ends it.
  void train(Session&& session) {
    try {
      th::run_until_stop(session, [&] { step(session); });
    } catch (const th::Error& error) { trace->add(fmt::format("raised {}", th::error_code_name(error.code()))); }
  }
  void show(std::string_view name, const th::Tensor& value) const {
    trace->add(fmt::format("{} {}", name, static_cast<std::int64_t>(value.scalar<float>())));
  }
};

// MonitoredSession.

void training(Program& program) {
  program.train(th::monitored_training_session(
      program.loop, {.checkpoint_dir = program.directory,
                     .save_checkpoint_steps = 2,
                     .save_summaries_steps = 2,
                     .log_step_count_steps = 0,
                     .hooks = {program.recorder("a"), program.stop(), program.recorder("b")}}));
}

void recovery(Program& program) {
  const auto thrower = program.recorder("thrower");
  thrower->act["before_run 2"] = [thrown = false](th::SessionRunContext*) mutable {
    if (!std::exchange(thrown, true)) throw th::AbortedError("preempted");
  };
  program.train(program.session(
      {program.recorder("a"), thrower, program.recorder("b"), program.stop(),
       th::SummarySaverHook({.save_steps = 100, .output_dir = program.directory, .summary_op = program.summary}),
       program.saver()}));
}

void failure(Program& program) {
  const auto thrower = program.recorder("thrower");
  thrower->act["before_run 2"] = [](th::SessionRunContext*) { throw th::InvalidArgumentError("broken"); };
  program.train(program.session({program.recorder("a"), thrower, program.recorder("b")}));
}

void singular(Program& program) {
  const auto thrower = program.recorder("thrower");
  thrower->act["before_run 2"] = [](th::SessionRunContext*) { throw th::AbortedError("preempted"); };
  program.train(th::SingularMonitoredSession<th::LoopSession>(
      program.loop, {.hooks = {program.recorder("a"), thrower, program.recorder("b"), program.saver()},
                     .checkpoint_dir = program.directory}));
}

void closed_twice(Program& program) {
  Session session = program.session({program.recorder("a"), program.recorder("b")});
  program.step(session);
  session.close();
  program.trace->add("closed");
  session.close();
}

void step_function(Program& program) {
  Session session = program.session({program.recorder("a"), program.recorder("b")});
  th::run_until_stop(session, [&] {
    session.run_step_fn([&](th::StepContext<th::LoopSession>& context) {
      program.show("before", context.session().run(program.variable.read));
      if (program.w == 2) context.request_stop();
      context.run_with_hooks([&] { program.w += 1; });
      program.show("after", context.session().run(program.variable.read));
    });
  });
}

// SummarySaverHook.

void summaries(Program& program) {
  const th::Output twice =
      th::summary::scalar("twice", program.loop.value("doubled", [&program] { return 2 * program.w; }));
  program.train(program.session({th::SummarySaverHook({.save_steps = 2,
                                                       .output_dir = program.directory,
                                                       .summary_op = std::vector<th::Output>{program.summary, twice}}),
                                 th::CheckpointSaverHook({.checkpoint_dir = program.directory, .save_steps = 100}),
                                 program.stop()}));
}

// FinalOpsHook.

void final_ops(Program& program) {
  const th::Output x = program.loop.value("x", [] { return 0.0F; });
  const auto single = th::make_hook<th::FinalOpsHook>(th::FetchRefs(program.variable));
  const auto list = th::make_hook<th::FinalOpsHook>(th::FetchRefs({program.variable, x}));
  const auto named = th::make_hook<th::FinalOpsHook>(th::FetchRefs({{"w", program.variable}, {"fed", x}}),
                                                     th::FinalOpsHook::Options{.final_ops_feed_dict = {{x, 7.0F}}});
  program.train(program.session({program.recorder("a"), single, list, named, program.stop(), program.recorder("b")}));
  program.show("single", single->final_ops_values()[0]);
  for (const th::Tensor& value : list->final_ops_values()) program.show("list", value);
  for (const char* name : {"w", "fed"}) program.show(name, named->final_ops_value(name));
}

void final_ops_failing(Program& program) {
  const th::Output empty = program.loop.value("empty", []() -> float { throw th::OutOfRangeError("End of sequence"); });
  program.train(
      program.session({program.recorder("a"), th::FinalOpsHook(empty), program.stop(), program.recorder("b")}));
}

// CheckpointSaverHook and AsyncCheckpointSaverHook.

void checkpoints(Program& program) {
  program.train(program.session(
      {program.recorder("a"), program.saver({program.listener("first"), program.listener("second")}), program.stop()}));
}

void stopping_listener(Program& program) {
  const auto stopper = program.listener("stopper");
  stopper->stop_after = 0;
  program.train(program.session({program.recorder("a"), program.saver({stopper}), program.stop()}));
}

void async_checkpoints(Program& program) {
  const auto saver = th::make_hook<th::AsyncCheckpointSaverHook>(
      {.checkpoint_dir = program.directory, .save_steps = 3, .listeners = {program.listener("listener")}});
  Session session = program.session({program.recorder("a"), program.stop(), saver});
  saver->wait_until_written();
  th::run_until_stop(session, [&] {
    program.step(session);
    saver->wait_until_written();
  });
}

// CheckpointInputPipelineHook.

void input_pipeline(Program& program) {
  th::Iterator& numbers = th::make_iterator(program.loop, th::Dataset::range(10));
  Session session = program.session({th::CheckpointInputPipelineHook(), program.saver(), program.stop()});
  th::Element element;
  th::run_until_stop(session, [&] {
    session.run([&] {
      numbers.get_next(element);
      program.w += 1;
    });
    program.trace->add(fmt::format("element {}", element.at(0).scalar<std::int64_t>()));
  });
}

const std::map<std::string_view, void (*)(Program&)> kPrograms{{"training", training},
                                                               {"recovery", recovery},
                                                               {"failure", failure},
                                                               {"singular", singular},
                                                               {"closed_twice", closed_twice},
                                                               {"step_function", step_function},
                                                               {"summaries", summaries},
                                                               {"final_ops", final_ops},
                                                               {"final_ops_failing", final_ops_failing},
                                                               {"checkpoints", checkpoints},
                                                               {"stopping_listener", stopping_listener},
                                                               {"async_checkpoints", async_checkpoints},
                                                               {"input_pipeline", input_pipeline}};

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw th::InvalidArgumentError("usage: write_systems <program> <directory> <last step>");
    Program program(argv[2], std::stoll(argv[3]));
    kPrograms.at(argv[1])(program);
  } catch (const std::exception& error) {
    fmt::print(stderr, "write_systems: {}\n", error.what());
    return 1;
  }
}
