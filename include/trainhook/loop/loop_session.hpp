// SPDX-License-Identifier: Apache-2.0
/// @file
/// LoopSession: an engine whose step is your own code and whose variables are your own memory.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/refusal.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/loop/loop_state.hpp>
#include <trainhook/loop/state_binding.hpp>
#include <trainhook/loop/variable_memory.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_forms.hpp>

namespace trainhook {

struct GraphExport;

namespace detail {

class LoopAccess;

/// A contiguous range of elements, possibly constant.
template <class R>
concept DenseResult = requires(const R& result) {
  std::data(result);
  std::size(result);
  requires SingleValue<std::remove_const_t<PointedElement<R>>>;
};

/// A function for `value()`: returns a number, a string, or a contiguous range of numbers.
template <class F>
concept ValueFunction = std::invocable<F&> && (TensorElement<std::remove_cvref_t<std::invoke_result_t<F&>>> ||
                                               DenseResult<std::remove_cvref_t<std::invoke_result_t<F&>>>);

}  // namespace detail

/// Puts hooks, checkpoints and TensorBoard around a plain loop. Register your variables and other state, pass the loop
/// to `monitored_training_session`, and run your step: `session.run([&] { loss = descend(); })`.
///
/// The loop refers to registered objects: they must outlive the session and stay where they are; a vector may
/// reallocate but must keep its size unless it is `resizable`. So must the loop, or its destructor ends the program,
/// after a log line. Names are unique. Registration ends when the session is created.
///
/// A run calls the step, then reads what is fetched, once each, as it is after the step; the global step as it was
/// before. The step and values may run the session. Use it on one thread at a time.
class LoopSession : public RunForms<LoopSession, true> {
 public:
  static constexpr bool kRunsUserCode = true;

  TRAINHOOK_DECL LoopSession();
  LoopSession(const LoopSession&) = delete;
  TRAINHOOK_MISTAKE("a loop refers to your variables and is not copied: pass it as LoopSession&",
                    std::same_as<LoopSession> Same)
  LoopSession(Same& other) TRAINHOOK_REFUSED;
  LoopSession& operator=(const LoopSession&) = delete;
  TRAINHOOK_DECL ~LoopSession();

  /// Makes `memory` a variable: it is saved and restored, and can be fetched and summarised. `memory` is a number, a
  /// bool, or a vector, array or dense matrix of them.
  /// @throws InvalidArgumentError if the name is taken, the shape does not fit, or what is to be resizable is not;
  /// FailedPreconditionError if the session has been created.
  template <VariableMemory Memory>
  Variable variable(std::string_view name, Memory& memory, const MemoryOptions& options = {}) {
    detail::check_in_one_piece(name, memory);
    return add_memory(name, dtype_of<detail::MemoryElement<Memory>>, options, detail::natural_layout<Memory>(),
                      detail::memory_viewer(memory), detail::memory_resizer(memory));
  }
  /// The same for the memory of a span, which must stay where it is.
  template <TensorElement T, std::size_t Extent>
  Variable variable(std::string_view name, std::span<T, Extent> memory, const MemoryOptions& options = {}) {
    return add_memory(name, dtype_of<T>, options, Layout::RowMajor, [memory] {
      return detail::MemoryView{std::as_writable_bytes(memory), detail::natural_shape(memory)};
    });
  }
  /// The same for memory that only `external.read` and `external.write` can access, such as a GPU's.
  TRAINHOOK_DECL Variable variable(std::string_view name, ExternalVariable external);

  TRAINHOOK_MISTAKE("this memory is gone after the call: give it a name that lives longer than the session",
                    class Temporary)
  Variable variable(std::string_view name, const Temporary&& memory,
                    const MemoryOptions& options = {}) TRAINHOOK_REFUSED;
  TRAINHOOK_MISTAKE("a shape is an option: write loop.variable(name, memory, {.shape = {2, 3}})", class Memory,
                    std::integral Dim, std::size_t Rank)
  Variable variable(std::string_view name, Memory&& memory, const Dim (&shape)[Rank])
    requires(!std::same_as<Dim, bool>)  // g++ takes {.trainable = false} for an array
  TRAINHOOK_REFUSED;
  TRAINHOOK_MISTAKE(
      "a variable is a number or one piece of numbers, and not const: write std::span(pointer, size) for a pointer, "
      "std::vector<std::uint8_t> for bools, std::span(reinterpret_cast<Half*>(pointer), size) for another half type, "
      "one vector for all rows, state(name, ...) for anything else",
      class Memory)
  Variable variable(std::string_view name, Memory& memory, const MemoryOptions& options = {})
    requires(!VariableMemory<Memory>)
  TRAINHOOK_REFUSED;

