// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of loop_session.hpp.
#pragma once

#include <trainhook/loop/loop_session.hpp>

#include <fmt/core.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph_keys.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/session/session_like.hpp>

namespace trainhook::detail {

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

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL LoopSession::LoopSession() : values_(graph_), global_step_(create_global_step(graph_)) {
  values_.set_leaf(global_step_.handle.node(), [this] { return Tensor(step_of_run_); });
  detail::StateBinding step = detail::state_of(global_step_.name(), step_);
  step.kind = StateKind::Variable;
  bound_.add(std::move(step));
}

TRAINHOOK_DECL Variable LoopSession::variable(std::string_view name, ExternalVariable external) {
  if (!external.read || !external.write)
    throw InvalidArgumentError("variable '{}' needs a function to read and one to write", name);
  if (external.dtype == DType::String || dtype_size(external.dtype) == 0)
    throw InvalidArgumentError("variable '{}' needs a dtype of fixed size", name);
  const Variable variable = add_variable(name, external.dtype, external.shape, external.trainable);
  return add(detail::VariableBinding(variable, std::move(external)));
}

TRAINHOOK_DECL void LoopSession::init(std::function<void()> initialize) {
  expect_registering("init()");
  initialize_ = std::move(initialize);
}

TRAINHOOK_DECL void LoopSession::add_state(detail::StateBinding binding) {
  expect_registering(binding.name);
  bound_.add(std::move(binding));
}

TRAINHOOK_DECL void LoopSession::open() {
  if (is_open_) throw FailedPreconditionError("the loop already has a session; close it before making another");
  if (was_opened_) bound_.begin_anew();
  is_open_ = was_opened_ = true;
  is_closed_ = false;
}

TRAINHOOK_DECL void LoopSession::execute(const RunRequest& request, std::span<Tensor> results) {
  if (is_closed_) throw FailedPreconditionError("the loop's session is closed; make a new one to go on");
  if (results.size() != request.fetches.size()) {
    throw InvalidArgumentError("there is room for {} results of {} fetches", results.size(), request.fetches.size());
  }
  const detail::AtExit end_run([this]() noexcept { values_.end_run(); });
  values_.begin_run(request.feeds);
  for (const Fetch& fetch : request.fetches) {
    if (&fetch.node().graph() != &graph_)
      throw InvalidArgumentError("fetch '{}' belongs to another graph than the loop's", fetch.node().name());
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

TRAINHOOK_DECL std::vector<NamedTensor> LoopSession::snapshot(std::span<const std::string> names) {
  std::vector<NamedTensor> entries;
  entries.reserve(names.size());
  for (const std::string& name : names) entries.push_back({name, bound_.save(name)});
  return entries;
}

TRAINHOOK_DECL std::string LoopSession::state_name(std::string_view name) {
  if (name.empty()) throw InvalidArgumentError("a state of the loop needs a name");
  return fmt::format("_trainhook/state/{}", name);
}

TRAINHOOK_DECL void LoopSession::expect_registering(std::string_view what) const {
  if (was_opened_)
    throw FailedPreconditionError("'{}' comes too late: the loop's session was made; register everything before", what);
}

TRAINHOOK_DECL std::string LoopSession::whole_name(std::string_view name) const {
  expect_registering(name);
  const std::string full = graph_.current_scope() + std::string(name);
  if (graph_.find_operation(full).has_value())
    throw InvalidArgumentError("the loop already has something called '{}'; give each its own name", full);
  return full + "/";
}

TRAINHOOK_DECL Variable LoopSession::add_variable(std::string_view name, DType dtype, const Shape& shape,
                                                  bool trainable) {
  const std::string whole = whole_name(name);
  Variable variable;
  variable.trainable = trainable;
  variable.handle = graph_.add({.type = "VariableV2",
                                .name = whole,
                                .attrs = {{"container", std::string()},
                                          {"dtype", dtype},
                                          {"shape", PartialShape(shape)},
                                          {"shared_name", std::string()}},
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

TRAINHOOK_DECL Variable LoopSession::add_memory(std::string_view name, DType dtype, const Shape& natural,
                                                const MemoryOptions& options, Layout natural_layout,
                                                std::function<std::span<std::byte>()> memory) {
  const Shape shape = detail::resolve_shape(name, options.shape, natural);
  const Layout layout =
      shape.rank() == 1 && !options.layout ? Layout::RowMajor : options.layout.value_or(natural_layout);
  if (layout == Layout::ColumnMajor && shape.rank() != 2) {
    throw InvalidArgumentError("variable '{}': column-major memory needs the shape {{rows, columns}}, not {}", name,
                               shape);
  }
  return add(detail::VariableBinding(add_variable(name, dtype, shape, options.trainable), std::move(memory), layout));
}

TRAINHOOK_DECL Variable LoopSession::add(detail::VariableBinding binding) {
  detail::VariableBinding& added = bound_.add(std::move(binding));
  values_.set_leaf(added.variable().handle.node(), [&added] { return added.read(); });
  return added.variable();
}

TRAINHOOK_DECL Output LoopSession::add_value(std::string_view name, const OutputSpec& spec,
                                             std::function<Tensor()> give) {
  const Output output = placeholder(graph_, spec.dtype, spec.shape, whole_name(name));
  values_.set_leaf(output.node(), std::move(give));
  return output;
}

TRAINHOOK_DECL void LoopSession::run_step(const RunRequest& request) {
  const bool traced =
      request.metadata != nullptr && request.options != nullptr && request.options->trace_level != TraceLevel::None;
  const double start = traced ? system_clock().wall_seconds() : 0;
  request.step();
  ++step_;
  if (!traced) return;
  const auto micros = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e6); };
  request.metadata->node_stats = {{.node_name = "step",
                                   .op_type = "UserCode",
                                   .start_micros = micros(start),
                                   .end_micros = micros(system_clock().wall_seconds())}};
}

TRAINHOOK_DECL void LoopSession::run_operation(const Node& node) {
  if (node.type() == "NoOp") {
    for (const Operation& input : node.control_inputs()) run_operation(input.node());
  } else if (&node == &global_step_.initializer.node()) {
    initialize();
  } else if (!node.outputs().empty()) {
    (void)values_.get(Output(const_cast<Node*>(&node), 0));
  } else {
    throw UnimplementedError("LoopSession cannot run '{}' ({}): do it in the step", node.name(), node.type());
  }
}

TRAINHOOK_DECL void LoopSession::initialize() {
  const std::string* lost = bound_.uninitialized();
  if (lost != nullptr && !initialize_) {
    throw FailedPreconditionError(
        "the loop's last session is gone and there is no checkpoint to go on from, so '{}' has no known value; "
        "register initial values with init(), or give a checkpoint_dir",
        *lost);
  }
  if (initialize_) initialize_();
  bound_.set_initialized();
  step_ = 0;
}

}  // namespace trainhook
