// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/resume_auditor.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::testing {
namespace detail {

using EventKey = std::pair<std::string, std::int64_t>;  // tag and step

/// The results that a run left on its disk.
struct RunRecord {
  std::set<std::string> checkpoints{};
  std::map<std::string, std::map<std::string, Tensor>> newest{};  // by prefix, then by name
  std::map<EventKey, SummaryValue> summaries{};
};

inline void add_summaries(RunRecord& record, const Event& event, const std::vector<std::string>& ignored) {
  if (event.session_log && event.session_log->status == SessionLog::Start)
    std::erase_if(record.summaries, [&](const auto& entry) { return entry.first.second >= event.step; });
  for (const SummaryValue& value : event.values) {
    const auto holds = [&](const std::string& part) { return value.tag.find(part) != std::string::npos; };
    if (std::ranges::none_of(ignored, holds)) record.summaries[{value.tag, event.step}] = value;
  }
}

inline RunRecord run_record(MemoryFileSystem& disk, const std::vector<std::string>& ignored) {
  RunRecord record;
  std::map<std::string, std::pair<std::int64_t, std::string>> newest;  // of each basename
  std::set<std::string> directories;
  for (const std::string& path : disk.files()) {
    directories.insert(parent_path(path));
    constexpr std::string_view kIndex = ".index";
    if (!path.ends_with(kIndex)) continue;
    const std::string prefix = path.substr(0, path.size() - kIndex.size());
    record.checkpoints.insert(prefix);
    const std::int64_t step = step_of_checkpoint(prefix).value_or(-1);
    auto& best = newest[std::string(trainhook::detail::without_step(prefix))];
    if (best.second.empty() || step > best.first) best = {step, prefix};
  }
  for (const auto& [basename, step_and_prefix] : newest) {
    const BundleReader reader(step_and_prefix.second, {.file_system = &disk});
    auto& tensors = record.newest[step_and_prefix.second];
    for (const auto& [name, entry] : reader.entries()) tensors[name] = reader.get_tensor(name);
  }
  for (const std::string& directory : directories) {
    for (const std::string& path : list_event_files(disk, directory)) {
      for (const Event& event : read_events(disk, path).events) add_summaries(record, event, ignored);
    }
  }
  return record;
}

/// Describes a difference in the tensors of one checkpoint, or returns nothing. Names variables before the state of
/// hooks, which often follows from them.
inline std::optional<std::string> difference(const std::string& prefix, const std::map<std::string, Tensor>& wanted,
                                             const std::map<std::string, Tensor>& mine) {
  for (const auto& [name, tensor] : mine) {
    if (!wanted.contains(name)) return fmt::format("checkpoint {} has '{}' too", prefix, name);
  }
  std::vector<std::string> others;
  for (const auto& [name, tensor] : wanted) {
    const auto found = mine.find(name);
    if (found == mine.end()) return fmt::format("checkpoint {} has no '{}'", prefix, name);
    if (tensor != found->second) others.push_back(name);
  }
  if (others.empty()) return std::nullopt;
  std::stable_partition(others.begin(), others.end(), [](const std::string& name) { return !name.starts_with('_'); });
  std::string rest;
  for (const std::string& name : std::span(others).subspan(1)) rest += fmt::format(", and so does '{}'", name);
  return fmt::format("'{}' in {} differs: {} instead of {}{}", others[0], prefix, mine.at(others[0]),
                     wanted.at(others[0]), rest);
}

/// How `mine` differs from `wanted`, or nothing.
inline std::optional<std::string> difference(const RunRecord& wanted, const RunRecord& mine) {
  for (const auto& [prefix, tensors] : wanted.newest) {
    const auto found = mine.newest.find(prefix);
    if (found == mine.newest.end()) return fmt::format("checkpoint {} is not the newest, or is missing", prefix);
    if (auto text = difference(prefix, tensors, found->second)) return text;
  }
  for (const std::string& prefix : wanted.checkpoints) {
    if (!mine.checkpoints.contains(prefix)) return fmt::format("checkpoint {} is missing", prefix);
  }
  for (const std::string& prefix : mine.checkpoints) {
    if (!wanted.checkpoints.contains(prefix)) return fmt::format("checkpoint {} is left over", prefix);
  }
  for (const auto& [key, value] : mine.summaries) {
    const auto found = wanted.summaries.find(key);
    if (found == wanted.summaries.end())
      return fmt::format("summary '{}' of step {} is one too many", key.first, key.second);
    if (!(found->second == value)) return fmt::format("summary '{}' of step {} is another", key.first, key.second);
  }
  return std::nullopt;
}

inline std::string_view interruption_name(Interruption interruption) noexcept {
  switch (interruption) {
    case Interruption::Kill: return "killed";
    case Interruption::PowerLoss: return "without power";
    case Interruption::Error: return "with one error";
    default: return "with errors from then on";
  }
}

/// One run that is interrupted at call `at`, and started again.
class AuditedRun {
 public:
  AuditedRun(const std::function<void(FileSystem&)>& train, const ResumeAuditOptions& options)
      : train_(train), options_(options) {}

