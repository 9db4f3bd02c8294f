// SPDX-License-Identifier: Apache-2.0
/// @file
/// init_from_checkpoint: initializes variables from another model's checkpoint.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

/// Pairs of a tensor in a checkpoint and the variables of the graph to initialize with it:
///
///     {"old/weights", "new/weights"}   a variable, or a partitioned one by the name of the whole
///     {"old_scope/", "new_scope/"}     each variable of a scope, from the tensor of that name in another scope
///     {"/", "new_scope/"}              the same from the checkpoint's tensors without scope
using AssignmentMap = std::vector<std::pair<std::string, std::string>>;

/// Replaces the initial values of variables of a graph by tensors of a checkpoint, or of the newest one in a directory.
/// The initializers read the tensors when they run, so the file must still exist then. Initializers and `Variable`
/// handles that were created before this call keep the old value. If the model has a checkpoint, a session still
/// restores that one. The session needs the kernel group `restore`. Source: `tf.compat.v1.train.init_from_checkpoint`.
/// @throws InvalidArgumentError, before any change, if a variable or tensor does not exist or dtype or shape differ;
/// FailedPreconditionError for variables of a LoopSession; otherwise as `load_checkpoint`.
TRAINHOOK_DECL void init_from_checkpoint(Graph& graph, const std::string& ckpt_dir_or_file,
                                         const AssignmentMap& assignment_map);

/// Sets variables of a session to these values now: for `init_fn`, which is only called if the model has no checkpoint,
/// for loops, which have no initializers, and for checkpoints of other formats. Sets all of them or none.
/// @throws as above.
TRAINHOOK_DECL void init_from_checkpoint(SessionRef session, FileSystem& file_system, const CheckpointSource& from,
                                         const AssignmentMap& assignment_map);
inline void init_from_checkpoint(SessionRef session, const CheckpointSource& from,
                                 const AssignmentMap& assignment_map) {
  init_from_checkpoint(session, posix_file_system(), from, assignment_map);
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/init_from_checkpoint.ipp>
#endif
