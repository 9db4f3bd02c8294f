// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/row_logger_hook.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/finite.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/metric_watch.hpp>
#include <trainhook/hooks/text/row_file.hpp>
#include <trainhook/hooks/text/single_values.hpp>
#include <trainhook/hooks/text/tensor_text.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

/// A field, in quotes if it needs them.
inline std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted += '"';
}

inline std::string csv_line(std::string line, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) (line += ',') += field;
  return line += '\n';
}

inline constexpr RowFormat kCsvFormat{
    .hook = "CsvLoggerHook",
    .after_step = ",",
    .has_quotes = true,
    .header =
        [](const std::vector<std::string>& columns) {
          std::vector<std::string> fields;
          for (const std::string& column : columns) fields.push_back(csv_field(column));
          return csv_line("step", fields);
        },
    .line = [](const std::vector<std::string>& /*columns*/, std::int64_t step,
               const std::vector<std::string>& cells) { return csv_line(fmt::format("{}", step), cells); },
    .text = csv_field,
    .non_finite = [](double value) { return std::string(non_finite_text(value)); }};

inline constexpr std::string_view kJsonStart = "{\"step\":";

inline constexpr RowFormat kJsonFormat{
    .hook = "JsonLinesHook",
    .start = kJsonStart,
    .after_step = ",}",
    .line =
        [](const std::vector<std::string>& columns, std::int64_t step, const std::vector<std::string>& cells) {
          std::string line = fmt::format("{}{}", kJsonStart, step);
          for (std::size_t i = 0; i < cells.size(); ++i) {
            if (!cells[i].empty()) line += fmt::format(",{}:{}", json_string(columns[i]), cells[i]);
          }
          return line += "}\n";
        },
    .text = json_string,
    .non_finite =
        [](double value) {
          return std::string(is_nan(value) ? "\"NaN\"" : is_negative(value) ? "\"-Infinity\"" : "\"Infinity\"");
        }};

RowLoggerHook::RowLoggerHook(const RowFormat& format, FetchRefs values, RowLoggerOptions options)
    : format_(&format), refs_(std::move(values)), options_(std::move(options)), columns_(refs_.names()) {
  if (options_.path.empty()) throw InvalidArgumentError("{}: path is empty; give the path of the file", format.hook);
  columns_.insert(columns_.end(), options_.metrics.begin(), options_.metrics.end());
  for (const std::string& column : columns_) expect_utf8(column, fmt::format("{}: the column", format.hook));
  if (columns_.empty()) throw InvalidArgumentError("{}: there is nothing to log; name values or metrics", format.hook);
  std::vector<std::string> sorted = columns_;
  sorted.emplace_back("step");
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    throw InvalidArgumentError("{}: two columns are called '{}'; give one another tag", format.hook, *twice);
  if (refs_.empty() && !options_.every_n_steps && !options_.every_n_secs) return;
  timer_.emplace(*this,
                 SecondOrStepTimer::Options{.every_secs = options_.every_n_secs,
                                            .every_steps = options_.every_n_steps,
                                            .align = options_.every_n_steps.has_value()},
                 format.hook, "every_n_secs", "every_n_steps");
}

RowLoggerHook::RowLoggerHook(RowLoggerHook&& other) noexcept = default;
RowLoggerHook::~RowLoggerHook() = default;

void RowLoggerHook::begin(Graph& graph) {
  global_step_ = require_global_step(graph, format_->hook);
  expect_name_fits(services().file_system(), options_.path + ".99",  // a copy
                   fmt::format("{}: path '{}'", format_->hook, options_.path));
  fetches_ = resolve_single_values(refs_, graph, format_->hook, Takes::NumbersAndTexts);
  if (timer_) timer_->reset();
  file_.reset();
  row_.reset();
  known_.reset();
  restored_ = false;
}

void RowLoggerHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  step_ = read_global_step(session, global_step_);
  seen_.assign(options_.metrics.size(), std::nullopt);
  fetched_ = false;
  if (!std::exchange(restored_, false)) row_.reset();
  if (timer_) {
    timer_->reset_unless_restored();
    if (!timer_->last_triggered_step()) timer_->update_last_triggered_step(step_, services().clock());
  }
  if (file_ != nullptr) remember(file_->written());  // in a session before this one
  file_.reset();
}

void RowLoggerHook::open_file() {
  if (file_ != nullptr) return;
  std::optional<WrittenRows> written;
  if (known_ != nullptr) written = *known_;
  file_ = std::make_unique<RowFile>(services().file_system(), options_.path, columns_, *format_,
                                    row_ ? row_->step - 1 : step_, written);
}

SessionRunArgs RowLoggerHook::before_run(SessionRunContext& context) {
  open_file();
  take_metrics();
  if (row_ && row_->step <= step_) write_row();
  fetched_ = timer_ && timer_->should_trigger_for_step(step_ + 1, context);
  return fetched_ ? SessionRunArgs{.fetches = fetches_} : SessionRunArgs{};
}

void RowLoggerHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  step_ = context.global_step();
  if (fetched_ && timer_->trigger_if_due(step_, context)) {
    Row& row = row_of(step_);
    for (std::size_t i = 0; i < values.results.size(); ++i)
      row.cells[i] = cell_of(values.results[i], columns_[i], *format_);
  }
  take_metrics();
}

void RowLoggerHook::end(SessionRef /*session*/) {
  open_file();
  take_metrics();
  if (row_) write_row();
  if (timer_ && !file_->last_step() && step_ > timer_->last_triggered_step().value_or(step_)) {
    log_warning("{}: {} has no row, since the training ended before the first period did; give a smaller {}",
                format_->hook, options_.path, timer_->uses_seconds() ? "every_n_secs" : "every_n_steps");
  }
  for (const std::string& metric : options_.metrics) warn_if_never_published(format_->hook, metric, services());
  const std::unique_ptr<RowFile> last = std::move(file_);
  last->close();
  remember(last->written());
}

void RowLoggerHook::abort(const std::exception_ptr& /*error*/) noexcept {
  try {
    if (file_ != nullptr && row_) write_row();
  } catch (...) {
    log_error("{}: the last row of {} could not be written: {}", format_->hook, options_.path,
              describe(std::current_exception()));
  }
  file_.reset();
}

std::string RowLoggerHook::name() const {  // without the directory, which may be renamed together with the checkpoints
  return name_of_state(*this, options_.name, {std::string(base_name(options_.path))});
}

StateValues RowLoggerHook::save_state() {
  StateValues state;
  if (file_ != nullptr) {
    take_metrics();
    file_->sync();
    remember(file_->written());
  }
  if (known_ != nullptr) {
    Tensor size_and_crc(DType::Int64, Shape({2}));
    const auto values = size_and_crc.mutable_data<std::int64_t>();
    values[0] = static_cast<std::int64_t>(known_->size);
    values[1] = known_->crc;
    state.set("written", size_and_crc);
  }
  if (!row_) return state;
  const auto texts = [](const std::vector<std::string>& values) {
    Tensor tensor(DType::String, Shape({static_cast<std::int64_t>(values.size())}));
    std::ranges::copy(values, tensor.mutable_data<std::string>().begin());
    return tensor;
  };
  state.set("step", Tensor(row_->step));
  state.set("columns", texts(columns_));
  state.set("cells", texts(row_->cells));
  return state;
}

void RowLoggerHook::load_state(const StateValues& state) {
  if (const Tensor* written = state.find("written"); written != nullptr && written->num_elements() == 2) {
    const auto values = written->data<std::int64_t>();
    remember(WrittenRows{static_cast<std::uint64_t>(values[0]), static_cast<std::uint32_t>(values[1])});
  }
  if (state.find("step") == nullptr) return;
  const auto cells = state.at("cells").data<std::string>();
  const Tensor* columns = state.find("columns");  // an earlier version did not save them
  if (cells.size() != columns_.size() ||
      (columns != nullptr && !std::ranges::equal(columns->data<std::string>(), columns_)))
    return;  // other columns: the file says so
  row_ = Row{.step = state.at("step").scalar<std::int64_t>(), .cells = {cells.begin(), cells.end()}};
  restored_ = true;
}

RowLoggerHook::Row& RowLoggerHook::row_of(std::int64_t step) {
  if (row_ && row_->step != step) write_row();
  if (!row_) row_ = Row{.step = step, .cells = std::vector<std::string>(columns_.size())};
  return *row_;
}

void RowLoggerHook::take_metrics() {
  for (std::size_t i = 0; i < options_.metrics.size(); ++i) {
    const PublishedMetric* metric = services().metric(options_.metrics[i]);
    if (metric == nullptr || metric->step == seen_[i]) continue;
    seen_[i] = metric->step;
    const auto last = row_ ? std::optional(row_->step) : file_->last_step();
    const bool is_late = last && (row_ ? metric->step < *last : metric->step <= *last);
    if (is_late) continue;  // its row is written
    row_of(metric->step).cells[refs_.size() + i] = cell_of(Tensor(metric->value), options_.metrics[i], *format_);
  }
}

void RowLoggerHook::remember(const std::optional<WrittenRows>& written) {
  known_ = written ? std::make_unique<WrittenRows>(*written) : nullptr;
}

void RowLoggerHook::write_row() {
  file_->append(row_->step, format_->line(columns_, row_->step, row_->cells));
  row_.reset();
}

}  // namespace trainhook::detail

namespace trainhook {

CsvLoggerHook::CsvLoggerHook(FetchRefs values, Options options)
    : RowLoggerHook(detail::kCsvFormat, std::move(values), std::move(options)) {}

CsvLoggerHook::~CsvLoggerHook() = default;

JsonLinesHook::JsonLinesHook(FetchRefs values, Options options)
    : RowLoggerHook(detail::kJsonFormat, std::move(values), std::move(options)) {}

JsonLinesHook::~JsonLinesHook() = default;

}  // namespace trainhook