  /// Saves and restores `object` with the variables: a generator of `<random>`, a number or string, a trivially
  /// copyable object without pointers, or a container, optional, pair or tuple of such. A struct has a `visit_state`,
  /// and each member is a state of its own, `name/member`. State that was saved as another type, as far as types show
  /// what they have, is an InvalidArgumentError that ends the start.
  ///
  /// A restore sets `object` in place. Elements of a vector, deque, list or string of the saved size keep their
  /// addresses, and so do the values of a map with the saved keys; all others move: create threads that hold references
  /// into them after the session.
  template <LoopState T>
  void state(std::string_view name, T& object) {
    if constexpr (detail::VisitedState<T>) {
      const auto visit = [this, &name](std::string_view member, auto& value) {
        this->state(std::string(name).append("/").append(member), value);
      };
      visit_state(visit, object);
    } else {
      add_state(detail::state_of(state_name(name), object));
    }
  }
  /// The same with a pair of functions: `save` returns a string and `load` takes one, or both use Tensors of one dtype.
  /// A restore sets variables and state in the order of their registration. If `load` throws, the restore fails, and
  /// what was already set gets its old value back.
  template <class Save, class Load>
    requires StateFunctions<Save, Load>
  void state(std::string_view name, Save save, Load load) {
    add_state(detail::state_by(state_name(name), std::move(save), std::move(load)));
  }
  TRAINHOOK_MISTAKE("this object is gone after the call: give it a name that lives longer than the session",
                    class Temporary)
  void state(std::string_view name, const Temporary&& object)
    requires(!std::invocable<Temporary&> || LoopState<Temporary>)
  TRAINHOOK_REFUSED;
  TRAINHOOK_MISTAKE("a function that saves needs one that loads: use state(name, save, load)", class Save)
  void state(std::string_view name, const Save&& save)
    requires(std::invocable<Save&> && !LoopState<Save>)
  TRAINHOOK_REFUSED;
  TRAINHOOK_MISTAKE(
      "not a generator, number, string, trivially copyable object without addresses or container of such, or const: "
      "write visit_state(visit, object) for a struct, std::map for an unordered map, or use state(name, save, load)",
      class Object)
  void state(std::string_view name, Object& object)
    requires(!LoopState<Object>)
  TRAINHOOK_REFUSED;
  TRAINHOOK_MISTAKE(
      "load takes what save returns, a std::string or a Tensor: use state(name, [&] { return std::string(...); }, "
      "[&](const std::string& saved) { ... })",
      class Save, class Load)
  void state(std::string_view name, Save&& save, Load&& load)
    requires(!StateFunctions<std::remove_cvref_t<Save>, std::remove_cvref_t<Load>>)
  TRAINHOOK_REFUSED;

  /// Adds a named value that hooks can fetch and summaries can show. Runs that fetch it call `function` after the step.
  template <detail::ValueFunction Function>
  Output value(std::string_view name, Function function) {
    using Result = std::remove_cvref_t<std::invoke_result_t<Function&>>;
    if constexpr (TensorElement<Result>) {
      return add_value(name, {dtype_of<Result>, Shape{}},
                       [function = std::move(function)]() mutable { return Tensor(function()); });
    } else {
      using Item = std::remove_const_t<detail::PointedElement<Result>>;
      return add_value(name, {dtype_of<Item>, PartialShape{detail::kSizeOfType<Result>}},
                       [function = std::move(function)]() mutable {
                         const auto& result = function();
                         const std::span<const Item> elements(std::data(result), std::size(result));
                         return Tensor::copy_of(elements, detail::natural_shape(elements));
                       });
    }
  }
  /// The same for a function that returns a Tensor, whose dtype and shape are given by `spec`.
  template <std::invocable Function>
    requires std::same_as<std::remove_cvref_t<std::invoke_result_t<Function&>>, Tensor>
  Output value(std::string_view name, Function function, const OutputSpec& spec) {
    return add_value(name, spec, std::move(function));
  }

  TRAINHOOK_MISTAKE("a value is computed after each step: give it a function without parameters, [&] { return loss; }",
                    class Value)
  Output value(std::string_view name, const Value& value)
    requires(!std::invocable<const Value&> && !std::invocable<Value&>)
  TRAINHOOK_REFUSED;
  TRAINHOOK_MISTAKE(
      "the function of a value returns a number, a string or a range of numbers; for a Tensor write value(name, "
      "function, OutputSpec{dtype, shape})",
      class Function)
  Output value(std::string_view name, Function&& function)
    requires(std::invocable<std::remove_cvref_t<Function>&> && !detail::ValueFunction<std::remove_cvref_t<Function>>)
  TRAINHOOK_REFUSED;

