// SPDX-License-Identifier: Apache-2.0
/// @file
/// init_from_checkpoint: variables that begin with what another model's checkpoint has.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

/// Pairs of a tensor in a checkpoint and what is to begin with it in the graph:
///
///     {"old/weights", "new/weights"}   a variable, or a partitioned one by the name of the whole
///     {"old_scope/", "new_scope/"}     each variable of a scope, from the tensor of that name in another scope
///     {"/", "new_scope/"}              the same from the checkpoint's tensors without scope
using AssignmentMap = std::vector<std::pair<std::string, std::string>>;

/// Gives variables of a graph other initial values: tensors of a checkpoint, or of the newest one in a directory. They
/// are read when the initializers run, so the file must still be there then, and an initializer that was made before
/// this call, such as that of `global_variables_initializer`, keeps the old value; the same goes for a `Variable` that
/// you hold. A checkpoint of the model itself is restored instead, as always. The session needs the kernel group
/// `restore`. Source: `tf.compat.v1.train.init_from_checkpoint`.
/// @throws InvalidArgumentError, before anything changes, if there is no such variable or tensor, or dtype or shape
/// differ; FailedPreconditionError for variables of a LoopSession; otherwise as `load_checkpoint`.
TRAINHOOK_DECL void init_from_checkpoint(Graph& graph, const std::string& ckpt_dir_or_file,
                                         const AssignmentMap& assignment_map);

/// Gives variables of a session these values now: for `init_fn`, which is only called if the model has no checkpoint,
/// and for loops, which have no initializers. All of them change, or none. @throws as above.
TRAINHOOK_DECL void init_from_checkpoint(SessionRef session, FileSystem& file_system,
                                         const std::string& ckpt_dir_or_file, const AssignmentMap& assignment_map);
inline void init_from_checkpoint(SessionRef session, const std::string& ckpt_dir_or_file,
                                 const AssignmentMap& assignment_map) {
  init_from_checkpoint(session, posix_file_system(), ckpt_dir_or_file, assignment_map);
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/init_from_checkpoint.ipp>
#endif
