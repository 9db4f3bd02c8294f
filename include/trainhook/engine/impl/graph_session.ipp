// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/graph_session.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/engine/initial_values.hpp>
#include <trainhook/engine/kernel_threads.hpp>
#include <trainhook/engine/plan.hpp>
#include <trainhook/engine/planner.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/model/graph_def/meta_graph_def.hpp>
#include <trainhook/session/session_like.hpp>

namespace trainhook {
namespace detail {

inline std::vector<KernelGroup> groups_of(const KernelWidth& width, std::vector<KernelGroup> groups) {
  for (KernelGroup& group : groups) group = width.of(group);
  return groups;
}

}  // namespace detail

GraphSession::GraphSession(Graph& graph, const GraphSessionOptions& options)
    : graph_(graph),
      width_(detail::kernel_width(options.width)),
      kernels_(detail::groups_of(width_, options.kernels)),
      seed_(options.seed),
      clock_(options.clock == nullptr ? system_clock() : *options.clock),
      threads_(options.num_threads) {}

void GraphSession::execute(const RunRequest& request, std::span<Tensor> results) {
  if (closed_.load(std::memory_order_acquire)) throw FailedPreconditionError("Attempted to use a closed Session.");
  const detail::ScopedDenormals flushed(detail::Denormals::Flush);
  detail::Plan& plan = plan_for(request);
  if (results.size() != request.fetches.size()) {
    throw InvalidArgumentError("there is room for {} results of {} fetches", results.size(), request.fetches.size());
  }
  if (plan.only_reads && request.metadata == nullptr) {
    for (std::size_t i = 0; i < results.size(); ++i)
      plan.values[plan.results[i].value].variable()->read_into(results[i]);
    return;
  }
  for (const Feed& feed : request.feed_dict) check_feed(feed);
  detail::PlanRun(plan, threads_, clock_, request).run(results);
}

const GraphExport* GraphSession::graph_export() const noexcept { return &trainhook::graph_export(); }

std::vector<StateSpec> GraphSession::state() {
  const std::scoped_lock lock(mutex_);
  discover();
  std::vector<StateSpec> specs;
  specs.reserve(saved_.size());
  for (const Named& saved : saved_) specs.push_back(*saved.state->spec());
  return specs;
}

std::vector<NamedTensor> GraphSession::snapshot(std::span<const std::string> names) {
  const std::scoped_lock lock(mutex_);
  discover();
  std::vector<NamedTensor> entries;
  entries.reserve(names.size());
  for (const std::string& name : names) entries.push_back({name, named_state(name).save()});
  return entries;
}

void GraphSession::load(std::span<const NamedTensor> entries) {
  const std::scoped_lock lock(mutex_);
  discover();
  std::vector<std::function<void()>> commits;
  std::vector<Named> loaded;
  commits.reserve(entries.size());
  loaded.reserve(entries.size());
  for (const NamedTensor& entry : entries) {
    NodeState& state = named_state(entry.name);
    loaded.push_back({entry.name, &state});
    commits.push_back(state.prepare_load(entry.tensor));
  }
  std::ranges::sort(loaded, {}, &Named::state);
  const auto twice = std::ranges::adjacent_find(loaded, {}, &Named::state);
  if (twice != loaded.end()) throw InvalidArgumentError("'{}' is given twice", twice->name);
  for (const std::function<void()>& commit : commits) commit();
}

void GraphSession::draw_share(int number, int count) {
  const std::scoped_lock lock(mutex_);
  if (num_shares_ > 1) return;
  share_ = number;
  num_shares_ = count;
  for (const auto& [node, state] : states_) tell_share(*node, *state);
}

void GraphSession::close() noexcept {
  closed_.store(true, std::memory_order_release);
  const std::scoped_lock lock(mutex_);
  for (const auto& [node, state] : states_) state->cancel();
}

std::size_t GraphSession::hash_of(const RunRequest& request) noexcept {
  std::size_t hash = request.fetches.size();
  const auto mix = [&hash](std::size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15U + (hash >> 29U); };
  for (const Fetch& fetch : request.fetches) {
    mix(reinterpret_cast<std::uintptr_t>(&fetch.node()));
    mix(static_cast<std::size_t>(fetch.index()) + 1);
  }
  for (const Feed& feed : request.feed_dict) {
    mix(feed.key.has_value() ? reinterpret_cast<std::uintptr_t>(&feed.key.node()) : 0);
    mix(feed.key.index());
  }
  return hash ^ (hash >> (std::numeric_limits<std::size_t>::digits / 2));
}

detail::Plan& GraphSession::plan_for(const RunRequest& request) {
  const std::size_t hash = hash_of(request);
  std::atomic<detail::Plan*>& recent = recent_[hash % kRecent];
  if (detail::Plan* plan = recent.load(std::memory_order_acquire); plan != nullptr && plan->answers(request))
    return *plan;
  const std::scoped_lock lock(mutex_);
  const auto [first, last] = plans_.equal_range(hash);
  const auto known = std::find_if(first, last, [&](const auto& entry) { return entry.second->answers(request); });
  if (known != last) {
    recent.store(known->second.get(), std::memory_order_release);
    return *known->second;
  }
  detail::Plan& plan = *plans_.emplace(hash, make_plan(request))->second;
  recent.store(&plan, std::memory_order_release);
  return plan;
}

std::unique_ptr<detail::Plan> GraphSession::make_plan(const RunRequest& request) {
  if (request.step)
    throw UnimplementedError("this engine runs a graph; code of one's own as the step is for LoopSession");
  for (const Fetch& fetch : request.fetches) {
    if (&fetch.node().graph() != &graph_)
      throw InvalidArgumentError("fetch '{}' belongs to another graph than the session's", fetch.node().name());
  }
  for (const Feed& feed : request.feed_dict) graph_.check_belongs(feed.key, "a feed", "a run");
  const detail::FindState state_of = [this](const Node& node, const KernelDef* def) -> NodeState& {
    return state_of_node(node, def);
  };
  return detail::Planner(kernels_, state_of, request).make();
}

void GraphSession::check_feed(const Feed& feed) {
  if (feed.value.dtype() != feed.key.dtype()) {
    throw InvalidArgumentError("'{}' takes {} and was fed {}{}", feed.key.name(), feed.key.dtype(), feed.value.dtype(),
                               feed.value.shape());
  }
  const PartialShape& wanted = feed.key.shape();
  const std::span<const std::int64_t> dims = feed.value.shape().dims();
  bool fits = !wanted.has_rank() || wanted.rank() == dims.size();
  for (std::size_t i = 0; fits && i < wanted.dims().size(); ++i)
    fits = wanted[i] == kUnknownDim || wanted[i] == dims[i];
  if (!fits)
    throw InvalidArgumentError("Cannot feed value of shape {} for '{}', which has shape {}", feed.value.shape(),
                               feed.key.name(), wanted);
}

NodeState& GraphSession::state_of_node(const Node& node, const KernelDef* def) {
  std::unique_ptr<NodeState>& state = states_[&node];
  if (state == nullptr) {
    if (def == nullptr) {
      state = std::make_unique<VariableState>(node);
    } else {
      state = def->make_state(node, seed_);
    }
    tell_share(node, *state);
    if (closed_.load(std::memory_order_acquire)) state->cancel();
  }
  return *state;
}

void GraphSession::tell_share(const Node& node, NodeState& state) {
  if (num_shares_ == 1) return;
  if (searched_ != graph_.size()) initial_ = detail::nodes_of_initial_values(graph_);
  searched_ = graph_.size();
  if (!initial_.contains(&node)) state.draw_share(share_, num_shares_);
}

void GraphSession::discover() {
  if (discovered_ == graph_.size() && num_global_variables_ == count_global_variables()) return;
  names_.reserve(count_global_variables());
  states_.reserve(count_global_variables());
  for (; discovered_ < graph_.size(); ++discovered_) {
    const Node& node = graph_.nodes()[discovered_];
    if (detail::is_variable(node)) {
      names_.emplace(node.name(), &state_of_node(node, nullptr));
      continue;
    }
    const KernelDef* def = kernels_.find(node.type());
    if (def == nullptr || def->make_state == nullptr) continue;
    NodeState& state = state_of_node(node, def);
    const std::optional<StateSpec> spec = state.spec();
    if (!spec) continue;
    others_.push_back({names_.emplace(spec->name, &state).first->first, &state});
  }
  saved_.clear();
  saved_.reserve(count_global_variables() + others_.size());
  for (const Variable& variable : global_variables(graph_))
    saved_.push_back({variable.name(), &state_of_node(variable.handle.node(), nullptr)});
  num_global_variables_ = saved_.size();
  saved_.insert(saved_.end(), others_.begin(), others_.end());
}

std::size_t GraphSession::count_global_variables() const {
  const auto found = graph_.collections().find(graph_keys::kGlobalVariables);
  return found == graph_.collections().end() ? 0 : found->second.size();
}

NodeState& GraphSession::named_state(const std::string& name) {
  if (next_ >= saved_.size()) next_ = 0;
  if (next_ < saved_.size() && saved_[next_].name == name) return *saved_[next_++].state;
  const auto found = names_.find(name);
  if (found == names_.end()) throw NotFoundError("the session's graph has no variable or other state '{}'", name);
  return *found->second;
}

}  // namespace trainhook