  /// Describes how its results differ from `wanted`, or returns nothing. `random` decides what a power loss leaves.
  [[nodiscard]] std::optional<std::string> difference_from(const RunRecord& wanted, Interruption interruption,
                                                           std::uint64_t at, std::mt19937_64& random) {
    FaultyFileSystem faulty(disk_);
    faulty.set_short_appends(true);
    if (interruption == Interruption::Error) {
      faulty.fail_at(at, options_.error);
    } else {
      faulty.fail_from(at, interruption == Interruption::ErrorForGood ? options_.error : ErrorCode::Internal);
    }
    try {
      train_(faulty);
    } catch (...) {  // an interruption throws
    }
    call_ = faulty.count() < at ? "after its end" : faulty.trace()[static_cast<std::size_t>(at - 1)];
    if (interruption == Interruption::PowerLoss)
      disk_.crash([&](std::size_t count) { return static_cast<std::size_t>(random() % count); });
    try {
      train_(disk_);
      return difference(wanted, run_record(disk_, options_.ignored_tags));
    } catch (...) { return fmt::format("it does not go on: {}", describe(std::current_exception())); }
  }

  /// The call at which it was interrupted.
  [[nodiscard]] const std::string& call() const noexcept { return call_; }

 private:
  const std::function<void(FileSystem&)>& train_;
  const ResumeAuditOptions& options_;
  MemoryFileSystem disk_;
  std::string call_;
};

}  // namespace detail

ResumeAudit audit_resume(const std::function<void(FileSystem& disk)>& train, const ResumeAuditOptions& options) {
  if (options.every == 0) throw InvalidArgumentError("audit_resume: every is 0; it must be at least 1");
  if (std::ranges::find(options.at, 0U) != options.at.end())
    throw InvalidArgumentError("audit_resume: at has a 0; file calls are counted from 1");
  MemoryFileSystem disk;
  FaultyFileSystem counted(disk);
  train(counted);
  const detail::RunRecord wanted = detail::run_record(disk, options.ignored_tags);

  constexpr std::size_t kMostDifferences = 10;
  ResumeAudit audit{.file_calls = counted.count()};
  std::vector<std::uint64_t> calls = options.at;
  for (std::uint64_t at = 1; options.at.empty() && at <= audit.file_calls; at += options.every) calls.push_back(at);
  std::mt19937_64 random(options.seed);
  for (const Interruption interruption : options.interruptions) {
    const std::uint64_t times = interruption == Interruption::PowerLoss ? options.power_losses : 1;
    for (const std::uint64_t at : calls) {
      for (std::uint64_t i = 0; i < times; ++i) {
        detail::AuditedRun run(train, options);
        const auto difference = run.difference_from(wanted, interruption, at, random);
        ++audit.interruptions;
        if (!difference || audit.differences.size() == kMostDifferences) continue;
        audit.differences.push_back(fmt::format("{} at file call {} ({}): {}", detail::interruption_name(interruption),
                                                at, run.call(), *difference));
      }
    }
  }
  return audit;
}

}  // namespace trainhook::testing
