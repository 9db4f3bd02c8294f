// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checkpoints without graph, session or hooks: BundleWriter and BundleReader.
#pragma once

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
