// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fetch: one thing that a run computes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/inline_vector.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {

/// One thing that a run computes: an Output, whose result is a Tensor, or an Operation, whose result is an empty one.
class Fetch {
 public:
  static constexpr std::int32_t kOperation = -1;

  /// @throws InvalidArgumentError for an empty handle, such as a member that was never set.
  Fetch(Output output) : Fetch(output, static_cast<std::int32_t>(output.index())) {}
  Fetch(Operation operation) : Fetch(operation, kOperation) {}
  Fetch(const Variable& variable) : Fetch(variable.read) {}

  [[nodiscard]] Node& node() const noexcept { return *node_; }
  [[nodiscard]] std::int32_t index() const noexcept { return index_; }
  [[nodiscard]] bool is_operation() const noexcept { return index_ == kOperation; }
  friend bool operator==(Fetch, Fetch) noexcept = default;

 private:
  template <class Handle>
  Fetch(const Handle& handle, std::int32_t index)
      : node_(handle.has_value() ? &handle.node() : nullptr), index_(index) {
    if (node_ == nullptr)
      throw InvalidArgumentError("a fetch is an empty handle: set the Output or Operation before it is asked for");
  }

  Node* node_;
  std::int32_t index_;
};

/// The fetches of a hook, `{loss}` or `{{loss, step}}`: a vector whose first four elements need no allocation.
class FetchList : public detail::InlineVector<Fetch, 4> {
 public:
  FetchList() noexcept = default;
  FetchList(std::initializer_list<Fetch> fetches) : InlineVector(fetches) {}
  FetchList(Output output) : InlineVector({Fetch(output)}) {}
  FetchList(Operation operation) : InlineVector({Fetch(operation)}) {}
  FetchList(const Variable& variable) : InlineVector({Fetch(variable)}) {}
  FetchList(const std::vector<Output>& outputs) {
    for (const Output& output : outputs) push_back(Fetch(output));
  }
};

}  // namespace trainhook
