// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/watch/throughput_hook.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

std::optional<double> resident_bytes() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "re"), &std::fclose);
  if (file == nullptr) return std::nullopt;
  std::array<char, 128> text{};  // pages: of the program, of those in RAM, ...
  const char* const end = text.data() + std::fread(text.data(), 1, text.size(), file.get());
  const char* const second = std::find(static_cast<const char*>(text.data()), end, ' ');
  std::uint64_t pages = 0;
  if (second == end || std::from_chars(second + 1, end, pages).ec != std::errc()) return std::nullopt;
  return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

inline void check_count(std::string_view what, double per_step, bool has_function) {
  if (!(per_step >= 0))
    throw InvalidArgumentError("ThroughputHook: {}_per_step is {}; it must not be negative", what, per_step);
  if (per_step > 0 && has_function)
    throw InvalidArgumentError("ThroughputHook: {0}_per_step and total_{0} are both given; give one of them", what);
}

}  // namespace trainhook::detail

namespace trainhook {

ThroughputHook::ThroughputHook(Options options)
    : options_(std::move(options)),
      timer_({.every_secs = options_.every_n_secs,
              .every_steps = options_.every_n_secs || options_.every_n_steps ? options_.every_n_steps : 100},
             "ThroughputHook", "every_n_secs", "every_n_steps") {
  detail::check_count("samples", options_.samples_per_step, options_.total_samples != nullptr);
  detail::check_count("tokens", options_.tokens_per_step, options_.total_tokens != nullptr);
  if (options_.last_step.value_or(0) < 0)
    throw InvalidArgumentError("ThroughputHook: last_step is {}; it must not be negative", *options_.last_step);
}

void ThroughputHook::begin(Graph& graph) {
  static_cast<void>(detail::require_global_step(graph, "ThroughputHook"));
  auto& services = detail::SessionServices::of(this->services());
  for (const char* name : {"throughput", "time", "memory"}) services.claim_metrics(*this, "ThroughputHook", name);
  const std::string& directory = options_.output_dir.empty() ? services.checkpoint_dir() : options_.output_dir;
  writer_ = directory.empty() || !services.peers().is_chief() ? nullptr : &services.writers().at(directory);
}

void ThroughputHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  timer_.reset();
  const Variable step = detail::require_global_step(session.graph(), "ThroughputHook");
  static_cast<void>(
      timer_.update_last_triggered_step(read_global_step(session, step), services().clock().monotonic_now()));
  last_ = counts();
}

void ThroughputHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  const std::int64_t step = context.global_step();
  if (!timer_.should_trigger_for_step(step, context)) return;
  if (const auto elapsed = timer_.update_last_triggered_step(step, context.now())) report(step, *elapsed);
}

ThroughputHook::Counts ThroughputHook::counts() const {
  return {.samples = options_.total_samples ? options_.total_samples() : 0,
          .tokens = options_.total_tokens ? options_.total_tokens() : 0,
          .waited = options_.input_wait != nullptr ? options_.input_wait->total() : Duration()};
}

void ThroughputHook::report(std::int64_t step, const SecondOrStepTimer::Elapsed& elapsed) {
  const Counts now = counts();
  const Counts before = std::exchange(last_, now);
  const double seconds = std::chrono::duration<double>(elapsed.time).count();
  if (seconds <= 0 || elapsed.steps <= 0) return;
  std::string line;
  const auto add = [&](const char* tag, double value, const std::string& text) {
    services().publish(tag, {.step = step, .value = value, .is_kept = false});
    if (writer_ != nullptr) writer_->add_scalar(tag, value, step);
    line += (line.empty() ? "" : ", ") + text;
  };
  const auto steps = static_cast<double>(elapsed.steps);
  const double rate = steps / seconds;
  add("throughput/batches_per_sec", rate, fmt::format("{:.4g} batches/s", rate));
  const auto add_rate = [&](const char* tag, const char* what, double per_step, double counted) {
    const double value = (per_step > 0 ? per_step * steps : counted) / seconds;
    add(tag, value, fmt::format("{:.4g} {}/s", value, what));
  };
  if (options_.samples_per_step > 0 || options_.total_samples)
    add_rate("throughput/samples_per_sec", "samples", options_.samples_per_step, now.samples - before.samples);
  if (options_.tokens_per_step > 0 || options_.total_tokens)
    add_rate("throughput/tokens_per_sec", "tokens", options_.tokens_per_step, now.tokens - before.tokens);
  if (options_.input_wait != nullptr) {
    const double share = (std::min)(1.0, std::chrono::duration<double>(now.waited - before.waited).count() / seconds);
    add("time/input_wait_share", share, fmt::format("{:.0f} % of the time waiting for input", 100 * share));
  }
  if (options_.last_step && step < *options_.last_step) {
    const double left = static_cast<double>(*options_.last_step - step) / rate;
    add("time/remaining_estimate", left,
        fmt::format("{} left", duration_text(Duration(std::chrono::duration<double>(left)))));
  }
  if (const std::optional<double> bytes = detail::resident_bytes())
    add("memory/resident_bytes", *bytes, fmt::format("{:.1f} MiB of memory", *bytes / 0x1p20));
  if (options_.log) log_info("step {}: {}.", step, line);
}

}  // namespace trainhook
