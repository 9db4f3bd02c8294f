// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernel: how an op type is computed, and what a kernel sees of the run that calls it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook {

/// What a session keeps for one node from run to run: a variable's value, a generator's position, an iterator.
/// Each session makes its own, when the node is first needed.
class NodeState {
 public:
  virtual ~NodeState() = default;

  /// How it appears in the session's state; nothing for what cannot be kept over a restart.
  [[nodiscard]] virtual std::optional<StateSpec> spec() const { return std::nullopt; }

  /// The value as of now. Only called where there is a `spec`.
  [[nodiscard]] virtual Tensor save() { return {}; }

  /// Checks that `value` can be taken over, and throws if not. The result takes it over and does not throw.
  [[nodiscard]] virtual std::function<void()> prepare_load(const Tensor& value) {
    return [value] {};
  }

  /// The session has been closed: wakes every run that waits in here, and none waits from then on. Called from any thread.
  virtual void cancel() noexcept {}
};

/// The value of a variable; without one until it is assigned or loaded.
class VariableState final : public NodeState {
 public:
  explicit VariableState(const Node& node) : node_(&node) {}

  [[nodiscard]] const Node& node() const noexcept { return *node_; }
  [[nodiscard]] const PartialShape& shape() const noexcept { return node_->outputs()[0].shape; }

  [[nodiscard]] std::optional<StateSpec> spec() const override {
    const std::scoped_lock lock(mutex);
    return StateSpec{node_->name(), StateKind::Variable, node_->outputs()[0].dtype, shape(), value.has_value()};
  }
  [[nodiscard]] Tensor save() override { return read(); }
  [[nodiscard]] std::function<void()> prepare_load(const Tensor& tensor) override {
    const OutputSpec& wanted = node_->outputs()[0];
    if (tensor.dtype() != wanted.dtype || !wanted.shape.compatible_with(tensor.shape())) {
      throw InvalidArgumentError("variable '", node_->name(), "' is ", dtype_name(wanted.dtype), wanted.shape, " and cannot take ", tensor);
    }
    return [this, tensor] {
      const std::scoped_lock lock(mutex);
      value = tensor;
    };
  }

  /// A handle of the value. @throws FailedPreconditionError where it has none yet.
  [[nodiscard]] Tensor read() const {
    const std::scoped_lock lock(mutex);
    expect_value();
    return value;
  }
  void read_into(Tensor& target) const {
    const std::scoped_lock lock(mutex);
    expect_value();
    target = value;
  }

  /// @throws FailedPreconditionError where it has no value yet. The caller holds `mutex`.
  void expect_value() const {
    if (!value.has_value()) {
      throw FailedPreconditionError("Attempting to use uninitialized value ", node_->name(),
                                    "; run its initializer or restore a checkpoint first");
    }
  }

  mutable std::mutex mutex;  ///< held while `value` is read, replaced or written through
  Tensor value;

 private:
  const Node* node_;
};

/// When a run that has a timeout must be over.
struct RunDeadline {
  Clock* clock = nullptr;
  Duration at{};
  std::chrono::milliseconds timeout{};

  [[noreturn]] void fail() const { throw DeadlineExceededError("the run took longer than its timeout of ", timeout.count(), " ms"); }
};

/// One call of a kernel: its node, its inputs, and where the outputs go. Valid during the call only.
class KernelContext {
 public:
  struct Input {
    const Tensor* value = nullptr;  // null for a variable or a resource that is handed over as such
    NodeState* state = nullptr;     // of the node that the input comes from, for those
    Tensor* movable = nullptr;      // where nobody else wants the value any more
  };

  KernelContext(const Node& node, std::span<const Input> inputs, std::span<Tensor* const> outputs, NodeState* state, Tensor& scratch,
                const RunDeadline* deadline = nullptr) noexcept
      : node_(&node), inputs_(inputs), outputs_(outputs), state_(state), scratch_(&scratch), deadline_(deadline) {}

  [[nodiscard]] const Node& node() const noexcept { return *node_; }
  [[nodiscard]] std::size_t num_inputs() const noexcept { return inputs_.size(); }
  [[nodiscard]] std::size_t num_outputs() const noexcept { return outputs_.size(); }
  /// @throws InvalidArgumentError where the node has no such input; so does whatever else names an input or an output.
  [[nodiscard]] const Tensor& input(std::size_t i) const { return *input_at(i).value; }
  [[nodiscard]] const Shape& shape(std::size_t i) const { return input(i).shape(); }
  template <TensorElement T>
  [[nodiscard]] std::span<const T> data(std::size_t i) const {
    return input(i).data<T>();
  }

  /// Puts the value of input `i` into `target`, without copying elements; `target`'s own buffer is kept for the next run where possible.
  void move_input(std::size_t i, Tensor& target) const {
    if (Tensor* source = input_at(i).movable) {
      if (!target.is_unique()) target = Tensor();
      std::swap(*source, target);
    } else {
      target = input(i);
    }
  }

  /// The value of the variable that is input `i`; locked during the call. Only for the leading inputs that the kernel declares as
  /// variables.
  [[nodiscard]] VariableState& variable(std::size_t i) const { return *static_cast<VariableState*>(input_at(i).state); }

  /// What the session keeps for this node, or for the node that input `i` names; made by `KernelDef::make_state`.
  template <class State>
  [[nodiscard]] State& state() const noexcept {
    return *static_cast<State*>(state_);
  }
  template <class State>
  [[nodiscard]] State& input_state(std::size_t i) const {
    return *static_cast<State*>(input_at(i).state);
  }

