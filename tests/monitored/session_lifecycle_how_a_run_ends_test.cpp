// SPDX-License-Identifier: Apache-2.0
/// @file
/// The two tables in the docstring of SessionRunHook, read from there: each row has scenarios, and each scenario is
/// tried with the first, the middle and the last of three hooks. Whole traces are compared with what the row says.
#include <trainhook/monitored/session_lifecycle.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <data_files.hpp>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook {
namespace {

using testing::RecordingHook;
using testing::ScriptedSession;
using Session = MonitoredSession<ScriptedSession>;

/// The cells of a row.
using Row = std::vector<std::string>;

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/// The rows of the table at SessionRunHook whose first column has this title.
std::vector<Row> table_of_docstring(std::string_view title) {
  std::ifstream text(testing::source_file("include/trainhook/session/session_run_hook.hpp"));
  std::vector<Row> rows;
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("/// |")) {
      inside = false;
      continue;
    }
    Row cells;
    for (std::size_t at = line.find('|') + 1; at < line.size();) {
      const std::size_t end = std::min(line.find('|', at), line.size());
      cells.push_back(trimmed(line.substr(at, end - at)));
      at = end + 1;
    }
    if (cells[0] == title) {
      inside = true;
    } else if (inside && !cells[0].starts_with("---")) {
      rows.push_back(std::move(cells));
    }
  }
  return rows;
}

/// One line for each hook named, in that order.
std::string each(std::string_view names, const std::string& callback) {
  std::string lines;
  for (const char name : names) lines += fmt::format("{}.{}\n", std::string(1, name), callback);
  return lines;
}

std::string reversed(const std::string& names) { return {names.rbegin(), names.rend()}; }

std::string what_of(const std::function<void()>& action) {
  try {
    action();
  } catch (...) { return describe(std::current_exception()); }
  return "nothing";
}

