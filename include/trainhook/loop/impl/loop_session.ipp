// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/loop/loop_session.hpp>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/loop/bound_state.hpp>
#include <trainhook/loop/node_values.hpp>
#include <trainhook/session/session_like.hpp>

namespace trainhook::detail {

// Calls its function when it is destroyed.
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

inline PartialShape with_any_rows(const Shape& shape) {
  std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
  if (!dims.empty()) dims[0] = kUnknownDim;
  return PartialShape(std::span<const std::int64_t>(dims));
}

}  // namespace trainhook::detail

namespace trainhook {

struct LoopSession::Impl {
  inline Impl();

  inline void expect_registering(std::string_view what) const;

  // The name of a new node. It must be free: with a suffix, the names in a checkpoint would depend on the order of
  // registration.
  [[nodiscard]] inline std::string whole_name(std::string_view name) const;

  inline Variable add_variable(std::string_view name, DType dtype, const PartialShape& shape, bool trainable,
                               const PartOf& part_of);
  inline Variable add(detail::VariableBinding binding);
  inline void run(const RunRequest& request, std::span<Tensor> results);
  inline void run_step(const RunRequest& request);
  inline void run_operation(const Node& node);
  inline void run_initializer();

  Graph graph;
  detail::NodeValues values;
  Variable global_step;
  detail::BoundState bound;
  std::function<void()> initialize;
  std::int64_t step = 0;
  std::int64_t step_of_run = 0;
  bool was_opened = false;
  bool is_open = false;
  bool is_closed = false;
  bool is_running = false;  // a run is made, and a further one is made from inside it
};

LoopSession::Impl::Impl() : values(graph), global_step(create_global_step(graph)) {
  graph.add_to_collection(summary::detail::kTagsOfALoop, true);
  values.set_leaf(global_step.handle.node(), [this] { return Tensor(step_of_run); });
  detail::StateBinding binding = detail::state_of(global_step.name(), step);
  binding.kind = StateKind::Variable;
  bound.add(std::move(binding));
}

LoopSession::LoopSession() : impl_(std::make_unique<Impl>()) {}

LoopSession::~LoopSession() {
  if (impl_->graph.is_left_in_use("loop")) static_cast<void>(impl_.release());  // for threads that still look at it
}

std::int64_t LoopSession::global_step() const noexcept { return impl_->step; }

Graph& LoopSession::graph() noexcept { return impl_->graph; }

std::vector<StateSpec> LoopSession::state() const { return impl_->bound.specs(); }

void LoopSession::load(std::span<const NamedTensor> entries, FillMemory fill) { impl_->bound.load(entries, fill); }

void LoopSession::close() noexcept {
  impl_->is_closed = true;
  impl_->is_open = false;
}

Variable LoopSession::variable(std::string_view name, ExternalVariable external) {
  if (!external.read || !external.write)
    throw InvalidArgumentError("variable '{}' needs a function to read and one to write", name);
  if (external.dtype == DType::String || dtype_size(external.dtype) == 0)
    throw InvalidArgumentError("variable '{}' needs a dtype of fixed size", name);
  const Variable variable =
      impl_->add_variable(name, external.dtype, external.shape, external.trainable, external.part_of);
  if (external.on_resume == OnResume::KeepInitial) keep_initial(impl_->graph, variable.name());
  return impl_->add(detail::VariableBinding(variable, std::move(external)));
}

void LoopSession::init(std::function<void()> initialize) {
  impl_->expect_registering("init()");
  impl_->initialize = std::move(initialize);
}

void LoopSession::add_state(detail::StateBinding binding) {
  impl_->expect_registering(binding.name);
  impl_->bound.add(std::move(binding));
}

void LoopSession::open() {
  if (impl_->is_open) throw FailedPreconditionError("the loop already has a session; close it before making another");
  if (impl_->was_opened) impl_->bound.begin_again();
  impl_->is_open = impl_->was_opened = true;
  impl_->is_closed = false;
}

void LoopSession::execute(const RunRequest& request, std::span<Tensor> results) {
  if (impl_->is_closed) throw FailedPreconditionError("the loop's session is closed; create a new one to continue");
  if (results.size() != request.fetches.size()) {
    throw InvalidArgumentError("there is room for {} results of {} fetches", results.size(), request.fetches.size());
  }
  if (!impl_->is_running) {
    impl_->is_running = true;
    const detail::AtExit end([this]() noexcept { impl_->is_running = false; });
    impl_->run(request, results);
    return;
  }
  detail::NodeValues::Suspended outer = impl_->values.suspend();  // this run is made from inside another one
  const std::int64_t step_of_outer = impl_->step_of_run;
  const detail::AtExit resume([&]() noexcept {
    impl_->values.resume(std::move(outer));
    impl_->step_of_run = step_of_outer;
  });
  impl_->run(request, results);
}

void LoopSession::Impl::run(const RunRequest& request, std::span<Tensor> results) {
  const detail::AtExit end_run([this]() noexcept { values.end_run(); });
  values.begin_run(request.feed_dict);
  for (const Fetch& fetch : request.fetches) {
    if (&fetch.node().graph() != &graph)
      throw InvalidArgumentError("fetch '{}' belongs to another graph than the loop's", fetch.node().name());
  }
  step_of_run = step;
  if (request.step) run_step(request);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Fetch& fetch = request.fetches[i];
    if (fetch.is_operation()) {
      run_operation(fetch.node());
      results[i] = Tensor();
    } else {
      results[i] = values.get(Output(&fetch.node(), static_cast<std::size_t>(fetch.index())));
    }
  }
}

