// SPDX-License-Identifier: Apache-2.0
/// @file
/// RestorePolicy: how a session is restored from a checkpoint that need not fit it.
#pragma once

#include <string>

#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class Saver;

/// What `RestoreRules` become, so that programs without them contain none of their code.
class RestorePolicy {
 public:
  RestorePolicy() = default;
  RestorePolicy(const RestorePolicy&) = delete;
  RestorePolicy& operator=(const RestorePolicy&) = delete;
  TRAINHOOK_DECL virtual ~RestorePolicy();

  /// A checkpoint to begin with if the model has none of its own; empty: the policy is for those of its own.
  [[nodiscard]] virtual const CheckpointSource& from() const noexcept = 0;

  /// The rules in one line, which is the same for the same rules.
  [[nodiscard]] virtual std::string text() const = 0;

  /// Restores all that `saver` saves of the session. Calls `initialize` first if not all of it is in the checkpoint.
  /// What was not plain is noted in `run.pbtxt` of `directory`, if that is not empty.
  virtual void restore(SessionRef session, const Saver& saver, const CheckpointSource& checkpoint,
                       const std::string& directory, FunctionRef<void()> initialize) const = 0;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/restore_policy.ipp>
#endif
