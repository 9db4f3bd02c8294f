// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/summary_saver_hook.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/events/session_log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook {

SummarySaverHook::SummarySaverHook(SummarySaverHook&& other) noexcept = default;
SummarySaverHook::~SummarySaverHook() = default;

SummarySaverHook::SummarySaverHook(Options options)
    : options_(std::move(options)),
      timer_(*this, {.every_secs = options_.save_secs, .every_steps = options_.save_steps}, "SummarySaverHook",
             "save_secs", "save_steps") {
  if ((options_.scaffold != nullptr) == !options_.summary_op.empty()) {
    throw InvalidArgumentError("SummarySaverHook: exactly one of scaffold and summary_op must be given, not {}",
                               options_.scaffold != nullptr ? "both" : "neither");
  }
}

std::string SummarySaverHook::name() const {
  std::vector<std::string> about = options_.summary_op.names();
  if (about.empty()) about.emplace_back("scaffold");
  return detail::name_of_state(*this, options_.name, about);
}

std::string SummarySaverHook::writes_to() const {
  return options_.summary_writer != nullptr ? options_.summary_writer->get_logdir() : options_.output_dir;
}

void SummarySaverHook::begin(Graph& graph) {
  global_step_ = detail::require_global_step(graph, "SummarySaverHook");
  summaries_ = options_.summary_op.resolve_outputs(graph, "SummarySaverHook");
  for (const Fetch& fetch : summaries_) {
    const DType dtype = fetch.node().outputs()[static_cast<std::size_t>(fetch.index())].dtype;
    if (dtype == DType::String) continue;
    throw InvalidArgumentError(
        "SummarySaverHook: summary_op '{}' is {}, but a summary is a string tensor such as summary::scalar() gives",
        fetch.node().name(), dtype);
  }
  writer_ = options_.summary_writer.get();
  if (writer_ != nullptr) {
    writer_->check_name();
  } else if (!options_.output_dir.empty()) {
    writer_ = &services().writers().at(options_.output_dir);
  }
  timer_.reset();
  next_step_.reset();
  start_step_.reset();
}

void SummarySaverHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  if (options_.scaffold != nullptr) {
    const Output merged = options_.scaffold->summary_op();
    summaries_ = merged.has_value() ? FetchList(merged) : FetchList();
  }
  timer_.reset_unless_restored();
  start_step_ = next_step_ = read_global_step(session, global_step_) + 1;
}

SessionRunArgs SummarySaverHook::before_run(SessionRunContext& context) {
  if (writer_ == nullptr) return {};
  due_ = !summaries_.empty() && (!next_step_ || timer_.should_trigger_for_step(*next_step_, context));
  if (!due_) return {};
  return {.fetches = summaries_};
}

void SummarySaverHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  if (writer_ == nullptr) return;
  const std::int64_t step = context.global_step();
  next_step_ = step + 1;
  const bool writes = std::exchange(due_, false) && timer_.last_triggered_step() != step;
  if (const auto start = std::exchange(start_step_, std::nullopt)) {
    // An evaluation does not advance the step: what it writes again is dropped, too.
    writer_->add_session_log({.status = SessionLog::Start}, writes ? (std::min)(*start, step) : *start);
  }
  if (!writes) return;
  timer_.update_last_triggered_step(step, context);
  for (const Tensor& summary : values.results) {
    for (const std::string& bytes : summary.data<std::string>()) writer_->add_summary(bytes, step);
  }
}

void SummarySaverHook::on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& /*error*/) {
  due_ = false;
}

void SummarySaverHook::end(SessionRef /*session*/) {
  if (writer_ != nullptr) writer_->flush();
}

}  // namespace trainhook
