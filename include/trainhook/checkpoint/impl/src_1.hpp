// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bytes of a bundle, and what is read from and written to one.
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
#include <trainhook/checkpoint/impl/checkpoint_source.ipp>
#include <trainhook/checkpoint/impl/load_checkpoint.ipp>
#include <trainhook/checkpoint/impl/non_finite.ipp>
#include <trainhook/checkpoint/impl/variable_slices.ipp>
