// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of checkpoint/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/checkpoint/bundle/impl/bundle_cleanup.ipp>
#include <trainhook/checkpoint/bundle/impl/bundle_protocol.ipp>
#include <trainhook/checkpoint/bundle/impl/bundle_reader.ipp>
#include <trainhook/checkpoint/bundle/impl/bundle_shards.ipp>
#include <trainhook/checkpoint/bundle/impl/bundle_writer.ipp>
#include <trainhook/checkpoint/bundle/impl/missing_bundle.ipp>
#include <trainhook/checkpoint/bundle/impl/tensor_bundle_format.ipp>
#include <trainhook/checkpoint/bundle/impl/tensor_slice.ipp>
#include <trainhook/checkpoint/impl/checkpoint_claim.ipp>
#include <trainhook/checkpoint/impl/checkpoint_directory.ipp>
#include <trainhook/checkpoint/impl/checkpoint_files.ipp>
#include <trainhook/checkpoint/impl/checkpoint_part.ipp>
#include <trainhook/checkpoint/impl/checkpoint_source.ipp>
#include <trainhook/checkpoint/impl/checkpoint_state.ipp>
#include <trainhook/checkpoint/impl/directory_hold.ipp>
#include <trainhook/checkpoint/impl/input_checkpoints.ipp>
#include <trainhook/checkpoint/impl/input_files.ipp>
#include <trainhook/checkpoint/impl/keep_rule.ipp>
#include <trainhook/checkpoint/impl/load_checkpoint.ipp>
#include <trainhook/checkpoint/impl/lock_lease.ipp>
#include <trainhook/checkpoint/impl/non_finite.ipp>
#include <trainhook/checkpoint/impl/prune_checkpoints.ipp>
#include <trainhook/checkpoint/impl/rename.ipp>
#include <trainhook/checkpoint/impl/restore_policy.ipp>
#include <trainhook/checkpoint/impl/restore_rules.ipp>
#include <trainhook/checkpoint/impl/run_record.ipp>
#include <trainhook/checkpoint/impl/saver.ipp>
#include <trainhook/checkpoint/impl/saver_restore.ipp>
#include <trainhook/checkpoint/impl/variable_slices.ipp>
