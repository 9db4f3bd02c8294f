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

#include <trainhook/core/clock.hpp>
#include <trainhook/graph/constant_ops.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/loop/bound_state.hpp>
#include <trainhook/loop/node_values.hpp>
#include <trainhook/session/run_forms.hpp>
#include <trainhook/session/session_like.hpp>

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

/// Calls its function when it goes.
template <class F>
class AtExit {
 public:
  explicit AtExit(F function) : function_(std::move(function)) {}
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;
  ~AtExit() { function_(); }

 private:
  F function_;
};

}  // namespace detail

/// Puts hooks, checkpoints and TensorBoard around a loop in plain C++. You register what there is, then hand the loop to
/// `monitored_training_session` and run your step as a callable: `session.run([&] { loss = gradient_step(weights); })`.
///
/// What is registered is referred to, never copied: it must outlive the session and stay where it is (a vector may get other memory but
/// must keep its size). Names are unique. Registration ends with `open()`.
///
/// A run calls the step, then gives the fetches: variables and values as they are *after* the step, each read at most once a run; of the
/// global step the value *before*, as TensorFlow's hooks see it. The step counts by 1 for each callable that returned. Reading and loading
/// happen on the thread that calls the session; your memory has no lock, so calls from several threads are yours to keep apart.
class LoopSession : public RunForms<LoopSession, true> {
 public:
  static constexpr bool kRunsUserCode = true;

  LoopSession() : values_(graph_), global_step_(create_global_step(graph_)) {
    values_.set_leaf(global_step_.handle.node(), [this] { return Tensor(step_of_run_); });
    detail::StateBinding step = detail::state_of(global_step_.name(), step_);
    step.kind = StateKind::Variable;
    bound_.add(std::move(step));
  }
  LoopSession(const LoopSession&) = delete;
  LoopSession& operator=(const LoopSession&) = delete;

  /// Makes `memory` a variable: saved, restored, to be fetched and summarised. A number, a truth value, or a vector, array or dense matrix
  /// of them.
  /// @throws InvalidArgumentError where the name is taken or the shape does not fit; FailedPreconditionError once the session was opened.
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
  void variable(std::string_view name, const Temporary&& memory, const MemoryOptions& options = {}) = delete;  // would dangle

  /// The same for memory that only `external.read` and `external.write` can reach, as a GPU's.
  Variable variable(std::string_view name, ExternalVariable external) {
    if (!external.read || !external.write) throw InvalidArgumentError("variable '", name, "' needs a function to read and one to write");
    if (external.dtype == DType::String || dtype_size(external.dtype) == 0)
      throw InvalidArgumentError("variable '", name, "' needs a dtype of fixed size");
    const Variable variable = add_variable(name, external.dtype, external.shape, external.trainable);
    return add(detail::VariableBinding(variable, std::move(external)));
  }

  /// Saves and restores `object` beside the variables: a generator of `<random>`, a number or string, or an object whose bytes are its
  /// value.
  template <LoopState T>
  void state(std::string_view name, T& object) {
    add_state(detail::state_of(state_name(name), object));
  }
  template <class Temporary>
  void state(std::string_view name, const Temporary&& object) = delete;  // would dangle

  /// The same by a pair of functions: `save` gives a string and `load` takes one, or both a Tensor of one dtype. What `load` throws makes
  /// the restore fail; what had been loaded before is then taken back through it.
  template <class Save, class Load>
    requires StateFunctions<Save, Load>
  void state(std::string_view name, Save save, Load load) {
    add_state(detail::state_by(state_name(name), std::move(save), std::move(load)));
  }

