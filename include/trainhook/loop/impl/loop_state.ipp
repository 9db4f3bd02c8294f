// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/loop/loop_state.hpp>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

/// How many structs may be inside of each other. Deeper bytes could overflow the stack.
inline constexpr int kDeepest = 200;

void StateArchive::demand(bool what_is_written) const {
  if (!what_is_written) throw DataLossError("the saved state '{}' is not what its type writes", name);
}

StateArchive StateArchive::deeper() const {
  if (written != nullptr && depth == kDeepest)
    throw InvalidArgumentError("the state '{}' has more than {} structs inside of each other", name, kDeepest);
  demand(depth < kDeepest);
  return {.name = name, .written = written, .to_read = to_read, .depth = depth + 1};
}

std::size_t StateArchive::size(std::size_t own) const {
  std::uint64_t size = own;
  bytes(&size, sizeof size);
  demand(written != nullptr || size <= to_read->size());  // each item is at least a byte
  return size;
}

void StateArchive::bytes(void* object, std::size_t size) const {
  if (written != nullptr) {
    written->append(static_cast<const char*>(object), size);
  } else {
    demand(size <= to_read->size());
    to_read->copy(static_cast<char*>(object), size);
    to_read->remove_prefix(size);
  }
}

void read_archive(const std::string& name, std::string_view bytes, FunctionRef<void(const StateArchive&)> read) {
  const StateArchive archive{.name = name, .to_read = &bytes};
  read(archive);
  archive.demand(bytes.empty());
}

}  // namespace trainhook::detail
