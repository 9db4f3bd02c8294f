// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which nodes a request needs, and in what order they run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/session/run_args.hpp>

namespace trainhook {
namespace detail {

[[nodiscard]] TRAINHOOK_DECL bool is_variable(const Node& node) noexcept;
[[nodiscard]] TRAINHOOK_DECL bool is_constant(const Node& node) noexcept;
[[nodiscard]] TRAINHOOK_DECL bool is_placeholder(const Node& node) noexcept;

/// Gives its input's value on under another name.
[[nodiscard]] TRAINHOOK_DECL bool forwards(const Node& node) noexcept;

/// Op types that the planner itself knows; they need no kernel.
[[nodiscard]] TRAINHOOK_DECL bool needs_no_kernel(const Node& node) noexcept;

[[nodiscard]] TRAINHOOK_DECL bool is_fed(std::span<const Output> fed, Output output) noexcept;

/// The variable that `output` names: a VariableV2's own output, or what an op that writes it gives on; null for a
/// value.
[[nodiscard]] TRAINHOOK_DECL const Node* variable_named_by(const KernelTable& kernels, std::span<const Output> fed,
                                                           Output output);

}  // namespace detail

/// Puts the nodes behind a request in order: inputs and control inputs first; whoever reads a variable before whoever
/// writes it, unless dependencies say otherwise; a writer as soon as it may, which ends the life of gradients early;
/// else as created.
class Scheduler {
 public:
  TRAINHOOK_DECL Scheduler(const KernelTable& kernels, std::span<const Fetch> fetches, std::span<const Output> fed);

  [[nodiscard]] const std::vector<Node*>& order() const& noexcept { return order_; }
  const std::vector<Node*>& order() const&& = delete;  // it would not live as long as its result

 private:
  static constexpr std::uint32_t kAbsent = 0xffffffff;

  struct Place {
    Node* node = nullptr;
    bool writes = false;
    std::vector<std::uint32_t> next{};       // must run later
    std::vector<std::uint32_t> next_soft{};  // should run later
    std::size_t waits = 0;
    std::size_t waits_soft = 0;
  };

  [[nodiscard]] std::uint32_t place_of(const Node& node) const noexcept { return places_[node.id()]; }

  TRAINHOOK_DECL void collect(std::span<const Fetch> fetches);
  TRAINHOOK_DECL void connect();
  TRAINHOOK_DECL void link(std::uint32_t from, std::uint32_t to);

  /// A handle of a variable's value that is still held when the variable is written costs a copy of it.
  TRAINHOOK_DECL void protect_reads();

  TRAINHOOK_DECL void mark_dependents(std::uint32_t start, std::vector<bool>& marked) const;

  /// Everything that holds a handle of the variable's value at some time: direct readers, and readers of what shares
  /// its buffer.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::uint32_t> readers_of(std::uint32_t variable) const;

  [[nodiscard]] TRAINHOOK_DECL bool takes_value(const Node& node, const Node& from) const;
  [[nodiscard]] TRAINHOOK_DECL bool shares_buffer(const Node& node) const;
  TRAINHOOK_DECL void sort();

  const KernelTable& kernels_;
  std::span<const Output> fed_;
  std::vector<std::uint32_t> places_;  // by node id
  std::vector<Place> nodes_;
  std::vector<Node*> order_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/schedule.ipp>
#endif
