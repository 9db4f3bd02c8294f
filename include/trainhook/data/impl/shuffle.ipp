// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/shuffle.hpp>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

ShuffleNode::ShuffleNode(NodePtr input, std::int64_t buffer_size, std::optional<std::uint64_t> seed,
                         bool reshuffle_each_iteration)
    : SelectingNode(std::move(input)), buffer_size_(buffer_size), seed_(seed), reshuffle_(reshuffle_each_iteration) {
  if (buffer_size < 1) throw InvalidArgumentError("shuffle: buffer_size {} is not positive", buffer_size);
}

std::string ShuffleNode::describe() const {
  return fmt::format("shuffle({}, seed={}{})", buffer_size_, seed_ ? fmt::format("{}", *seed_) : "none",
                     reshuffle_ ? "" : ", reshuffle_each_iteration=false");
}

bool ShuffleNode::can_advance() const { return rows() != nullptr && input().can_advance(); }

}  // namespace trainhook::detail