std::vector<NamedTensor> LoopSession::snapshot(std::span<const std::string> names) {
  std::vector<NamedTensor> entries;
  entries.reserve(names.size());
  for (const std::string& name : names) entries.push_back({name, impl_->bound.save(name)});
  return entries;
}

Tensor LoopSession::saved_value(std::string_view name) const { return impl_->bound.save_once(name); }

StateMemory LoopSession::memory(std::string_view name) const { return impl_->bound.memory(name); }

std::function<Tensor()> LoopSession::deferred_value(std::string_view name) { return impl_->bound.deferred(name); }

std::string LoopSession::state_name(std::string_view name) {
  if (name.empty()) throw InvalidArgumentError("a state of the loop needs a name");
  return fmt::format("_trainhook/state/{}", name);
}

void LoopSession::Impl::expect_registering(std::string_view what) const {
  if (was_opened)
    throw FailedPreconditionError("'{}' comes too late: the loop's session was made; register everything before", what);
}

std::string LoopSession::Impl::whole_name(std::string_view name) const {
  expect_registering(name);
  const std::string full = graph.current_scope() + std::string(name);
  if (full == global_step.name()) {
    throw InvalidArgumentError(
        "the loop counts its runs in '{}' itself: ask it for global_step(), and give yours another name", full);
  }
  if (graph.find_operation(full).has_value())
    throw InvalidArgumentError("the loop already has something called '{}'; give each its own name", full);
  return full + "/";
}

Variable LoopSession::Impl::add_variable(std::string_view name, DType dtype, const PartialShape& shape, bool trainable,
                                         const PartOf& part_of) {
  const std::string whole = whole_name(name);
  Variable variable;
  if (part_of.shape.rank() > 0 || !part_of.offset.empty() || !part_of.name.empty()) {
    if (part_of.shape.rank() == 0 || part_of.offset.empty())
      throw InvalidArgumentError("variable '{}': `part_of` needs the `shape` of the whole and the `offset` in it",
                                 name);
    if (!shape.is_fully_known()) {
      throw InvalidArgumentError("variable '{}': a part of a tensor keeps its size: leave out `resizable` or `part_of`",
                                 name);
    }
    const std::string full_name = !part_of.name.empty() ? part_of.name : whole.substr(0, whole.size() - 1);
    const auto slice = detail::make_shared_object<SaveSliceInfo>(
        SaveSliceInfo{.full_name = full_name,
                      .full_shape = {part_of.shape.dims().begin(), part_of.shape.dims().end()},
                      .var_offset = part_of.offset,
                      .var_shape = {shape.dims().begin(), shape.dims().end()},
                      .is_own = true});
    slice->validate(name, shape);
    variable.save_slice_info = slice;
  }
  variable.trainable = trainable;
  variable.handle = detail::variable_handle(graph, whole, dtype, shape);
  variable.read = identity(variable.ref(), whole + "read/");
  graph.add_to_collection(graph_keys::kGlobalVariables, variable);
  if (trainable) graph.add_to_collection(graph_keys::kTrainableVariables, variable);
  return variable;
}

