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
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/loop/memory_layout.hpp>
#include <trainhook/loop/state_binding.hpp>
#include <trainhook/loop/variable_memory.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_forms.hpp>

namespace trainhook {

namespace detail {

/// Several elements in one piece, possibly constant.
template <class R>
concept DenseResult = requires(const R& result) {
  std::data(result);
  std::size(result);
  requires SingleValue<std::remove_const_t<PointedElement<R>>>;
};

/// A function for `value()`: returns a number, a string, or several numbers in one piece.
template <class F>
concept ValueFunction = std::invocable<F&> && (TensorElement<std::remove_cvref_t<std::invoke_result_t<F&>>> ||
                                               DenseResult<std::remove_cvref_t<std::invoke_result_t<F&>>>);

}  // namespace detail

/// Puts hooks, checkpoints and TensorBoard around a loop in plain C++. Register your variables and other state, pass
/// the loop to `monitored_training_session`, and run your step as a callable: `session.run([&] { loss =
/// gradient_step(weights); })`.
///
/// Registered objects are referred to, never copied: they must outlive the session and stay where they are (a vector
/// may get other memory but must keep its size). Names are unique. Registration ends when the session is created.
///
/// A run calls the step, then computes the fetches: variables and values as they are *after* the step, each read at
/// most once in a run; the global step as it was *before* the step, which is what TensorFlow's hooks see. Every
/// callable that returns counts as one step. The step and the functions of values may make runs of their own. Memory is
/// read and written on the thread that calls the session, without a lock: do not call it from several threads at once.
class LoopSession : public RunForms<LoopSession, true> {
 public:
  static constexpr bool kRunsUserCode = true;

  TRAINHOOK_DECL LoopSession();
  LoopSession(const LoopSession&) = delete;
  LoopSession& operator=(const LoopSession&) = delete;
  TRAINHOOK_DECL ~LoopSession();

  /// Makes `memory` a variable, which is saved and restored and can be fetched and summarised. `memory` is a number, a
  /// bool, or a vector, array or dense matrix of them.
  /// @throws InvalidArgumentError if the name is taken or the shape does not fit; FailedPreconditionError if the
  /// session was created already.
  template <VariableMemory Memory>
  Variable variable(std::string_view name, Memory& memory, const MemoryOptions& options = {}) {
    detail::check_in_one_piece(name, memory);
    return add_memory(name, dtype_of<detail::MemoryElement<Memory>>, options, detail::natural_layout<Memory>(),
                      detail::memory_viewer(memory));
  }
  /// The same for the memory of a span, which must stay where it is.
  template <TensorElement T, std::size_t Extent>
  Variable variable(std::string_view name, std::span<T, Extent> memory, const MemoryOptions& options = {}) {
    return add_memory(name, dtype_of<T>, options, Layout::RowMajor, [memory] {
      return detail::MemoryView{std::as_writable_bytes(memory), detail::natural_shape(memory)};
    });
  }
  /// The same for memory that only `external.read` and `external.write` can reach, such as a GPU's.
  TRAINHOOK_DECL Variable variable(std::string_view name, ExternalVariable external);

  template <class Temporary>
  void variable(std::string_view name, const Temporary&& memory,
                const MemoryOptions& options = {}) = delete;  // would dangle

  /// Saves and restores `object` along with the variables: a generator of `<random>`, a number or string, or an object
  /// whose bytes are its value.
  template <LoopState T>
  void state(std::string_view name, T& object) {
    add_state(detail::state_of(state_name(name), object));
  }
  /// The same by a pair of functions: `save` returns a string and `load` takes one, or both use Tensors of one dtype.
  /// If `load` throws, the restore fails, and what was loaded before is loaded back.
  template <class Save, class Load>
    requires StateFunctions<Save, Load>
  void state(std::string_view name, Save save, Load load) {
    add_state(detail::state_by(state_name(name), std::move(save), std::move(load)));
  }
  template <class Temporary>
  void state(std::string_view name, const Temporary&& object) = delete;  // would dangle

  /// Names a value, for hooks to fetch and summaries to show. `function` is called after the step, in runs that fetch
  /// the value.
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
  /// The same for a function that returns a Tensor, whose dtype and shape are given by `spec`.
  template <std::invocable Function>
    requires std::same_as<std::remove_cvref_t<std::invoke_result_t<Function&>>, Tensor>
  Output value(std::string_view name, Function function, const OutputSpec& spec) {
    return add_value(name, spec, std::move(function));
  }

  /// Adds a summary that `encode` makes: it gets the tag and returns a serialized Summary, which `events/summary.hpp`
  /// and `events/tensor_summary.hpp` make. It is called after the step, in runs that fetch the summary. The tag is
  /// `name`, made unique as that of `summary::scalar`. Images and audio: `media/loop_summaries.hpp`.
  TRAINHOOK_DECL Output summary(std::string_view name, std::function<std::string(std::string_view tag)> encode);

  /// Sets the function that gives everything its initial values, called if a new session finds no checkpoint. Without
  /// it, the first session takes the memory as it is, and a session that is lost before its first checkpoint cannot be
  /// recovered.
  TRAINHOOK_DECL void init(std::function<void()> initialize);

  /// The number of steps done so far.
  [[nodiscard]] TRAINHOOK_DECL std::int64_t global_step() const noexcept;

  [[nodiscard]] TRAINHOOK_DECL Graph& graph() noexcept;

  // For the library: what a monitored session and the parts of a loop use.

  /// Begins a session; registration ends here. From the second session on, the memory counts as lost: it must be
  /// restored or initialized. @throws FailedPreconditionError if the last session is still open.
  TRAINHOOK_DECL void open();

  /// Registers the state of another part of the library, such as an iterator.
  TRAINHOOK_DECL void add_state(detail::StateBinding binding);

  TRAINHOOK_DECL void execute(const RunRequest& request, std::span<Tensor> results);
  [[nodiscard]] TRAINHOOK_DECL std::vector<StateSpec> state() const;

  /// Copies of the present values, in one pass over the memory. @throws whatever a `save` function throws.
  [[nodiscard]] TRAINHOOK_DECL std::vector<NamedTensor> snapshot(std::span<const std::string> names);

  /// One of the values of a snapshot, of which nothing is kept here: a save that writes one value after the other needs
  /// no copy of the whole model. @throws NotFoundError for an unknown name.
  [[nodiscard]] TRAINHOOK_DECL Tensor saved_value(std::string_view name) const;

  TRAINHOOK_DECL void load(std::span<const NamedTensor> entries);
  TRAINHOOK_DECL void close() noexcept;
  void run_request(const RunRequest& request, std::span<Tensor> results) { execute(request, results); }

 private:
  struct Impl;

  TRAINHOOK_DECL static std::string state_name(std::string_view name);
  TRAINHOOK_DECL Variable add_memory(std::string_view name, DType dtype, const MemoryOptions& options,
                                     Layout natural_layout, std::function<detail::MemoryView()> view);
  TRAINHOOK_DECL Output add_value(std::string_view name, const OutputSpec& spec, std::function<Tensor()> give);

  std::unique_ptr<Impl> impl_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/loop/impl/loop_session.ipp>
#endif