  /// Adds a summary that `encode` creates: it receives the tag and returns a serialized Summary, for example from
  /// `events/summary.hpp`. Runs that fetch the summary call it after the step. The tag is `name`, made unique among the
  /// loop's summaries. For images and audio see `media/loop_summaries.hpp`.
  TRAINHOOK_DECL Output summary(std::string_view name, std::function<std::string(std::string_view tag)> encode);

  TRAINHOOK_MISTAKE(
      "the function of a summary takes its tag and returns a serialized Summary: write [&](std::string_view tag) "
      "{ return scalar_summary(tag, loss); }",
      class Function)
  Output summary(std::string_view name, Function&& encode)
    requires(!std::convertible_to<Function, std::function<std::string(std::string_view)>>)
  TRAINHOOK_REFUSED;

  /// Sets the function that initializes all variables and state; a new session calls it if it finds no checkpoint.
  /// Without it, the first session uses the memory as it is, and a session that fails before its first checkpoint
  /// cannot be recovered.
  TRAINHOOK_DECL void init(std::function<void()> initialize);
  TRAINHOOK_MISTAKE("the function that initializes has no parameters: write [&] { weights.assign(3, 0); }",
                    class Function)
  void init(Function&& initialize)
    requires(!std::convertible_to<Function, std::function<void()>>)
  TRAINHOOK_REFUSED;

  /// Has the graph written beside checkpoints, as `graph.pbtxt`, `.meta` files and graph events: by `graph_export()` of
  /// model/graph_def/meta_graph_def.hpp, which must outlive the session.
  void export_graph(const GraphExport& how) noexcept { graph_export_ = &how; }

  /// The number of steps done so far.
  [[nodiscard]] TRAINHOOK_DECL std::int64_t global_step() const noexcept;

  [[nodiscard]] TRAINHOOK_DECL Graph& graph() noexcept;

  // What sessions and savers call: see SessionLike.

  /// Starts a session and ends registration. From the second session on, variables are uninitialized until they are
  /// restored or initialized. @throws FailedPreconditionError if the last session is still open.
  TRAINHOOK_DECL void open();
  TRAINHOOK_DECL void execute(const RunRequest& request, std::span<Tensor> results);
  [[nodiscard]] TRAINHOOK_DECL std::vector<StateSpec> state() const;

  /// Copies of the current values. @throws the errors of `save` functions.
  [[nodiscard]] TRAINHOOK_DECL std::vector<NamedTensor> snapshot(std::span<const std::string> names);

  /// One value of a snapshot; the loop keeps no copy of it, so a save that writes the values one at a time needs no
  /// copy of the whole model. @throws NotFoundError for an unknown name.
  [[nodiscard]] TRAINHOOK_DECL Tensor saved_value(std::string_view name) const;

  /// A variable's elements in the memory that it was registered with; none if that is not row-major, or external.
  [[nodiscard]] TRAINHOOK_DECL StateMemory memory(std::string_view name) const;

  /// One value of a snapshot, where the variable's memory makes one by itself: see ExternalVariable.
  [[nodiscard]] TRAINHOOK_DECL std::function<Tensor()> deferred_value(std::string_view name);

  [[nodiscard]] const GraphExport* graph_export() const noexcept { return graph_export_; }

  TRAINHOOK_DECL void load(std::span<const NamedTensor> entries, FillMemory fill = {});
  TRAINHOOK_DECL void close() noexcept;
  void run_request(const RunRequest& request, std::span<Tensor> results) { execute(request, results); }

 private:
  struct Impl;
  friend class detail::LoopAccess;

  TRAINHOOK_DECL void add_state(detail::StateBinding binding);
  TRAINHOOK_DECL static std::string state_name(std::string_view name);
  TRAINHOOK_DECL Variable add_memory(std::string_view name, DType dtype, const MemoryOptions& options,
                                     Layout natural_layout, std::function<detail::MemoryView()> view,
                                     detail::MemoryResizer resize = nullptr);
  TRAINHOOK_DECL Output add_value(std::string_view name, const OutputSpec& spec, std::function<Tensor()> give);

  const GraphExport* graph_export_ = nullptr;
  std::unique_ptr<Impl> impl_;
};

namespace detail {

/// Registers the state of another part of the library, such as an iterator.
class LoopAccess {
 public:
  static void add_state(LoopSession& loop, StateBinding binding) { loop.add_state(std::move(binding)); }
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/loop/impl/loop_session.ipp>
#endif
