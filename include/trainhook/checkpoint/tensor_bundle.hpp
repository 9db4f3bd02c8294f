// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checkpoints alone: BundleWriter, BundleReader and ObjectGraphKeys, without graph, session or hooks.
#pragma once

#include <trainhook/checkpoint/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle_writer.hpp>
#include <trainhook/checkpoint/object_graph_keys.hpp>
