// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecordingListener: records the calls of a saver hook and misbehaves on request.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/testing/recording_hook.hpp>

namespace trainhook::testing {

/// Each callback adds a line to the trace, which other listeners and hooks may share: `a.begin`, `a.before_save 4`,
/// `a.after_save 4`, `a.save_failed 4: DataLoss` (the code, which unlike the message is always the same), `a.end 4`.
/// Then it calls the entry of `act` for that line without name and code, for example to throw or to look at the disk.
class RecordingListener final : public CheckpointSaverListener {
 public:
  TRAINHOOK_DECL explicit RecordingListener(std::shared_ptr<Trace> trace, std::string name = "listener");

  std::map<std::string, std::function<void()>> act;
  std::optional<std::int64_t> stop_after;  ///< requests a stop after the save of this step

  TRAINHOOK_DECL void begin() override;
  TRAINHOOK_DECL void before_save(SessionRef, std::int64_t global_step) override;
  TRAINHOOK_DECL bool after_save(SessionRef, std::int64_t global_step) override;
  TRAINHOOK_DECL void save_failed(SessionRef, std::int64_t global_step, const std::exception_ptr& error) override;
  TRAINHOOK_DECL void end(SessionRef, std::int64_t global_step) override;

 private:
  TRAINHOOK_DECL static std::string code_name(const std::exception_ptr& error);
  TRAINHOOK_DECL void record(const std::string& callback, const std::string& detail = {});

  std::shared_ptr<Trace> trace_;
  std::string name_;
};

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/recording_listener.ipp>
#endif