/// Three hooks a, b, c, one of which misbehaves, and a fourth that saves checkpoints.
class Case {
 public:
  explicit Case(std::size_t place) : place_(place) {
    for (const char* name : {"a", "b", "c"})
      hooks_.push_back(std::make_shared<RecordingHook>(trace, RecordingHook::Options{.name = name}));
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;
  ~Case() { set_log_sink(previous_sink_); }

  RecordingHook& bad() { return *hooks_[place_]; }
  [[nodiscard]] std::string before() const { return std::string("abc").substr(0, place_); }
  [[nodiscard]] std::string up_to() const { return std::string("abc").substr(0, place_ + 1); }  // the bad one included
  [[nodiscard]] std::string from() const { return std::string("abc").substr(place_); }

  std::unique_ptr<Session> start(int attempts = 10) {
    return std::make_unique<Session>(
        std::make_shared<testing::ScriptedSessionCreator>(script),
        MonitoredSessionOptions{
            .hooks = {hooks_[0], hooks_[1], hooks_[2],
                      CheckpointSaverHook(
                          {.checkpoint_dir = "run", .save_steps = save_steps, .saver = std::make_shared<Saver>()})},
            .retry = {.max_attempts = attempts},
            .file_system = &disk,
            .clock = &clock});
  }
  /// Has the hook throw once at that callback.
  template <class E>
  void throw_once(const std::string& callback, E error) {
    bad().act[callback] = [this, callback, error](SessionRunContext*) {
      const E copy = error;
      bad().act.erase(std::string(callback));  // with it goes what this function has captured
      throw copy;
    };
  }
  /// The same, or the engine throws at its first run.
  template <class E>
  void throw_from(const std::string& where, E error) {
    if (where == "engine") {
      script.throw_at(1, error);
    } else {
      throw_once(where + " 0", error);
    }
  }
  void request_stop_in_the_first_before_run() {
    hooks_[0]->act["before_run 0"] = [](SessionRunContext* context) { context->request_stop(); };
  }
  /// Reports an error as a background thread does.
  void report(const std::exception_ptr& error) { hooks_[0]->last_coordinator->request_stop(error); }

  /// True if there is a checkpoint of a later step than the first, at which a session saves as well.
  [[nodiscard]] bool saved_at_the_end() {
    return latest_checkpoint(disk, "run").value_or("run/model.ckpt-0") != "run/model.ckpt-0";
  }

  std::int64_t save_steps = 1'000;
  testing::ManualClock clock;
  testing::MemoryFileSystem disk;
  testing::Script script;
  std::shared_ptr<testing::Trace> trace = std::make_shared<testing::Trace>();

 private:
  std::size_t place_;
  std::vector<std::shared_ptr<RecordingHook>> hooks_;
  LogSink previous_sink_ = set_log_sink([](LogLevel, std::string_view) {});
};

void at_every_place(const std::function<void(std::size_t)>& test) {
  for (std::size_t place = 0; place < 3; ++place) {
    SCOPED_TRACE(fmt::format("hook {}", place));
    test(place);
  }
}

// How a step ends.

constexpr const char* kBroken = "InvalidArgument: broken";

/// What goes wrong in a step, and from which callback it comes; a hook's name with its number is the callback's line.
struct StepScenario {
  std::string from;  // "before_run", "after_run", "engine", or nothing goes wrong
  std::function<void(Case&, const std::string& from)> arrange;
  std::string error{};  // what hooks receive
};

std::map<std::string, std::vector<StepScenario>> step_scenarios() {
  const auto nothing = [](Case&, const std::string&) {};
  const auto request_stop = [](Case& test, const std::string& from) {
    test.bad().act[from + " 0"] = [](SessionRunContext* context) { context->request_stop(); };
  };
  const auto lose = [](Case& test, const std::string& from) { test.throw_from(from, AbortedError("lost")); };
  const auto lose_otherwise = [](Case& test, const std::string& from) {
    test.throw_from(from, UnavailableError("gone"));
  };
  const auto fail = [](Case& test, const std::string& from) { test.throw_from(from, InvalidArgumentError("broken")); };
  return {{"normal return", {{"", nothing}}},
          {"a hook called `request_stop()`", {{"before_run", request_stop}, {"after_run", request_stop}}},
          {"AbortedError, UnavailableError thrown by an after_run",
           {{"after_run", lose, "Aborted: lost"}, {"after_run", lose_otherwise, "Unavailable: gone"}}},
          {"AbortedError, UnavailableError",
           {{"before_run", lose, "Aborted: lost"},
            {"engine", lose, "Aborted: lost"},
            {"before_run", lose_otherwise, "Unavailable: gone"},
            {"engine", lose_otherwise, "Unavailable: gone"}}},
          {"any other exception",
           {{"before_run", fail, kBroken}, {"engine", fail, kBroken}, {"after_run", fail, kBroken}}}};
}

/// Whom a cell names; a callback that threw was called, too.
std::string hooks_of(const std::string& cell, const Case& test, const std::string& from, bool is_after_run) {
  const bool threw = is_after_run && from == "after_run";
  if (cell == "all hooks" || cell == "all hooks of this step") return "abc";
  if (cell.empty() || cell == "none for that attempt") return "";
  if (cell == "those before it") return test.up_to();
  if (cell == "it and those after it, once") return test.from();
  if (cell == "none further") return threw ? test.up_to() : "";
  if (cell == "all that ran before_run") return from == "before_run" ? test.before() : "abc";
  ADD_FAILURE() << "no test knows whom '" << cell << "' names";
  return "";
}

/// One line for each hook; those that had a run before have a higher number.
std::string numbered(std::string_view had_a_run, const std::string& callback) {
  std::string lines;
  for (const char name : std::string_view("abc"))
    lines +=
        each(std::string(1, name), fmt::format("{} {}", callback, had_a_run.find(name) == std::string::npos ? 0 : 1));
  return lines;
}

void expect_step(const Row& row, const StepScenario& scenario, std::size_t place) {
  Case test(place);
  scenario.arrange(test, scenario.from);
  const auto session = test.start();
  (void)test.trace->take();
  const std::string seen = what_of([&] { session->run(test.script.train()); });

  const bool stops_early = scenario.from == "before_run" && !scenario.error.empty();
  const std::string asked = stops_early ? test.up_to() : "abc";
  std::string expected = each(asked, "before_run 0") +
                         each(hooks_of(row[1], test, scenario.from, true), "after_run 0") +
                         each(hooks_of(row[2], test, scenario.from, false), "on_run_failed 0: " + scenario.error);
  const std::string& afterwards = row[3];
  if (afterwards.starts_with("recreated")) {
    const std::string had_a_run = stops_early ? test.before() : "abc";
    expected +=
        each("abc", "after_create_session") + numbered(had_a_run, "before_run") + numbered(had_a_run, "after_run");
    EXPECT_EQ(seen, "nothing");
    EXPECT_EQ(test.script.sessions, 2);
    EXPECT_FALSE(session->should_stop());
  } else if (afterwards.starts_with("the exception leaves `run()`")) {
    EXPECT_EQ(seen, scenario.error);
    EXPECT_FALSE(session->should_stop());
    EXPECT_EQ(what_of([&] { session->raw_session().run(test.script.train()); }), "nothing");
  } else if (afterwards.starts_with("`should_stop()` is true")) {
    EXPECT_EQ(seen, "nothing");
    EXPECT_TRUE(session->should_stop());
  } else {
    EXPECT_EQ(afterwards, "continues");
    EXPECT_EQ(seen, "nothing");
    EXPECT_FALSE(session->should_stop());
  }
  EXPECT_EQ(test.trace->take(), expected);
}

TEST(HowARunEnds, EachRowAboutAStepIsTrue) {
  std::map<std::string, std::vector<StepScenario>> scenarios = step_scenarios();
  const std::vector<Row> rows = table_of_docstring("the step ended by");
  EXPECT_EQ(rows.size(), scenarios.size());
  for (const Row& row : rows) {
    SCOPED_TRACE(row[0]);
    ASSERT_EQ(row.size(), 4U);
    ASSERT_TRUE(scenarios.contains(row[0])) << "this row has no scenario";
    for (const StepScenario& scenario : scenarios[row[0]]) {
      SCOPED_TRACE(scenario.from);
      at_every_place([&](std::size_t place) { expect_step(row, scenario, place); });
    }
  }
}

TEST(HowARunEnds, AStopThatWasRequestedOutlivesWhateverTheSameRunThrows) {
  for (const std::string from : {"engine", "after_run"}) {
    SCOPED_TRACE(from);
    at_every_place([&](std::size_t place) {
      Case test(place);
      test.throw_from(from, InvalidArgumentError("broken"));
      test.request_stop_in_the_first_before_run();
      const auto session = test.start();
      EXPECT_EQ(what_of([&] { session->run(test.script.train()); }), kBroken);
      EXPECT_TRUE(session->should_stop());
    });
  }
}

TEST(HowARunEnds, AHookWhoseStateCannotBeSavedFailsTheStepThatSavesOrTheEnd) {
  for (const std::string callback : {"save_state", "veto_save"}) {
    SCOPED_TRACE(callback);
    at_every_place([&](std::size_t place) {
      Case test(place);
      test.save_steps = 1;
      const auto session = test.start();
      session->run(test.script.train());
      (void)test.trace->take();
      const std::string error = callback == "veto_save"
                                    ? kBroken
                                    : fmt::format(
                                          "InvalidArgument: saving run/model.ckpt-2: hook '{}' failed in save_state: "
                                          "broken",
                                          static_cast<char>('a' + place));
      test.throw_once(callback, InvalidArgumentError("broken"));
      EXPECT_EQ(what_of([&] { session->run(test.script.train()); }), error);
      EXPECT_EQ(test.trace->take(),
                each("abc", "before_run 1") + each("abc", "after_run 1") + each("abc", "on_run_failed 1: " + error));
      test.throw_once(callback, InvalidArgumentError("broken"));
      EXPECT_EQ(what_of([&] { session->close(); }), error);
      EXPECT_EQ(test.trace->take(), each("abc", "end"));
    });
  }
}

// How a session ends.

/// What the caller got, "that error" of the row, and the one that hooks are to receive. The trace has only the lines of
/// the end.
struct Ending {
  std::string seen;
  std::string error = "nothing";
  std::string heard = error;
};

using SessionScenario = std::function<Ending(Case&)>;

/// An error that is thrown as a new object each time, as an engine throws it.
struct Failure {
  ErrorCode code;
  std::string message;
  [[noreturn]] void raise() const { throw_error(code, message); }
  [[nodiscard]] std::exception_ptr pointer() const {
    try {
      raise();
    } catch (...) { return std::current_exception(); }
  }
  [[nodiscard]] std::string text() const { return describe(pointer()); }
};

const Failure kEndOfInput{ErrorCode::OutOfRange, "End of sequence"};
const Failure kError{ErrorCode::InvalidArgument, "broken"};

/// Starts a session, makes a step and forgets the lines of all that.
std::unique_ptr<Session> after_one_step(Case& test, int attempts = 10) {
  auto session = test.start(attempts);
  session->run(test.script.train());
  (void)test.trace->take();
  return session;
}

/// Has the second step throw `error`.
void fail_second_step(Case& test, const std::string& from, const Failure& error) {
  if (from == "engine") {
    test.script.failures[2] = [error] { error.raise(); };
  } else {
    test.bad().act[from + " 1"] = [error](SessionRunContext*) { error.raise(); };
  }
}

/// A step that throws, and whose lines are forgotten.
void failing_step(Case& test, Session& session) {
  try {
    session.run(test.script.train());
  } catch (...) {
    (void)test.trace->take();
    throw;
  }
}

SessionScenario closed(bool end_throws) {
  return [end_throws](Case& test) {
    const auto session = after_one_step(test);
    if (end_throws) test.throw_once("end", InvalidArgumentError("broken"));
    const Ending ending{.seen = what_of([&] { session->close(); }), .error = end_throws ? kError.text() : "nothing"};
    EXPECT_EQ(what_of([&] { session->close(); }), "nothing");  // the second does nothing
    EXPECT_EQ(session->errors().size(), end_throws ? 1U : 0U);
    return ending;
  };
}

SessionScenario left_the_loop_function(const std::string& from, const Failure& error) {
  return [from, error](Case& test) {
    const auto session = after_one_step(test);
    if (from != "step") fail_second_step(test, from, error);
    const std::string seen = what_of([&] {
      run_until_stop(*session, [&] {
        if (from == "step") error.raise();
        failing_step(test, *session);
      });
    });
    return Ending{.seen = seen, .error = error.text()};
  };
}

SessionScenario failed_in_a_thread(bool in_loop_function) {
  return [in_loop_function](Case& test) {
    const auto session = after_one_step(test);
    std::string seen;
    if (in_loop_function) {
      seen = what_of([&] { run_until_stop(*session, [&] { test.report(kError.pointer()); }); });
    } else {
      test.report(kError.pointer());
      EXPECT_TRUE(session->should_stop());
      seen = what_of([&] { session->close(); });
    }
    return Ending{.seen = seen, .error = kError.text()};
  };
}

SessionScenario failed_in_begin() {
  return [](Case& test) {
    test.throw_once("begin", InvalidArgumentError("broken"));
    const std::string seen = what_of([&] { (void)test.start(); });
    return Ending{.seen = seen, .error = "InvalidArgument: hook 'RecordingHook' failed in begin: broken"};
  };
}

enum class By { Close, Destructor };

SessionScenario lost_for_good(By by) {
  return [by](Case& test) {
    auto session = after_one_step(test, 1);
    for (int run = 2; run < 5; ++run) test.script.throw_at(run, AbortedError("lost"));
    EXPECT_EQ(what_of([&] { failing_step(test, *session); }), "Aborted: lost");
    EXPECT_TRUE(session->should_stop());
    Ending ending{.seen = "nothing", .error = "nothing", .heard = "Aborted: lost"};  // run() has thrown it
    if (by == By::Close) {
      ending.seen = what_of([&] { session->close(); });
    } else {
      session.reset();
    }
    return ending;
  };
}

SessionScenario lost_for_good_in_should_stop() {
  return [](Case& test) {
    const auto session = after_one_step(test);
    test.throw_once("after_create_session", InvalidArgumentError("broken"));
    test.report(std::make_exception_ptr(AbortedError("lost")));
    EXPECT_TRUE(session->should_stop());
    (void)test.trace->take();
    return Ending{.seen = what_of([&] { session->close(); }), .error = kError.text()};
  };
}

SessionScenario destroyed(bool end_throws) {
  return [end_throws](Case& test) {
    auto session = after_one_step(test);
    if (end_throws) test.throw_once("end", InvalidArgumentError("broken"));
    return Ending{.seen = what_of([&] { session.reset(); })};
  };
}

SessionScenario unwound(const std::string& from, const Failure& error) {
  return [from, error](Case& test) {
    const std::string seen = what_of([&] {
      const auto session = after_one_step(test);
      fail_second_step(test, from, error);
      failing_step(test, *session);
    });
    return Ending{.seen = seen, .error = error.text()};
  };
}

/// The first error is handled, and another one unwinds. Only the end of input is known to be handled at once.
SessionScenario unwound_after_handling(const std::string& from, const Failure& handled, const std::string& heard) {
  return [from, handled, heard](Case& test) {
    const std::string seen = what_of([&] {
      const auto session = after_one_step(test);
      fail_second_step(test, from, handled);
      EXPECT_EQ(what_of([&] { failing_step(test, *session); }), handled.text());
      const bool asks = heard == "no error" && handled.text() != kEndOfInput.text();
      EXPECT_FALSE(asks && session->should_stop());
      throw DataLossError("another");
    });
    return Ending{.seen = seen, .error = "DataLoss: another", .heard = heard};
  };
}

SessionScenario unwound_from_outside() {
  return [](Case& test) {
    const std::string seen = what_of([&] {
      const auto session = after_one_step(test);
      throw DataLossError("another");
    });
    return Ending{.seen = seen, .error = "DataLoss: another", .heard = "no error"};
  };
}

std::map<std::string, std::vector<std::pair<std::string, SessionScenario>>> session_scenarios() {
  return {
      {"`close()`", {{"plain", closed(false)}, {"an end throws", closed(true)}}},
      {"end of input leaving the loop function",
       {{"before_run", left_the_loop_function("before_run", kEndOfInput)},
        {"engine", left_the_loop_function("engine", kEndOfInput)},
        {"after_run", left_the_loop_function("after_run", kEndOfInput)}}},
      {"another exception leaving the loop function",
       {{"before_run", left_the_loop_function("before_run", kError)},
        {"engine", left_the_loop_function("engine", kError)},
        {"after_run", left_the_loop_function("after_run", kError)},
        {"step", left_the_loop_function("step", kError)},
        {"an end of input of the user's own", left_the_loop_function("step", kEndOfInput)}}},
      {"a thread's error that `should_stop()` saw first, then `close()` or the loop function",
       {{"close", failed_in_a_thread(false)}, {"loop function", failed_in_a_thread(true)}}},
      {"a hook's own `begin` throws", {{"begin", failed_in_begin()}}},
      {"`close()` or destructor of a session that is lost for good",
       {{"close", lost_for_good(By::Close)},
        {"destructor", lost_for_good(By::Destructor)},
        {"in should_stop", lost_for_good_in_should_stop()}}},
      {"destructor, not unwinding", {{"plain", destroyed(false)}, {"an end throws", destroyed(true)}}},
      {"destructor, unwinding from the end of input that `run()` threw",
       {{"before_run", unwound("before_run", kEndOfInput)},
        {"engine", unwound("engine", kEndOfInput)},
        {"after_run", unwound("after_run", kEndOfInput)}}},
      {"destructor, unwinding otherwise",
       {{"before_run", unwound("before_run", kError)},
        {"engine", unwound("engine", kError)},
        {"after_run", unwound("after_run", kError)},
        {"an end of input was handled", unwound_after_handling("engine", kEndOfInput, "no error")},
        {"another error was handled", unwound_after_handling("after_run", kError, kError.text())},
        {"it was handled before should_stop", unwound_after_handling("after_run", kError, "no error")},
        {"an error from outside", unwound_from_outside()}}},
  };
}

/// What the caller gets, by the words of the last column.
std::string seen_by_caller(const std::string& cell, const Ending& ending) {
  if (cell == "nothing" || cell == "the loop function returns") return "nothing";
  for (const char* words :
       {"that error", "that exception", "the first error", "the exception", "the original exception"}) {
    if (cell.starts_with(words)) return ending.error;
  }
  ADD_FAILURE() << "no test knows what '" << cell << "' means";
  return "";
}

/// The lines of the end, by the columns of `end` and `abort`.
std::string lines_of_end(const Row& row, const Case& test, const Ending& ending) {
  const std::string abort = "abort " + ending.heard;
  if (row[1] == "no" && row[2] == "that hook and those begun, last first")
    return each(test.up_to(), "begin") + each(reversed(test.up_to()), abort);
  if (row[1] == "no" && row[2].starts_with("every hook")) return each("cba", abort);
  EXPECT_TRUE(row[1].starts_with("every hook") || row[1].starts_with("as `close()`")) << row[1];
  EXPECT_EQ(row[2], "no");
  return each("abc", "end");
}

void expect_ending(const Row& row, const SessionScenario& scenario, std::size_t place) {
  Case test(place);
  const Ending ending = scenario(test);
  EXPECT_EQ(test.trace->take(), lines_of_end(row, test, ending));
  EXPECT_EQ(ending.seen, seen_by_caller(row[4], ending));
  EXPECT_EQ(test.saved_at_the_end() ? "yes" : "no", row[3]);
}

TEST(HowARunEnds, EachRowAboutASessionIsTrue) {
  auto scenarios = session_scenarios();
  const std::vector<Row> rows = table_of_docstring("the session ended by");
  EXPECT_EQ(rows.size(), scenarios.size());
  for (const Row& row : rows) {
    SCOPED_TRACE(row[0]);
    ASSERT_EQ(row.size(), 5U);
    ASSERT_TRUE(scenarios.contains(row[0])) << "this row has no scenario";
    for (const auto& named : scenarios[row[0]]) {
      SCOPED_TRACE(named.first);
      at_every_place([&](std::size_t place) { expect_ending(row, named.second, place); });
    }
  }
}

}  // namespace
}  // namespace trainhook