Variable LoopSession::add_memory(std::string_view name, DType dtype, const MemoryOptions& options,
                                 Layout natural_layout, std::function<detail::MemoryView()> view,
                                 detail::MemoryResizer resize) {
  const Shape natural = view().shape;
  const Shape shape = detail::resolve_shape(name, options.shape, natural);
  const Layout layout =
      shape.rank() == 1 && !options.layout ? Layout::RowMajor : options.layout.value_or(natural_layout);
  if (layout == Layout::ColumnMajor && shape.rank() != 2) {
    throw InvalidArgumentError("variable '{}': column-major memory needs the shape {{rows, columns}}, not {}", name,
                               shape);
  }
  if (!options.resizable) resize = nullptr;
  if (options.resizable && (!resize || shape.rank() == 0 || (natural.rank() > 1 && shape != natural))) {
    throw InvalidArgumentError(
        "variable '{}' cannot be `resizable`: only a vector can, or a matrix in its own shape whose type leaves the "
        "number of rows open",
        name);
  }
  const PartialShape in_memory = resize ? detail::with_any_rows(natural) : natural;
  const PartialShape of_variable = resize ? detail::with_any_rows(shape) : shape;
  auto memory = [name = std::string(name), view = std::move(view), natural, in_memory, of_variable] {
    detail::MemoryView now = view();
    if (!in_memory.compatible_with(now.shape)) {
      throw FailedPreconditionError(
          "variable '{}' had shape {} when it was registered and has {} now; its memory must keep its size as long as "
          "the session lives, or, for the number of rows, be registered with {{.resizable = true}}",
          name, natural, now.shape);
    }
    now.shape = detail::resolve_shape(name, of_variable, now.shape);
    return now;
  };
  const Variable variable = impl_->add_variable(name, dtype, of_variable, options.trainable, options.part_of);
  if (options.on_resume == OnResume::KeepInitial) keep_initial(impl_->graph, variable.name());
  return impl_->add(detail::VariableBinding(variable, std::move(memory), layout, std::move(resize)));
}

Variable LoopSession::Impl::add(detail::VariableBinding binding) {
  detail::VariableBinding& added = bound.add(std::move(binding));
  values.set_leaf(added.variable().handle.node(), [&added] { return added.read(); });
  return added.variable();
}

Output LoopSession::add_value(std::string_view name, const OutputSpec& spec, std::function<Tensor()> give) {
  const Output output = placeholder(impl_->graph, spec.dtype, spec.shape, impl_->whole_name(name));
  impl_->values.set_leaf(output.node(), [name = output.node().name(), give = std::move(give)] {
    return detail::call_of_user("the function of value", name, give);
  });
  return output;
}

Output LoopSession::summary(std::string_view name, std::function<std::string(std::string_view tag)> encode) {
  impl_->expect_registering(name);
  if (!encode) throw InvalidArgumentError("summary '{}' needs a function that encodes it", name);
  summary::detail::SummaryNames names = summary::detail::new_summary_names(impl_->graph, name);
  const Output output = placeholder(impl_->graph, DType::String, Shape{}, names.node + "/");
  impl_->values.set_leaf(output.node(), [tag = std::move(names.tag), encode = std::move(encode)] {
    return detail::call_of_user("the function of summary", tag, [&] { return Tensor(encode(tag)); });
  });
  impl_->graph.add_to_collection(graph_keys::kSummaries, output);
  return output;
}

void LoopSession::Impl::run_step(const RunRequest& request) {
  const bool traced = request.is_traced();
  const double start = traced ? system_clock().wall_seconds() : 0;
  request.step();
  ++step;
  if (!traced) return;
  const auto micros = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e6); };
  request.metadata->node_stats = {{.node_name = "step",
                                   .op_type = "UserCode",
                                   .start_micros = micros(start),
                                   .end_micros = micros(system_clock().wall_seconds())}};
}

void LoopSession::Impl::run_operation(const Node& node) {
  if (node.type() == "NoOp") {
    for (const Operation& input : node.control_inputs()) run_operation(input.node());
  } else if (&node == &global_step.initializer.node()) {
    run_initializer();
  } else if (!node.outputs().empty()) {
    (void)values.get(Output(const_cast<Node*>(&node), 0));
  } else {
    throw UnimplementedError("LoopSession cannot run '{}' ({}): do it in the step", node.name(), node.type());
  }
}

void LoopSession::Impl::run_initializer() {
  const std::string* lost = bound.uninitialized();
  if (lost != nullptr && !initialize) {
    throw FailedPreconditionError(
        "the loop's last session is gone and there is no checkpoint to resume from, so '{}' has no known value; "
        "register initial values with init(), or give a checkpoint_dir",
        *lost);
  }
  if (initialize) detail::call_of_user("the function given to init()", {}, initialize);
  bound.set_initialized();
  step = 0;
}

}  // namespace trainhook
