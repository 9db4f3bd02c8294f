// SPDX-License-Identifier: Apache-2.0
/// @file
/// RestoreRules: what a restore may do where a checkpoint and the model differ.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/checkpoint/restore_policy.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook {

/// What becomes of a variable or other state that the session registered and the checkpoint lacks.
enum class Missing {
  Fail,         ///< NotFoundError, which names what is like it
  KeepInitial,  ///< it keeps its initial value
};

/// The option `restore` of `monitored_training_session`. Without rules each difference is an error, with them each that
/// no rule is about. One log line says how many names were restored, kept their initial values, and are left over in
/// the checkpoint; `run.pbtxt` has all differences.
///
/// Rules without `from` apply at each start and each recovery. A program may keep them: in a checkpoint that has all of
/// the model's names, a name that was renamed before stays. But a rule that exchanges two names does so each time, and
/// one that leaves out a name begins with its initial value each time.
///
///     .restore = th::RestoreRules{.from = "pretrained/model.ckpt-9", .rename = {{"encoder/", "net/encoder/"}},
///                                 .missing = th::Missing::KeepInitial, .cast = true}
struct RestoreRules {
  /// A checkpoint, a directory of them or a SavedModel, read if `checkpoint_dir` has no checkpoint; later sessions
  /// resume from their own, without the rules. Its step counts, too, if it has one: `{"global_step", ""}` in `rename`
  /// begins at 0. It need not have the step and what is no variable, such as generators; without any variable of the
  /// model it is an error. Empty: the rules are for the checkpoints in `checkpoint_dir`.
  CheckpointSource from{};

  /// Pairs of a beginning of names in the checkpoint and what replaces it; the first pair that fits counts. A beginning
  /// ends at a '/' or '.' of the name, or with it: `net/fc1` is not that of `net/fc10.weight`. The state of optimizers
  /// follows its variables: names that hold `net/fc1` or `fc1` inside, such as `adam/fc1.weight/exp_avg`, are renamed,
  /// too, if the model lacks them and has the new ones. What a hook keeps of a variable, such as its moving average,
  /// follows it and is reshaped with it; a hook's own name needs a pair of its own, from `_trainhook/hooks/` on. A pair
  /// `{"net/head", ""}` leaves out the variable, with all that is below it.
  std::vector<std::pair<std::string, std::string>> rename{};

  Missing missing = Missing::Fail;

  /// Numbers of another dtype are converted. It is an error if one of them has no place in the model's dtype.
  bool cast = false;

  /// The value of a variable whose shape in the checkpoint is another one, such as an embedding that has grown: a
  /// tensor in the model's shape, made of what was saved (in the model's dtype) and of the initial value. Empty: an
  /// error. It is called for a graph's optimizer slots, too. It is not called for what `libtorch::add_optimizer` keeps
  /// of a layer that has grown: that is an error until `rename` leaves it out, `{"adam/fc2", ""}`, and then begins
  /// anew.
  std::function<Tensor(const std::string& name, const Tensor& saved, const Tensor& initial)> reshape{};

  [[nodiscard]] TRAINHOOK_DECL operator std::shared_ptr<const RestorePolicy>() const;  // NOLINT(*-explicit-*)
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/restore_rules.ipp>
#endif
