// SPDX-License-Identifier: Apache-2.0
/// @file
/// Scheduler: finds the nodes that a request needs, and their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/initial_values.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/session/fetch.hpp>

namespace trainhook::detail {

/// Puts the nodes behind a request in order:
/// 1. A node comes after its inputs and control inputs.
/// 2. Readers of a variable come before its writers, unless dependencies say otherwise.
/// 3. Writers, and nodes that start background work, come as early as they may. So gradients are freed early.
/// 4. Otherwise nodes keep the order in which they were created.
class Scheduler {
 public:
  TRAINHOOK_DECL Scheduler(const KernelTable& kernels, std::span<const Fetch> fetches, std::span<const Output> fed);

  [[nodiscard]] const std::vector<Node*>& order() const& noexcept { return order_; }
  const std::vector<Node*>& order() const&& = delete;  // it would not live as long as its result

  /// True if the node is one of those in order.
  [[nodiscard]] bool has(const Node& node) const noexcept { return place_of(node) != kAbsent; }

  /// Returns the kernel of a node in order; null if it needs none.
  [[nodiscard]] const KernelDef* kernel_of(const Node& node) const { return nodes_[place_of(node)].def; }

  /// True if a node in order assigns an initial value that is computed from those of other variables.
  [[nodiscard]] bool is_initializer(const Node& node) const { return has(node) && nodes_[place_of(node)].initializes; }

  /// True if a node in order is a Switch.
  [[nodiscard]] bool has_branches() const noexcept { return has_branches_; }

  [[nodiscard]] InitialValues& initial_values() noexcept { return initial_values_; }

  /// Returns the variable whose value `input` passes on, if `reader` must run after a node that writes it; null
  /// otherwise. As in TensorFlow, reading a reference variable yields its memory, not a copy: a reader that is ordered
  /// after a writer sees the new value, however early the node between them runs.
  [[nodiscard]] TRAINHOOK_DECL const Node* variable_read_late(Output input, const Node& reader) const;

 private:
  static constexpr std::uint32_t kAbsent = 0xffffffff;

  struct Edge {
    std::uint32_t to = 0;
    bool takes_value = false;  // false for control inputs, and for variables that are passed as such
  };
  struct Place {
    [[nodiscard]] bool writes() const noexcept { return def != nullptr && def->writes; }
    [[nodiscard]] bool is_urgent() const noexcept { return def != nullptr && (def->writes || def->starts); }

    Node* node = nullptr;
    const KernelDef* def = nullptr;          // null if it needs no kernel
    bool initializes = false;                // see is_initializer
    std::vector<Edge> next{};                // must run later
    std::vector<std::uint32_t> next_soft{};  // should run later
    std::size_t waits = 0;
    std::size_t waits_soft = 0;
  };

  /// Places that a search has seen. A new search forgets the last one at no cost.
  class Marks {
   public:
    explicit Marks(std::size_t places) : seen_in_(places, 0) {}
    void clear() noexcept { ++search_; }
    [[nodiscard]] bool has(std::uint32_t place) const { return seen_in_[place] == search_; }

    /// False if it was marked before.
    bool mark(std::uint32_t place) { return std::exchange(seen_in_[place], search_) != search_; }

   private:
    std::vector<std::uint32_t> seen_in_;
    std::uint32_t search_ = 1;
  };

  [[nodiscard]] std::uint32_t place_of(const Node& node) const noexcept { return places_[node.id()]; }

  TRAINHOOK_DECL void collect(std::span<const Fetch> fetches);
  TRAINHOOK_DECL void connect();
  TRAINHOOK_DECL void link(const Node& from, Edge edge);

  /// Orders readers before writers, because a write copies the variable's value if a handle of it is still held.
  TRAINHOOK_DECL void protect_reads();

  /// Marks the nodes that must run after `start` and were not created after `last`.
  TRAINHOOK_DECL void mark_dependents(std::uint32_t start, std::uint32_t last, Marks& marks) const;

  /// Appends all nodes that ever hold a handle of the variable's value: direct readers, and readers of values that
  /// share its buffer.
  TRAINHOOK_DECL void add_readers(std::uint32_t variable, Marks& marks, std::vector<std::uint32_t>& readers) const;

  [[nodiscard]] TRAINHOOK_DECL static bool shares_buffer(const Place& place);
  TRAINHOOK_DECL void sort();

  const KernelTable& kernels_;
  std::span<const Output> fed_;
  InitialValues initial_values_;
  std::vector<std::uint32_t> places_;  // by node id
  std::vector<Place> nodes_;           // in order of creation
  std::vector<Node*> order_;
  bool has_branches_ = false;
  std::set<std::pair<const Node*, const Node*>> late_reads_;  // variable and reader
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/schedule.ipp>
#endif