  /// Gives a value a name by which hooks fetch it and summaries show it. The function is called in runs that want it, after the step.
  template <detail::ValueFunction Function>
  Output value(std::string_view name, Function function) {
    using Result = std::remove_cvref_t<std::invoke_result_t<Function&>>;
    if constexpr (TensorElement<Result>) {
      return add_value(name, {dtype_of<Result>, Shape{}}, [function = std::move(function)]() mutable { return Tensor(function()); });
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

  /// Registers how everything gets its initial values. Called where a new session finds no checkpoint; without it, the first session takes
  /// the memory as it is, and a session that was lost before its first checkpoint cannot be made anew.
  void init(std::function<void()> initialize) {
    expect_registering("init()");
    initialize_ = std::move(initialize);
  }

  /// Registers state of a library's own part, for example an input iterator's.
  void add_state(detail::StateBinding binding) {
    expect_registering(binding.name);
    bound_.add(std::move(binding));
  }

  /// The number of steps that the loop has behind it.
  [[nodiscard]] std::int64_t global_step() const noexcept { return step_; }

  /// Begins a session; registration ends here. Called by whoever creates the monitored session. After the first time the memory counts as
  /// lost: it must be restored or initialized. @throws FailedPreconditionError where the last session is still open.
  void open() {
    if (is_open_) throw FailedPreconditionError("the loop already has a session; close it before making another");
    if (was_opened_) bound_.begin_anew();
    is_open_ = was_opened_ = true;
    is_closed_ = false;
  }

  // What an engine offers.

  [[nodiscard]] Graph& graph() noexcept { return graph_; }

  void execute(const RunRequest& request, std::span<Tensor> results) {
    if (is_closed_) throw FailedPreconditionError("the loop's session is closed; make a new one to go on");
    if (results.size() != request.fetches.size()) {
      throw InvalidArgumentError("there is room for ", results.size(), " results of ", request.fetches.size(), " fetches");
    }
    const detail::AtExit end_run([this]() noexcept { values_.end_run(); });
    values_.begin_run(request.feeds);
    for (const Fetch& fetch : request.fetches) {
      if (&fetch.node().graph() != &graph_)
        throw InvalidArgumentError("fetch '", fetch.node().name(), "' belongs to another graph than the loop's");
    }
    step_of_run_ = step_;
    if (request.step) run_step(request);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Fetch& fetch = request.fetches[i];
      if (fetch.is_operation()) {
        run_operation(fetch.node());
        results[i] = Tensor();
      } else {
        results[i] = values_.get(Output(&fetch.node(), static_cast<std::size_t>(fetch.index())));
      }
    }
  }

  [[nodiscard]] std::vector<StateSpec> state() const { return bound_.specs(); }

  /// Copies of the present values, one pass over the memory. @throws also what a state's own `save` throws.
  [[nodiscard]] std::vector<NamedTensor> snapshot(std::span<const std::string> names) {
    std::vector<NamedTensor> entries;
    entries.reserve(names.size());
    for (const std::string& name : names) entries.push_back({name, bound_.save(name)});
    return entries;
  }

  void load(std::span<const NamedTensor> entries) { bound_.load(entries); }

  void close() noexcept {
    is_closed_ = true;
    is_open_ = false;
  }

  void run_request(const RunRequest& request, std::span<Tensor> results) { execute(request, results); }

 private:
  static std::string state_name(std::string_view name) {
    if (name.empty()) throw InvalidArgumentError("a state of the loop needs a name");
    return str_cat("_trainhook/state/", name);
  }

  void expect_registering(std::string_view what) const {
    if (was_opened_) throw FailedPreconditionError("'", what, "' comes too late: the loop's session was made; register everything before");
  }

  // The name a node will have here, which must be free: a suffix would make a checkpoint's names depend on the order of registration.
  [[nodiscard]] std::string whole_name(std::string_view name) const {
    expect_registering(name);
    const std::string full = graph_.current_scope() + std::string(name);
    if (graph_.find_operation(full).has_value())
      throw InvalidArgumentError("the loop already has something called '", full, "'; give each its own name");
    return full + "/";
  }

  Variable add_variable(std::string_view name, DType dtype, const Shape& shape, bool trainable) {
    const std::string whole = whole_name(name);
    Variable variable;
    variable.trainable = trainable;
    variable.handle = graph_.add(
        {.type = "VariableV2",
         .name = whole,
         .attrs = {{"container", std::string()}, {"dtype", dtype}, {"shape", PartialShape(shape)}, {"shared_name", std::string()}},
         .outputs = {{dtype, shape}}});
    variable.read = graph_
                        .add({.type = "Identity",
                              .name = whole + "read/",
                              .inputs = {variable.ref()},
                              .attrs = {{"T", dtype}},
                              .outputs = {{dtype, shape}}})
                        .output();
    graph_.add_to_collection(graph_keys::kGlobalVariables, variable);
    if (trainable) graph_.add_to_collection(graph_keys::kTrainableVariables, variable);
    return variable;
  }

  Variable add_memory(std::string_view name, DType dtype, const Shape& natural, const MemoryOptions& options, Layout natural_layout,
                      std::function<std::span<std::byte>()> memory) {
    const Shape shape = detail::resolve_shape(name, options.shape, natural);
    const Layout layout = shape.rank() == 1 && !options.layout ? Layout::RowMajor : options.layout.value_or(natural_layout);
    if (layout == Layout::ColumnMajor && shape.rank() != 2) {
      throw InvalidArgumentError("variable '", name, "': column-major memory needs the shape {rows, columns}, not ", shape);
    }
    return add(detail::VariableBinding(add_variable(name, dtype, shape, options.trainable), std::move(memory), layout));
  }

  Variable add(detail::VariableBinding binding) {
    detail::VariableBinding& added = bound_.add(std::move(binding));
    values_.set_leaf(added.variable().handle.node(), [&added] { return added.read(); });
    return added.variable();
  }

  Output add_value(std::string_view name, const OutputSpec& spec, std::function<Tensor()> give) {
    const Output output = placeholder(graph_, spec.dtype, spec.shape, whole_name(name));
    values_.set_leaf(output.node(), std::move(give));
    return output;
  }

  void run_step(const RunRequest& request) {
    const bool traced = request.metadata != nullptr && request.options != nullptr && request.options->trace_level != TraceLevel::None;
    const double start = traced ? system_clock().wall_seconds() : 0;
    request.step();
    ++step_;
    if (!traced) return;
    const auto micros = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e6); };
    request.metadata->node_stats = {
        {.node_name = "step", .op_type = "UserCode", .start_micros = micros(start), .end_micros = micros(system_clock().wall_seconds())}};
  }

  void run_operation(const Node& node) {
    if (node.type() == "NoOp") {
      for (const Operation& input : node.control_inputs()) run_operation(input.node());
    } else if (&node == &global_step_.initializer.node()) {
      initialize();
    } else if (!node.outputs().empty()) {
      (void)values_.get(Output(const_cast<Node*>(&node), 0));
    } else {
      throw UnimplementedError("LoopSession cannot run '", node.name(), "' (", node.type(), "): do it in the step");
    }
  }

  void initialize() {
    const std::string* lost = bound_.uninitialized();
    if (lost != nullptr && !initialize_) {
      throw FailedPreconditionError("the loop's last session is gone and there is no checkpoint to go on from, so '", *lost,
                                    "' has no known value; register initial values with init(), or give a checkpoint_dir");
    }
    if (initialize_) initialize_();
    bound_.set_initialized();
    step_ = 0;
  }

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
