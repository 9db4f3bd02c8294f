// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernel: how an op type is computed, and what a kernel sees of the run that calls it.
#pragma once

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
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/engine/kernel_threads.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// The state that a session keeps for one node from run to run: a variable's value, a generator's position, an
/// iterator. Each session makes its own, when the node is first needed.
class NodeState {
 public:
  TRAINHOOK_DECL virtual ~NodeState();

  /// Describes the saved state; nothing if it cannot survive a restart.
  [[nodiscard]] virtual std::optional<StateSpec> spec() const { return std::nullopt; }

  /// Returns the current value. Called only if there is a `spec`.
  [[nodiscard]] virtual Tensor save() { return {}; }

  /// Checks that `value` can be loaded, and throws if not. The returned function loads it and does not throw; `value`
  /// lives until then.
  [[nodiscard]] virtual std::function<void()> prepare_load(const Tensor& /*value*/) {
    return [] {};
  }

  /// `count` sessions train one model, and the node must draw other numbers than in the others. Not called for a node
  /// that computes initial values, which are the same in all.
  virtual void draw_share(int /*number*/, int /*count*/) {}

  /// Wakes every run that waits here, and lets none wait from then on. Called from any thread when the session is
  /// closed.
  virtual void cancel() noexcept {}
};

/// The value of a variable; empty until it is assigned or loaded.
class VariableState final : public NodeState {
 public:
  explicit VariableState(const Node& node) : node_(&node) {}

  [[nodiscard]] const Node& node() const noexcept { return *node_; }
  [[nodiscard]] const PartialShape& shape() const noexcept { return node_->outputs()[0].shape; }

  [[nodiscard]] TRAINHOOK_DECL std::optional<StateSpec> spec() const override;
  [[nodiscard]] Tensor save() override { return read(); }
  [[nodiscard]] TRAINHOOK_DECL std::function<void()> prepare_load(const Tensor& tensor) override;

  /// A handle of the value. @throws FailedPreconditionError if it has none yet.
  [[nodiscard]] TRAINHOOK_DECL Tensor read() const;
  TRAINHOOK_DECL void read_into(Tensor& target) const;

  /// @throws FailedPreconditionError if it has no value yet. The caller holds `mutex`.
  TRAINHOOK_DECL void expect_value() const;

  mutable std::mutex mutex;  ///< held while `value` is read, replaced or written through
  Tensor value;

 private:
  const Node* node_;
};

namespace detail {

/// The time by which a run with a timeout must end.
struct RunDeadline {
  Clock* clock = nullptr;
  Duration at{};
  Duration timeout{};

  [[noreturn]] TRAINHOOK_DECL void fail() const;
};

}  // namespace detail

/// One call of a kernel: its node, its inputs, and where the outputs go. Valid during the call only. Functions that are
/// called for each node in each run are inline, so that separate compilation costs nothing.
class KernelContext {
 public:
  struct Input {
    const Tensor* value = nullptr;  // null for a variable or a resource that is handed over as such
    NodeState* state = nullptr;     // the state of that variable or resource
    Tensor* movable = nullptr;      // if nothing else uses the value any more
  };

  KernelContext(const Node& node, std::span<const Input> inputs, std::span<Tensor* const> outputs, NodeState* state,
                Tensor& scratch, detail::KernelThreads& threads, const detail::RunDeadline* deadline = nullptr) noexcept
      : node_(&node),
        inputs_(inputs),
        outputs_(outputs),
        state_(state),
        scratch_(&scratch),
        threads_(&threads),
        deadline_(deadline) {}

  [[nodiscard]] const Node& node() const noexcept { return *node_; }
  [[nodiscard]] std::size_t num_inputs() const noexcept { return inputs_.size(); }
  [[nodiscard]] std::size_t num_outputs() const noexcept { return outputs_.size(); }
  /// @throws InvalidArgumentError if the node has no such input; so do all members that take an input or output number.
  [[nodiscard]] const Tensor& input(std::size_t i) const { return *input_at(i).value; }
  [[nodiscard]] const Shape& shape(std::size_t i) const { return input(i).shape(); }
  template <TensorElement T>
  [[nodiscard]] std::span<const T> data(std::size_t i) const {
    return input(i).data<T>();
  }

  /// Moves the value of input `i` into `target` without copying elements. Keeps `target`'s own buffer for the next run
  /// if possible.
  TRAINHOOK_DECL void move_input(std::size_t i, Tensor& target) const;

  /// The value of the variable that is input `i`; locked during the call. Only for the leading inputs that the kernel
  /// declares as variables.
  [[nodiscard]] TRAINHOOK_DECL VariableState& variable(std::size_t i) const;

  /// The state that the session keeps for this node, or for the node of input `i`; made by `KernelDef::make_state`.
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