  /// Output `i`, unshared and of this type; the kernel writes every element.
  Tensor& output(std::size_t i, DType dtype, const Shape& shape) const {
    Tensor& result = raw_output(i);
    result.reset_to(dtype, shape);
    return result;
  }
  template <TensorElement T>
  [[nodiscard]] std::span<T> output(std::size_t i, const Shape& shape) const {
    return output(i, dtype_of<T>, shape).template overwrite_data<T>();
  }

  /// Output `i` is a tensor made elsewhere. Where it may share an input's buffer, the kernel is declared with `alias`.
  void set_output(std::size_t i, Tensor value) const { raw_output(i) = std::move(value); }

  /// What output `i` held after the last run, to be overwritten.
  [[nodiscard]] Tensor& raw_output(std::size_t i) const {
    if (i >= outputs_.size()) fail_missing("output", i, outputs_.size());
    return *outputs_[i];
  }

  /// Memory for `count` elements, aligned to 64 bytes, for the duration of the kernel's call; kept from run to run. Asked for again, it is
  /// the same memory.
  template <class T>
  [[nodiscard]] T* scratch(std::size_t count) const {
    const std::size_t bytes = count * sizeof(T);
    if (scratch_->byte_size() < bytes) *scratch_ = Tensor::uninitialized(DType::UInt8, Shape{static_cast<std::int64_t>(bytes)});
    return reinterpret_cast<T*>(scratch_->overwrite_bytes().data());
  }

  /// Waits on `changed` until `ready()` holds. @throws DeadlineExceededError where the run's timeout ends before.
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, FunctionRef<bool()> ready) const {
    if (deadline_ == nullptr) {
      changed.wait(lock, ready);
    } else if (!deadline_->clock->wait_until(lock, changed, deadline_->at, ready)) {
      deadline_->fail();
    }
  }

  /// What a kernel has promised. @throws InternalError where an output is missing or has another dtype than the node says.
  void check_outputs() const {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i]->dtype() != node_->outputs()[i].dtype) fail_promise(i);
    }
  }

 private:
  [[nodiscard]] const Input& input_at(std::size_t i) const {
    if (i >= inputs_.size()) fail_missing("input", i, inputs_.size());
    return inputs_[i];
  }

  [[noreturn]] static void fail_missing(std::string_view what, std::size_t i, std::size_t count) {
    throw InvalidArgumentError("the kernel asks for ", what, " ", i, ", and the node has ", count, " of them");
  }
  [[noreturn]] void fail_promise(std::size_t i) const {
    const std::string given = outputs_[i]->has_value() ? std::string(dtype_name(outputs_[i]->dtype())) : std::string("nothing");
    throw InternalError("the kernel gave ", given, " as output ", i, ", where the node says ", dtype_name(node_->outputs()[i].dtype));
  }

  const Node* node_;
  std::span<const Input> inputs_;
  std::span<Tensor* const> outputs_;
  NodeState* state_;
  Tensor* scratch_;
  const RunDeadline* deadline_;
};

/// Computes one node. Made once for each plan that holds the node; called by one thread at a time for each context, by several for
/// different ones, so what it keeps must not change.
using Kernel = std::function<void(KernelContext&)>;

/// Reads the node's attributes and chooses the code for its dtype. @throws UnimplementedError for what it cannot compute.
using MakeKernel = Kernel (*)(const Node& node);
using MakeNodeState = std::unique_ptr<NodeState> (*)(const Node& node, std::uint64_t session_seed);

/// How an op type is computed, and what the planner has to know about it.
struct KernelDef {
  std::string_view type{};
  MakeKernel make = nullptr;           ///< null: the node only names a state, as an iterator's does
  std::size_t variables = 0;           ///< how many leading inputs are variables, handed over as such and locked during the call
  bool writes = false;                 ///< changes the first of them or all of them; output 0 names the first one again
  bool initializes = false;            ///< the variables may be without value
  bool alias = false;                  ///< output 0 may share the buffer of input 0
  bool stateful = false;               ///< may give another result for the same inputs, or has an effect: is never computed ahead
  MakeNodeState make_state = nullptr;  ///< what the session keeps for a node of this type
};

/// For `KernelDef::make` of what uses a resource. @throws InvalidArgumentError unless input 0 is a node of op type `type`.
inline void expect_resource(const Node& node, std::string_view type) {
  if (!node.inputs().empty() && node.inputs()[0].node().type() == type) return;
  throw InvalidArgumentError("input 0 of ", node.name(), " (", node.type(), ") must be of op type ", type,
                             node.inputs().empty() ? std::string(" and is missing") : ", not '" + node.inputs()[0].name() + "'");
}

/// Kernels that belong together. A session is made with the groups that it may use; nothing registers itself.
using KernelGroup = std::span<const KernelDef>;

/// The kernels of a session by op type. Of two for the same type the one in the earlier group counts.
class KernelTable {
 public:
  explicit KernelTable(std::span<const KernelGroup> groups) {
    for (const KernelGroup& group : groups) {
      for (const KernelDef& def : group) defs_.emplace(def.type, &def);
    }
  }

  [[nodiscard]] const KernelDef* find(std::string_view type) const noexcept {
    const auto found = defs_.find(type);
    return found == defs_.end() ? nullptr : found->second;
  }

  /// @throws UnimplementedError where no group has the node's type.
  [[nodiscard]] const KernelDef& at(const Node& node) const {
    if (const KernelDef* def = find(node.type())) return *def;
    throw UnimplementedError("op type ", node.type(), " of node '", node.name(),
                             "' has no kernel in this session; give its kernel group in the session's options");
  }

 private:
  std::unordered_map<std::string_view, const KernelDef*> defs_;
};

}  // namespace trainhook
