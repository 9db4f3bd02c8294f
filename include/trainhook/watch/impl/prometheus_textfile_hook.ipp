// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/watch/prometheus_textfile_hook.hpp>

#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/finite.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/watch/throughput_hook.hpp>

namespace trainhook::detail {

/// The value of a label, in quotes.
inline std::string label_text(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

inline std::string sample_text(double value) {
  if (is_finite(value)) return fmt::format("{}", value);
  return is_nan(value) ? "NaN" : is_negative(value) ? "-Inf" : "+Inf";
}

}  // namespace trainhook::detail

namespace trainhook {

PrometheusTextfileHook::PrometheusTextfileHook(std::string path, Options options)
    : path_(std::move(path)),
      options_(std::move(options)),
      timer_({.every_secs = options_.every_secs}, "PrometheusTextfileHook") {
  if (!path_.ends_with(".prom") || base_name(path_) == ".prom")
    throw InvalidArgumentError(
        "PrometheusTextfileHook: path is '{}'; the textfile collector reads files that end in .prom", path_);
}

void PrometheusTextfileHook::begin(Graph& graph) {
  static_cast<void>(detail::require_global_step(graph, "PrometheusTextfileHook"));
  writes_ = services().peers().is_chief();
  run_ = options_.run.empty() ? services().checkpoint_dir() : options_.run;
  saves_ = 0;
  saved_at_ = 0;
}

void PrometheusTextfileHook::after_create_session(SessionRef /*session*/, Coordinator& /*coordinator*/) {
  timer_.reset();
  look_at_saves();
}

void PrometheusTextfileHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  if (!writes_) return;
  look_at_saves();
  const std::int64_t step = context.global_step();
  if (timer_.trigger_if_due(step, context)) write(step);
}

void PrometheusTextfileHook::look_at_saves() {
  if (const std::uint64_t saves = services().num_saves(); std::exchange(saves_, saves) != saves)
    saved_at_ = services().clock().wall_seconds();
}

void PrometheusTextfileHook::end(SessionRef /*session*/) {
  if (!writes_) return;
  try {
    if (services().file_system().exists(path_)) services().file_system().remove_file(path_);
  } catch (const Error& error) { log_warning("PrometheusTextfileHook: {} could not be removed: {}", path_, error); }
}

std::string PrometheusTextfileHook::text(std::int64_t step, double now) const {
  std::string all;
  const std::string run = "run=" + detail::label_text(run_);
  const auto head = [&](std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(all), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  };
  const auto add = [&](std::string_view name, std::string_view type, std::string_view help, double value) {
    head(name, type, help);
    fmt::format_to(std::back_inserter(all), "{}{{{}}} {}\n", name, run, detail::sample_text(value));
  };
  add("trainhook_steps_total", "counter", "Steps that the model was trained.", static_cast<double>(step));
  add("trainhook_last_step_timestamp_seconds", "gauge", "When the last step ended, since the Unix epoch.", now);
  if (saved_at_ > 0)
    add("trainhook_last_checkpoint_timestamp_seconds", "gauge", "When the run saved last, since the Unix epoch.",
        saved_at_);
  if (const std::optional<double> bytes = detail::resident_bytes())
    add("trainhook_resident_memory_bytes", "gauge", "Memory of the process that is in RAM.", *bytes);
  bool has_head = false;
  for (const std::string& name : options_.metrics) {
    const PublishedMetric* const metric = services().metric(name);
    if (metric == nullptr) continue;
    if (!std::exchange(has_head, true)) head("trainhook_metric", "gauge", "What a hook of the run measured last.");
    fmt::format_to(std::back_inserter(all), "trainhook_metric{{name={},{}}} {}\n", detail::label_text(name), run,
                   detail::sample_text(metric->value));
  }
  return all;
}

void PrometheusTextfileHook::write(std::int64_t step) {
  FileSystem& disk = services().file_system();
  const std::string beside = path_ + detail::temporary_suffix();
  try {
    disk.make_directories(std::string(parent_path(path_)));
    const std::unique_ptr<WritableFile> file = disk.create_writable(beside, WriteMode::Public);
    file->append(text(step, services().clock().wall_seconds()));
    file->close();
    disk.rename(beside, path_);  // not synced: after a stop of the machine it is of no use
  } catch (const Error& error) {
    detail::remove_silently(disk, beside);
    log_warning("PrometheusTextfileHook: {} could not be written: {}", path_, error);
  }
}

}  // namespace trainhook
