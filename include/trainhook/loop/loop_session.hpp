// SPDX-License-Identifier: Apache-2.0
/// @file
/// LoopSession: an engine whose step is your own code and whose variables are your own memory.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/loop/bound_state.hpp>
#include <trainhook/loop/memory_layout.hpp>
#include <trainhook/loop/node_values.hpp>
#include <trainhook/loop/state_binding.hpp>
#include <trainhook/loop/variable_binding.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_forms.hpp>

namespace trainhook {

namespace detail {

/// Several elements in one piece, which may be constant.
template <class R>
concept DenseResult = requires(const R& result) {
  std::data(result);
  std::size(result);
  requires SingleValue<std::remove_const_t<PointedElement<R>>>;
};

/// What a function given to `value()` may return: a number or text, or several numbers in one piece.
template <class F>
concept ValueFunction = std::invocable<F&> && (TensorElement<std::remove_cvref_t<std::invoke_result_t<F&>>> ||
                                               DenseResult<std::remove_cvref_t<std::invoke_result_t<F&>>>);

}  // namespace detail

/// Puts hooks, checkpoints and TensorBoard around a loop in plain C++. You register what there is, then hand the loop
/// to `monitored_training_session` and run your step as a callable: `session.run([&] { loss = gradient_step(weights);
/// })`.
///
/// What is registered is referred to, never copied: it must outlive the session and stay where it is (a vector may get
/// other memory but must keep its size). Names are unique. Registration ends with `open()`.
///
/// A run calls the step, then gives the fetches: variables and values as they are *after* the step, each read at most
/// once a run; of the global step the value *before*, as TensorFlow's hooks see it. The step counts by 1 for each
/// callable that returned. Reading and loading happen on the thread that calls the session; your memory has no lock, so
/// calls from several threads are yours to keep apart.
class LoopSession : public RunForms<LoopSession, true> {
 public:
  static constexpr bool kRunsUserCode = true;

  TRAINHOOK_DECL LoopSession();
  LoopSession(const LoopSession&) = delete;
  LoopSession& operator=(const LoopSession&) = delete;

  /// Makes `memory` a variable: saved, restored, to be fetched and summarised. A number, a truth value, or a vector,
  /// array or dense matrix of them.
  /// @throws InvalidArgumentError where the name is taken or the shape does not fit; FailedPreconditionError once the
  /// session was opened.
  template <VariableMemory Memory>
  Variable variable(std::string_view name, Memory& memory, const MemoryOptions& options = {}) {
    detail::check_in_one_piece(name, memory);
    return add_memory(name, dtype_of<detail::MemoryElement<Memory>>, detail::natural_shape(memory), options,
                      detail::natural_layout<Memory>(), detail::memory_finder(name, memory));
  }
  /// The same for memory that a span describes, which must stay where it is.
  template <TensorElement T, std::size_t Extent>
  Variable variable(std::string_view name, std::span<T, Extent> memory, const MemoryOptions& options = {}) {
    return add_memory(name, dtype_of<T>, detail::natural_shape(memory), options, Layout::RowMajor,
                      [bytes = std::span<std::byte>(std::as_writable_bytes(memory))] { return bytes; });
  }
  template <class Temporary>
  void variable(std::string_view name, const Temporary&& memory,
                const MemoryOptions& options = {}) = delete;  // would dangle

  /// The same for memory that only `external.read` and `external.write` can reach, as a GPU's.
  TRAINHOOK_DECL Variable variable(std::string_view name, ExternalVariable external);

  /// Saves and restores `object` beside the variables: a generator of `<random>`, a number or string, or an object
  /// whose bytes are its value.
  template <LoopState T>
  void state(std::string_view name, T& object) {
    add_state(detail::state_of(state_name(name), object));
  }
  template <class Temporary>
  void state(std::string_view name, const Temporary&& object) = delete;  // would dangle

  /// The same by a pair of functions: `save` gives a string and `load` takes one, or both a Tensor of one dtype. What
  /// `load` throws makes the restore fail; what had been loaded before is then taken back through it.
  template <class Save, class Load>
    requires StateFunctions<Save, Load>
  void state(std::string_view name, Save save, Load load) {
    add_state(detail::state_by(state_name(name), std::move(save), std::move(load)));
  }

