// SPDX-License-Identifier: Apache-2.0
/// @file
/// HParamsHook: writes the hyperparameters of a run for TensorBoard's HPARAMS tab.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// A hyperparameter: a number, a bool or a text.
struct HParam {
  template <class T>
    requires std::is_arithmetic_v<T> && (!std::same_as<T, bool>)
  HParam(std::string_view key, T number) : name(key), value(static_cast<double>(number)) {}
  HParam(std::string_view key, bool truth) : name(key), value(truth) {}
  HParam(std::string_view key, const char* text) : name(key), value(std::string(text)) {}
  HParam(std::string_view key, std::string_view text) : name(key), value(std::string(text)) {}
  HParam(std::string_view key, const std::string& text) : name(key), value(text) {}

  std::string name;
  std::variant<double, bool, std::string> value;
};

/// Writes the hyperparameters of a run to its event files when it starts, and its success when it ends without an
/// error. TensorBoard's HPARAMS tab then shows a row for each run, that is for each directory of event files, with its
/// hyperparameters and the last values of its scalars. Give each run its own directory below TensorBoard's logdir.
/// After an error no end is written, because the run can be started again. Source:
/// `tensorboard.plugins.hparams.api.KerasCallback`.
///
///     th::HParamsHook({.hparams = {{"learning_rate", 0.1}, {"optimizer", "adam"}}, .output_dir = "runs/7"})
class HParamsHook final : public SessionRunHook {
 public:
  struct Options {
    std::vector<HParam> hparams{};
    std::string output_dir{};  ///< the directory of the run's event files
    std::string group{};       ///< runs of one group, such as repetitions, share a row; empty: a row for this run
  };

  /// @throws InvalidArgumentError if there is no hyperparameter, one has no name, two have the same name, or no
  /// directory is given.
  TRAINHOOK_DECL explicit HParamsHook(Options options);
  TRAINHOOK_DECL HParamsHook(HParamsHook&& other) noexcept;
  TRAINHOOK_DECL ~HParamsHook() override;

  [[nodiscard]] std::string writes_to() const override { return options_.output_dir; }
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void end(SessionRef session) override;

 private:
  TRAINHOOK_DECL void write(std::string_view tag, std::string_view content, std::int64_t step) const;

  Options options_;
  Variable global_step_;
  bool written_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/hparams_hook.ipp>
#endif
