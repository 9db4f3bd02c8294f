// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProgressHook: shows the progress, speed and remaining time of training. ProgressLine: the line on the terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/fetch_refs.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

namespace detail {

/// Receives text for output, with newlines and control characters. Must not throw.
using ProgressSink = std::function<void(std::string_view text)>;

/// On a terminal each text replaces the previous one, and the cursor stays at the start of the line, so that other
/// output overwrites it. At the end the cursor is on an empty line.
class ProgressLine {
 public:
  TRAINHOOK_DECL ProgressLine(ProgressSink sink, bool on_terminal, std::size_t width);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  TRAINHOOK_DECL ~ProgressLine();

  TRAINHOOK_DECL void show(std::string text);

  /// Writes the last text, not truncated, with a newline.
  TRAINHOOK_DECL void finish(std::string text);

 private:
  ProgressSink sink_;
  bool on_terminal_;
  std::size_t width_;
  bool is_open_ = false;  // the cursor's line has text
};

}  // namespace detail

/// Shows `step 400/3000 (13 %), 812 steps/s, 3.2 s left, loss = 0.43`: on a terminal as one line that is overwritten,
/// in a file as plain lines. The last line says why training ended. Tensors are fetched only in runs that are shown and
/// in the one that reaches `last_step`.
class ProgressHook final : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> last_step{};       ///< when training ends; none: shows no percentage or remaining time
    FetchRefs tensors{};                           ///< shown with their tags, for example `{{"loss", loss}}`
    std::vector<std::string> metrics{};            ///< shown, too: published ones, such as `eval/loss`
    OptionalDuration every_secs{};                 ///< default: 0.2 s on a terminal, 10 s in a file
    std::FILE* file = nullptr;                     ///< default: standard error
    std::function<void(std::string_view)> sink{};  ///< instead of a file: receives text with newlines; must not throw
    std::optional<bool> on_terminal{};             ///< default: true if the file is a terminal
    std::size_t width = 100;                       ///< columns of the terminal
  };

  TRAINHOOK_DECL explicit ProgressHook(detail::NoOptions = {});
  /// @throws InvalidArgumentError if a period or the width is not positive, if `last_step` is negative, or if both a
  /// file and a sink are given.
  TRAINHOOK_DECL explicit ProgressHook(Options options);
  TRAINHOOK_DECL ProgressHook(ProgressHook&& other) noexcept;
  TRAINHOOK_DECL ~ProgressHook() override;

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& /*coordinator*/) override;
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& error) override;
  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;

 private:
  [[nodiscard]] TRAINHOOK_DECL std::FILE* file() const noexcept;

  // Updates the rate since the last line, smoothed, so that the remaining time does not jump.
  TRAINHOOK_DECL void measure(Duration now);

  [[nodiscard]] TRAINHOOK_DECL std::string position_text() const;
  [[nodiscard]] TRAINHOOK_DECL static std::string rate_text(double rate);
  [[nodiscard]] TRAINHOOK_DECL std::string time_left() const;
  TRAINHOOK_DECL void finish(const std::string& reason);

  Options options_;
  bool on_terminal_;
  SecondOrStepTimer timer_;
  Variable global_step_;
  FetchList fetches_;
  std::unique_ptr<detail::ProgressLine> line_;
  std::int64_t runs_ = 0;
  std::int64_t first_step_ = 0;  // of this session
  std::int64_t step_ = 0;
  std::int64_t shown_step_ = 0;  // of the last line
  bool due_ = false;
  std::optional<Duration> started_;
  std::optional<Duration> last_time_;
  std::optional<double> rate_;
  std::string values_;
  std::int64_t values_step_ = 0;  // of the values
  std::string reason_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/progress_hook.ipp>
#endif
