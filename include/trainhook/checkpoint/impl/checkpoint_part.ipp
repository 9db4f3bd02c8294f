// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/checkpoint_part.hpp>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>

namespace trainhook::detail {

CheckpointPart::~CheckpointPart() = default;

CheckpointPart::Taken::~Taken() = default;

void SideFile::add_to(BundleWriter& writer) { writer.add_side_file(suffix_, content_); }

}  // namespace trainhook::detail