  /// Output `i` is a tensor made elsewhere. If it may share an input's buffer, the kernel is declared with `alias`.
  void set_output(std::size_t i, Tensor value) const { raw_output(i) = std::move(value); }

  /// What output `i` held after the last run, to be overwritten.
  [[nodiscard]] Tensor& raw_output(std::size_t i) const {
    if (i >= outputs_.size()) fail_missing("output", i, outputs_.size());
    return *outputs_[i];
  }

  /// Returns memory for `count` elements, aligned to 64 bytes, for use during the kernel's call. A second call returns
  /// the same memory. It is kept from run to run.
  template <class T>
  [[nodiscard]] T* scratch(std::size_t count) const {
    const std::size_t bytes = count * sizeof(T);
    if (scratch_->byte_size() < bytes)
      *scratch_ = Tensor::uninitialized(DType::UInt8, Shape{static_cast<std::int64_t>(bytes)});
    return reinterpret_cast<T*>(scratch_->overwrite_bytes().data());
  }

  /// Calls `code(piece, worker)` for the pieces 0 to `count` - 1, at the same time on the session's threads, and
  /// returns when all are done. The cut must depend on nothing but the inputs: then the result has the same bits for
  /// any number of threads. A piece should take 50 us or more; a single one, or none, costs nothing. `worker` is below
  /// `num_workers()` and no other piece has it at the same time, so that it may choose a part of `scratch`.
  void for_each_piece(std::int64_t count, detail::KernelPiece code) const {
    if (count == 1) {
      code(0, 0);
    } else {
      threads_->run(count, code);
    }
  }
  [[nodiscard]] std::size_t num_workers() const noexcept { return threads_->size(); }

  /// Waits on `changed` until `ready()` holds. @throws DeadlineExceededError if the run's timeout ends before.
  TRAINHOOK_DECL void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                           FunctionRef<bool()> ready) const;

  /// Checks the kernel's outputs. @throws InternalError if one is missing or has another dtype than the node says.
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
  [[noreturn]] TRAINHOOK_DECL static void fail_missing(std::string_view what, std::size_t i, std::size_t count);
  [[noreturn]] TRAINHOOK_DECL void fail_promise(std::size_t i) const;

  const Node* node_;
  std::span<const Input> inputs_;
  std::span<Tensor* const> outputs_;
  NodeState* state_;
  Tensor* scratch_;
  detail::KernelThreads* threads_;
  const detail::RunDeadline* deadline_;
};

/// Computes one node. Made once for each plan that holds the node. Several threads may call it at once with different
/// contexts, so its own data must not change.
using Kernel = std::function<void(KernelContext&)>;

/// Reads the node's attributes and chooses the code for its dtype. @throws UnimplementedError if it cannot compute the
/// node.
using MakeKernel = Kernel (*)(const Node& node);
using MakeNodeState = std::unique_ptr<NodeState> (*)(const Node& node, std::uint64_t session_seed);

/// How an op type is computed, and what the planner has to know about it.
struct KernelDef {
  std::string_view type{};
  MakeKernel make = nullptr;  ///< null: the node only names a state, as an iterator's does
  std::size_t variables = 0;  ///< how many leading inputs are variables, handed over as such and locked during the call
  bool writes = false;        ///< changes the first of them or all of them; output 0 names the first one again
  bool initializes = false;   ///< the variables may lack a value
  bool alias = false;         ///< output 0 may share the buffer of input 0
  bool stateful = false;  ///< may give another result for the same inputs, or has an effect: is never computed ahead
  bool starts = false;    ///< starts background work: runs as early as it may, so that other nodes run meanwhile
  MakeNodeState make_state = nullptr;  ///< makes the state of a node of this type
};

/// Checks a node that uses a resource, for `KernelDef::make`. @throws InvalidArgumentError unless input 0 is a node of
/// op type `type`.
TRAINHOOK_DECL void expect_resource(const Node& node, std::string_view type);

/// Kernels that belong together. A session is made with the groups that it may use; nothing registers itself.
using KernelGroup = std::span<const KernelDef>;

namespace detail {

/// The kernels of a session by op type. If two groups have the same type, the earlier one is used.
class KernelTable {
 public:
  TRAINHOOK_DECL explicit KernelTable(std::span<const KernelGroup> groups);
  [[nodiscard]] TRAINHOOK_DECL const KernelDef* find(std::string_view type) const noexcept;

  /// @throws UnimplementedError if no group has the node's type.
  [[nodiscard]] TRAINHOOK_DECL const KernelDef& at(const Node& node) const;

 private:
  std::unordered_map<std::string_view, const KernelDef*> defs_;
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/kernel.ipp>
#endif
