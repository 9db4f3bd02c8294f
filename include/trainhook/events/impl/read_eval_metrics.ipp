// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/read_eval_metrics.hpp>

#include <trainhook/core/log.hpp>
#include <trainhook/events/event_reader.hpp>

namespace trainhook {

EvalHistory read_eval_metrics(FileSystem& file_system, const std::string& eval_dir) {
  EvalHistory history;
  for (const std::string& path : list_event_files(file_system, eval_dir)) {
    const EventFileContents contents = read_events(file_system, path);
    for (const std::string& problem : contents.problems) log_warning("{}", problem);
    for (const Event& event : contents.events) {
      if (event.session_log && event.session_log->status == SessionLog::Start)
        history.erase(history.lower_bound(event.step), history.end());
      for (const SummaryValue& value : event.values)
        if (value.scalar) history[event.step].insert_or_assign(value.tag, *value.scalar);
    }
  }
  return history;
}

}  // namespace trainhook