  /// Gives a value a name by which hooks fetch it and summaries show it. The function is called in runs that want it,
  /// after the step.
  template <detail::ValueFunction Function>
  Output value(std::string_view name, Function function) {
    using Result = std::remove_cvref_t<std::invoke_result_t<Function&>>;
    if constexpr (TensorElement<Result>) {
      return add_value(name, {dtype_of<Result>, Shape{}},
                       [function = std::move(function)]() mutable { return Tensor(function()); });
    } else {
      using Item = std::remove_const_t<detail::PointedElement<Result>>;
      return add_value(name, {dtype_of<Item>, PartialShape{kUnknownDim}}, [function = std::move(function)]() mutable {
        const auto& result = function();
        const std::span<const Item> elements(std::data(result), std::size(result));
        return Tensor::copy_of(elements, detail::natural_shape(elements));
      });
    }
  }
  /// The same for a function that gives a Tensor, whose type has to be said.
  template <std::invocable Function>
    requires std::same_as<std::remove_cvref_t<std::invoke_result_t<Function&>>, Tensor>
  Output value(std::string_view name, Function function, const OutputSpec& spec) {
    return add_value(name, spec, std::move(function));
  }

  /// Registers how everything gets its initial values. Called where a new session finds no checkpoint; without it, the
  /// first session takes the memory as it is, and a session that was lost before its first checkpoint cannot be made
  /// anew.
  TRAINHOOK_DECL void init(std::function<void()> initialize);

  /// Registers state of a library's own part, for example an input iterator's.
  TRAINHOOK_DECL void add_state(detail::StateBinding binding);

  /// The number of steps that the loop has behind it.
  [[nodiscard]] std::int64_t global_step() const noexcept { return step_; }

  /// Begins a session; registration ends here. Called by whoever creates the monitored session. After the first time
  /// the memory counts as lost: it must be restored or initialized. @throws FailedPreconditionError where the last
  /// session is still open.
  TRAINHOOK_DECL void open();

  // What an engine offers.

  [[nodiscard]] Graph& graph() noexcept { return graph_; }

  TRAINHOOK_DECL void execute(const RunRequest& request, std::span<Tensor> results);

  [[nodiscard]] std::vector<StateSpec> state() const { return bound_.specs(); }

  /// Copies of the present values, one pass over the memory. @throws also what a state's own `save` throws.
  [[nodiscard]] TRAINHOOK_DECL std::vector<NamedTensor> snapshot(std::span<const std::string> names);

  void load(std::span<const NamedTensor> entries) { bound_.load(entries); }

  void close() noexcept {
    is_closed_ = true;
    is_open_ = false;
  }

  void run_request(const RunRequest& request, std::span<Tensor> results) { execute(request, results); }

 private:
  TRAINHOOK_DECL static std::string state_name(std::string_view name);
  TRAINHOOK_DECL void expect_registering(std::string_view what) const;

  // The name a node will have here, which must be free: a suffix would make a checkpoint's names depend on the order of
  // registration.
  [[nodiscard]] TRAINHOOK_DECL std::string whole_name(std::string_view name) const;

  TRAINHOOK_DECL Variable add_variable(std::string_view name, DType dtype, const Shape& shape, bool trainable);

  TRAINHOOK_DECL Variable add_memory(std::string_view name, DType dtype, const Shape& natural,
                                     const MemoryOptions& options, Layout natural_layout,
                                     std::function<std::span<std::byte>()> memory);

  TRAINHOOK_DECL Variable add(detail::VariableBinding binding);
  TRAINHOOK_DECL Output add_value(std::string_view name, const OutputSpec& spec, std::function<Tensor()> give);
  TRAINHOOK_DECL void run_step(const RunRequest& request);
  TRAINHOOK_DECL void run_operation(const Node& node);
  TRAINHOOK_DECL void initialize();

  Graph graph_;
  detail::NodeValues values_;
  Variable global_step_;
  detail::BoundState bound_;
  std::function<void()> initialize_;
  std::int64_t step_ = 0;
  std::int64_t step_of_run_ = 0;
  bool was_opened_ = false;
  bool is_open_ = false;
  bool is_closed_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/loop/impl/loop_session.ipp>
#endif
