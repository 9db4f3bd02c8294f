// SPDX-License-Identifier: Apache-2.0
/// @file
/// A loop around a scripted session that calls hooks as a monitored session does, on a disk in memory and a clock set
/// by hand; unlike one it lets a test begin, create and end separately.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <graph_export_double.hpp>
#include <shared_session_double.hpp>
#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/monitored/live_session.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/testing/recording_writer.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook::support {

using testing::LogLines;
using testing::RecordingListener;

/// What outlives a process.
struct Outside {
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;

  void advance_clock(double seconds) { clock.advance(Duration(std::chrono::duration<double>(seconds))); }
};

/// One process: a script, and hooks that are called as a monitored session calls them.
class TrainingDouble {
  Outside* outside_;  // first: other members are made from it

 public:
  /// @param scope where the global step is made
  explicit TrainingDouble(Outside& outside, const std::string& scope = {}) : outside_(&outside), script(scope) {
    services.set_save_veto([this]() -> std::optional<std::string> {
      for (const auto& hook : hooks_) {
        if (auto reason = hook->veto_save()) return reason;
      }
      return std::nullopt;
    });
  }
  TrainingDouble(const TrainingDouble&) = delete;
  TrainingDouble& operator=(const TrainingDouble&) = delete;

  template <std::derived_from<SessionRunHook> Hook>
  Hook& add(Hook hook) {
    auto shared = std::make_shared<Hook>(std::move(hook));
    hooks_.push_back(shared);
    return *shared;
  }
  void add(std::shared_ptr<SessionRunHook> hook) { hooks_.push_back(std::move(hook)); }

  void begin() {
    std::ranges::stable_sort(hooks_, {}, [](const auto& hook) { return hook->phase(); });
    for (const auto& hook : hooks_) detail::HookAccess::attach(*hook, services);
    for (const auto& hook : hooks_) hook->begin(graph);
    graph.finalize();
  }
  void create() {
    coordinator = std::make_unique<Coordinator>(outside_->clock);
    for (const auto& hook : hooks_) hook->after_create_session(model, *coordinator);
    make_session();
    services.set_session(model);
  }
  void make_session() {  // which does not call `after_create_session`, and leaves the model open when it ends
    session = std::make_unique<detail::LiveSession>(
        OwnedSession{.owner = {}, .session = model, .shared = std::make_shared<SharedSessionDouble>()}, hooks_,
        services, recovery, std::chrono::seconds(1));
  }
  TrainingDouble& start() {
    begin();
    create();
    return *this;
  }
  /// Hooks of this process see another disk.
  void use_disk(FileSystem& disk) {
    const detail::SessionServices before = services;
    services = detail::SessionServices(disk, outside_->clock, writers);
    services.set_save_veto([before] { return before.save_veto(); });
  }
  [[nodiscard]] bool should_stop() const { return session->should_stop() || coordinator->should_stop(); }

  /// The script's training operation so many times, with hooks around each.
  void run(int times = 1) {
    for (int i = 0; i < times; ++i) run(script.train());
  }
  void run(Fetch fetch, const FeedDict& feeds = {}) {
    Tensor result;
    session->run({.fetches = {&fetch, 1}, .feed_dict = feeds}, {&result, 1});
  }
  void end() {
    for (const auto& hook : hooks_) hook->end(model);
    writers.close();
  }

  [[nodiscard]] const detail::Hooks& hooks() const noexcept { return hooks_; }
  [[nodiscard]] std::int64_t step() { return model.variable(script.global_step.name()).scalar<std::int64_t>(); }
  void set_step(std::int64_t step) { model.variable(script.global_step.name()) = Tensor(step); }

  testing::Script script;
  Graph& graph = script.graph();
  struct Model : testing::ScriptedSession {
    using ScriptedSession::ScriptedSession;
    [[nodiscard]] const GraphExport* graph_export() const noexcept { return &kGraphExportDouble; }
  } model{script};
  FileWriterCache writers{{.file_system = &outside_->disk, .clock = &outside_->clock}};
  detail::SessionServices services{outside_->disk, outside_->clock, writers};
  std::unique_ptr<Coordinator> coordinator;
  detail::RecoveryPolicy recovery{{}, outside_->clock};
  std::unique_ptr<detail::LiveSession> session;

 private:
  detail::Hooks hooks_;
};

/// The global step that a checkpoint holds, by what is in its file.
inline std::int64_t saved_step(FileSystem& disk, const std::string& prefix,
                               const std::string& variable = "global_step") {
  return BundleReader(prefix, {.file_system = &disk}).get_tensor(variable).scalar<std::int64_t>();
}

/// The same of the newest checkpoint of a directory.
inline std::int64_t newest_saved_step(FileSystem& disk, const std::string& directory) {
  return saved_step(disk, latest_checkpoint(disk, directory).value());
}

/// The names of a directory's files that contain `part`.
inline std::vector<std::string> files_with(FileSystem& disk, const std::string& directory, std::string_view part) {
  std::vector<std::string> names =
      disk.is_directory(directory) ? disk.list_directory(directory) : std::vector<std::string>();
  std::erase_if(names, [&](const std::string& name) { return name.find(part) == std::string::npos; });
  return names;
}

/// A process with an outside of its own, and an operation that leaves the step alone.
struct Process : Outside, TrainingDouble {
  Process() : TrainingDouble(static_cast<Outside&>(*this)) {}
  Operation nothing = script.operation("nothing", [] {});
};

/// All events of a directory in order.
inline std::vector<std::string> event_lines(Outside& outside, const std::string& directory) {
  return testing::event_lines(outside.disk, directory);
}

}  // namespace trainhook::support
