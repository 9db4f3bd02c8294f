// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/watch/time_limit_hook.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

/// A number that is all of the text.
inline std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

inline std::string_view environment(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the library does not change the environment
  const char* const value = std::getenv(name);
  return value != nullptr ? std::string_view(value) : std::string_view();
}

/// Local time, such as `2026-11-30T18:49:47`, in seconds since the Unix epoch; nothing for `N/A` and the like.
inline std::optional<std::int64_t> seconds_at(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (text.size() != kForm.size()) return std::nullopt;
  std::array<int, 6> parts{};
  std::size_t part = 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == 'd') {
      if (text[i] < '0' || text[i] > '9') return std::nullopt;
      parts[part] = parts[part] * 10 + (text[i] - '0');
    } else {
      if (text[i] != kForm[i]) return std::nullopt;
      ++part;
    }
  }
  std::tm local{};
  local.tm_year = parts[0] - 1900;
  local.tm_mon = parts[1] - 1;
  local.tm_mday = parts[2];
  local.tm_hour = parts[3];
  local.tm_min = parts[4];
  local.tm_sec = parts[5];
  local.tm_isdst = -1;
  const std::time_t seconds = std::mktime(&local);
  return seconds < 0 ? std::nullopt : std::optional<std::int64_t>(seconds);
}

/// The job, or the task of an array of jobs, as `squeue` calls it; empty outside a job of Slurm.
inline std::string slurm_job() {
  const auto array = whole_number(environment("SLURM_ARRAY_JOB_ID"));
  const auto task = whole_number(environment("SLURM_ARRAY_TASK_ID"));
  if (array && task) return fmt::format("{}_{}", *array, *task);
  const auto job = whole_number(environment("SLURM_JOB_ID"));
  return job ? fmt::format("{}", *job) : "";
}

/// The end of the job, as `squeue` knows it now; nothing if it does not say.
inline std::optional<std::int64_t> end_by_squeue(const std::string& job) {
  const std::string command = fmt::format("SLURM_TIME_FORMAT=standard timeout 10 squeue -h -j {} -o %e 2>/dev/null",
                                          job);  // it waits for a busy server
  // NOLINTNEXTLINE(cert-env33-c): the command is ours, and the job's name has digits only
  std::FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return std::nullopt;
  std::array<char, 64> line{};
  const std::size_t length = std::fread(line.data(), 1, line.size(), output);
  pclose(output);
  const std::string_view text(line.data(), length);
  return seconds_at(text.substr(0, text.find_first_of(" \r\n")));
}

}  // namespace trainhook::detail

namespace trainhook {

TimeLimitHook::TimeLimitHook(Options options) : options_(std::move(options)) {
  if (options_.max_time && options_.time_left)
    throw InvalidArgumentError("TimeLimitHook: max_time and time_left are both given; give one of them");
  if (options_.max_time && *options_.max_time <= Duration::zero())
    throw InvalidArgumentError("TimeLimitHook: max_time is {}; it must be above 0", duration_text(*options_.max_time));
  if (options_.margin && *options_.margin < Duration::zero())
    throw InvalidArgumentError("TimeLimitHook: margin is {}; it must not be negative", duration_text(*options_.margin));
}

void TimeLimitHook::begin(Graph& /*graph*/) {
  decides_ = services().peers().is_chief();
  ends_at_.reset();
  asked_slurm_.reset();
  margin_ = options_.margin;
  longest_step_ = {};
  has_asked_for_save_ = false;
  if (!decides_) return;
  const Duration now = services().clock().monotonic_now();
  if (options_.max_time) set_limit(now, *options_.max_time);
  look_at_limit(now);
  if (ends_at_) {
    log_info("TimeLimitHook: {} are left.", duration_text(*ends_at_ - now));
  } else if (!options_.time_left && detail::slurm_job().empty()) {
    log_info("TimeLimitHook: there is no limit, since this is no job of Slurm.");
    decides_ = false;
  } else if (!options_.time_left) {
    log_warning("TimeLimitHook: Slurm does not say when the job ends; it is asked again every ten minutes.");
  }
}

void TimeLimitHook::after_create_session(SessionRef /*session*/, Coordinator& /*coordinator*/) {
  if (decides_) last_boundary_ = services().clock().monotonic_now();
}

void TimeLimitHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  if (!decides_) return;
  Duration now = context.now();  // another hook may have asked for it early in this run
  longest_step_ = (std::max)(longest_step_, Duration(now - last_boundary_));
  last_boundary_ = now;
  look_at_limit(now);
  if (!ends_at_) return;
  const Duration save = services().longest_save();
  if (save == Duration::zero() && !std::exchange(has_asked_for_save_, true)) services().request_save();
  const Duration needed(longest_step_ + 2 * save + margin_.value_or(Duration()));
  if (now + 2 * longest_step_ + needed < *ends_at_) return;
  now = services().clock().monotonic_now();
  if (now + needed < *ends_at_) return;
  log_info(
      "TimeLimitHook: training stops after step {}: {} are left, and {} are kept free for the next step, the last "
      "save and what follows.",
      context.global_step(), duration_text((std::max)(Duration(*ends_at_ - now), Duration())), duration_text(needed));
  context.interrupt(kTimeLimit);
}

void TimeLimitHook::look_at_limit(Duration now) {
  if (options_.max_time) return;
  if (!options_.time_left) return ask_slurm(now);
  if (const std::optional<Duration> left = options_.time_left()) {
    set_limit(now, *left);
  } else {
    ends_at_.reset();
  }
}

void TimeLimitHook::set_limit(Duration now, Duration left) {
  using namespace std::chrono_literals;
  ends_at_ = Duration(now + left);
  if (!margin_) margin_ = std::clamp<Duration>(Duration(left / 100), Duration(), 10s);
}

void TimeLimitHook::ask_slurm(Duration now) {
  using namespace std::chrono_literals;
  if (asked_slurm_ && now - *asked_slurm_ < 10min) return;
  asked_slurm_ = now;
  std::optional<std::int64_t> end;
  if (const std::string job = detail::slurm_job(); !job.empty()) end = detail::end_by_squeue(job);
  if (!end && !ends_at_) end = detail::whole_number(detail::environment("SLURM_JOB_END_TIME"));
  if (!end) return;
  const std::chrono::duration<double> left(static_cast<double>(*end) - services().clock().wall_seconds());
  set_limit(now, Duration(left));
}

}  // namespace trainhook
