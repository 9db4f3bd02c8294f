// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of input pipelines: the session's iterator, and its next element.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/data/iterator.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/kernel_threads.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// The live iterator of an IteratorV2 node. If the node came with an imported graph, it has no dataset and cannot run.
class IteratorState final : public NodeState {
 public:
  explicit IteratorState(const Node& node) : node_name_(node.name()), policy_(external_state_policy(node.graph())) {
    for (const IteratorResource& resource : iterators(node.graph())) {
      if (&resource.op.node() != &node) continue;
      name_ = resource.state_name();
      iterator_ = std::make_shared<Iterator>(resource.dataset);
    }
  }

  [[nodiscard]] std::optional<StateSpec> spec() const override {
    if (iterator_ == nullptr) return std::nullopt;
    return StateSpec{.name = name_, .kind = StateKind::Input, .dtype = DType::String, .shape = Shape{}};
  }
  [[nodiscard]] Tensor save() override { return iterator()->save_state(policy_); }
  [[nodiscard]] std::function<void()> prepare_load(const Tensor& value) override {
    auto restored = std::make_shared<Iterator>(iterator()->dataset());
    restored->restore_state(value);
    return [this, restored = std::move(restored)] {
      const std::scoped_lock lock(mutex_);
      iterator_ = restored;
    };
  }

  [[nodiscard]] std::shared_ptr<Iterator> iterator() {
    const std::scoped_lock lock(mutex_);
    if (iterator_ == nullptr)
      throw FailedPreconditionError("iterator '{}' has no dataset: make_iterator() did not make it; feed what it gives",
                                    node_name_);
    return iterator_;
  }

  /// Returns an element whose memory is reused; give it back after use.
  [[nodiscard]] Element take_element(std::size_t components) {
    const std::scoped_lock lock(mutex_);
    if (spare_.empty()) return Element(components);
    Element element = std::move(spare_.back());
    spare_.pop_back();
    return element;
  }
  void give_element(Element element) {
    const std::scoped_lock lock(mutex_);
    spare_.push_back(std::move(element));
  }

 private:
  std::string node_name_;
  ExternalStatePolicy policy_;
  std::string name_;
  mutable std::mutex mutex_;
  std::shared_ptr<Iterator> iterator_;
  std::vector<Element> spare_;
};

// Here and below, a pipeline's code keeps denormals, like a pipeline's own threads: an element must not depend on the
// thread that computes it.
inline std::unique_ptr<NodeState> make_iterator_state(const Node& node, std::uint64_t) {
  const ScopedDenormals kept(Denormals::Keep);
  return std::make_unique<IteratorState>(node);
}

inline Kernel make_get_next(const Node& node) {
  expect_resource(node, "IteratorV2");
  return +[](KernelContext& context) {
    IteratorState& state = context.input_state<IteratorState>(0);
    Element element = state.take_element(context.num_outputs());
    for (std::size_t i = 0; i < context.num_outputs(); ++i) std::swap(element[i], context.raw_output(i));
    {
      const ScopedDenormals kept(Denormals::Keep);
      state.iterator()->get_next(element);
    }
    for (std::size_t i = 0; i < context.num_outputs(); ++i) std::swap(element.at(i), context.raw_output(i));
    state.give_element(std::move(element));
  };
}

inline constexpr std::array kData{
    KernelDef{.type = "IteratorV2", .stateful = true, .make_state = make_iterator_state},
    KernelDef{.type = "IteratorGetNext", .make = make_get_next, .stateful = true},
};

}  // namespace detail

KernelGroup data() noexcept { return detail::kData; }

}  // namespace trainhook::kernels
