// SPDX-License-Identifier: Apache-2.0
/// @file
/// GraphSession: runs a Graph with the kernels it is given. EigenSession is this with all kernels of the library.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/engine/denormals.hpp>
#include <trainhook/engine/planner.hpp>
#include <trainhook/session/run_forms.hpp>
#include <trainhook/session/session_like.hpp>

namespace trainhook {

struct GraphSessionOptions {
  std::vector<KernelGroup> kernels{};  ///< for one op type, the earlier group's kernel counts
  std::uint64_t seed = 0;              ///< for random ops that were built without a seed; 0: another one each time
  Clock* clock = nullptr;              ///< for timeouts and traces; null: the machine's
};

/// An engine for graphs: holds the values of the variables, runs each request by a plan that is made once and kept.
/// `execute` may be called from several threads at once; each op that writes a variable is atomic, a run as a whole is not.
/// Everything else is called between runs. The graph must outlive the session; it may grow while the session lives.
class GraphSession : public RunForms<GraphSession, false> {
 public:
  explicit GraphSession(Graph& graph) : GraphSession(graph, GraphSessionOptions()) {}
  GraphSession(Graph& graph, const GraphSessionOptions& options)
      : graph_(graph), kernels_(options.kernels), seed_(options.seed), clock_(options.clock == nullptr ? system_clock() : *options.clock) {}
  GraphSession(const GraphSession&) = delete;
  GraphSession& operator=(const GraphSession&) = delete;
  ~GraphSession() = default;

  [[nodiscard]] Graph& graph() noexcept { return graph_; }

  /// Computes the fetches in one run. A request that was seen before costs a comparison, and allocates nothing from its third time on.
  /// Kernels take denormal floats for zero.
  /// @throws what a kernel throws, with node, op type and input shapes in front; InvalidArgumentError for feeds that do not fit.
  void execute(const RunRequest& request, std::span<Tensor> results) {
    if (closed_.load(std::memory_order_acquire)) throw FailedPreconditionError("Attempted to use a closed Session.");
    const detail::ScopedDenormals flushed(detail::Denormals::Flush);
    detail::Plan& plan = plan_for(request);
    if (results.size() != request.fetches.size()) {
      throw InvalidArgumentError("there is room for ", results.size(), " results of ", request.fetches.size(), " fetches");
    }
    if (plan.only_reads && request.metadata == nullptr) {
      for (std::size_t i = 0; i < results.size(); ++i) plan.results[i].source.variable->read_into(results[i]);
      return;
    }
    for (const Feed& feed : request.feeds) check_feed(feed);
    detail::PlanRun(plan, clock_, request).run(results);
  }

  /// The global variables, the generators of the random ops, the iterators.
  [[nodiscard]] std::vector<StateSpec> state() {
    const std::scoped_lock lock(mutex_);
    discover();
    std::vector<StateSpec> specs;
    for (const Node* node : saved_) specs.push_back(*find_state(*node)->spec());
    return specs;
  }

  /// Handles of the values as of now; no elements are copied until a variable is written again.
  [[nodiscard]] std::vector<NamedTensor> snapshot(std::span<const std::string> names) {
    const std::scoped_lock lock(mutex_);
    discover();
    std::vector<NamedTensor> entries;
    entries.reserve(names.size());
    for (const std::string& name : names) entries.push_back({name, named_state(name).save()});
    return entries;
  }

  /// @throws NotFoundError for a name that is none of this session's, InvalidArgumentError for a value that does not fit; then nothing has
  /// changed.
  void load(std::span<const NamedTensor> entries) {
    const std::scoped_lock lock(mutex_);
    discover();
    std::vector<std::function<void()>> commits;
    commits.reserve(entries.size());
    std::set<std::string_view> seen;
    for (const NamedTensor& entry : entries) {
      if (!seen.insert(entry.name).second) throw InvalidArgumentError("'", entry.name, "' is given twice");
      commits.push_back(named_state(entry.name).prepare_load(entry.tensor));
    }
    for (const std::function<void()>& commit : commits) commit();
  }

  /// Ends the session: a later run throws FailedPreconditionError, one that waits for a queue CancelledError. Harmless when repeated; may
  /// be called while others run.
  void close() noexcept {
    closed_.store(true, std::memory_order_release);
    const std::scoped_lock lock(mutex_);
    for (const auto& [node, state] : states_) state->cancel();
  }

  void run_request(const RunRequest& request, std::span<Tensor> results) { execute(request, results); }

 private:
  static constexpr std::size_t kRecent = 8;

  [[nodiscard]] static std::size_t hash_of(const RunRequest& request) noexcept {
    std::size_t hash = request.fetches.size();
    const auto mix = [&hash](std::size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15U + (hash >> 29U); };
    for (const Fetch& fetch : request.fetches) {
      mix(reinterpret_cast<std::uintptr_t>(&fetch.node()));
      mix(static_cast<std::size_t>(fetch.index()) + 1);
    }
    for (const Feed& feed : request.feeds) {
      mix(feed.key.has_value() ? reinterpret_cast<std::uintptr_t>(&feed.key.node()) : 0);
      mix(feed.key.index());
    }
    return hash ^ (hash >> 32U);
  }

  detail::Plan& plan_for(const RunRequest& request) {
    const std::size_t hash = hash_of(request);
    std::atomic<detail::Plan*>& recent = recent_[hash % kRecent];
    if (detail::Plan* plan = recent.load(std::memory_order_acquire); plan != nullptr && plan->answers(request)) return *plan;
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

  [[nodiscard]] std::unique_ptr<detail::Plan> make_plan(const RunRequest& request) {
    if (request.step) throw UnimplementedError("this engine runs a graph; code of one's own as the step is for LoopSession");
    for (const Fetch& fetch : request.fetches) {
      if (&fetch.node().graph() != &graph_)
        throw InvalidArgumentError("fetch '", fetch.node().name(), "' belongs to another graph than the session's");
    }
    for (const Feed& feed : request.feeds) graph_.check_belongs(feed.key, "a feed", "a run");
    const detail::FindState state_of = [this](const Node& node, const KernelDef* def) -> NodeState& { return state_of_node(node, def); };
    return detail::Planner(kernels_, state_of, request).make();
  }

  static void check_feed(const Feed& feed) {
    if (feed.value.dtype() != feed.key.dtype()) {
      throw InvalidArgumentError("'", feed.key.name(), "' takes ", dtype_name(feed.key.dtype()), " and was fed ", feed.value);
    }
    const PartialShape& wanted = feed.key.shape();
    const std::span<const std::int64_t> dims = feed.value.shape().dims();
    bool fits = !wanted.has_rank() || wanted.rank() == dims.size();
    for (std::size_t i = 0; fits && i < wanted.dims().size(); ++i) fits = wanted[i] == kUnknownDim || wanted[i] == dims[i];
    if (!fits)
      throw InvalidArgumentError("Cannot feed value of shape ", feed.value.shape(), " for '", feed.key.name(), "', which has shape ",
                                 wanted);
  }

  NodeState& state_of_node(const Node& node, const KernelDef* def) {
    std::unique_ptr<NodeState>& state = states_[&node];
    if (state == nullptr) {
      if (def == nullptr) {
        state = std::make_unique<VariableState>(node);
      } else {
        state = def->make_state(node, seed_);
      }
      if (closed_.load(std::memory_order_acquire)) state->cancel();
    }
    return *state;
  }

  [[nodiscard]] NodeState* find_state(const Node& node) { return states_.at(&node).get(); }

  /// Looks at the nodes that were added since the last time.
  void discover() {
    if (discovered_ == graph_.size() && num_global_variables_ == count_global_variables()) return;
    for (; discovered_ < graph_.size(); ++discovered_) {
      const Node& node = graph_.nodes()[discovered_];
      const KernelDef* def = detail::is_variable(node) ? nullptr : kernels_.find(node.type());
      if (!detail::is_variable(node) && (def == nullptr || def->make_state == nullptr)) continue;
      const std::optional<StateSpec> spec = state_of_node(node, def).spec();
      if (!spec) continue;
      names_.emplace(spec->name, &node);
      if (!detail::is_variable(node)) others_.push_back(&node);
    }
    saved_.clear();
    for (const Variable& variable : global_variables(graph_)) saved_.push_back(&variable.handle.node());
    num_global_variables_ = saved_.size();
    saved_.insert(saved_.end(), others_.begin(), others_.end());
  }

  [[nodiscard]] std::size_t count_global_variables() const {
    const auto found = graph_.collections().find(graph_keys::kGlobalVariables);
    return found == graph_.collections().end() ? 0 : found->second.size();
  }

  [[nodiscard]] NodeState& named_state(const std::string& name) {
    const auto found = names_.find(name);
    if (found == names_.end()) throw NotFoundError("the session's graph has no variable or other state '", name, "'");
    return *find_state(*found->second);
  }

  Graph& graph_;
  const KernelTable kernels_;
  const std::uint64_t seed_;
  Clock& clock_;
  std::atomic<bool> closed_{false};
  std::array<std::atomic<detail::Plan*>, kRecent> recent_{};

  std::mutex mutex_;  // guards what follows
  std::unordered_map<const Node*, std::unique_ptr<NodeState>> states_;
  std::unordered_multimap<std::size_t, std::unique_ptr<detail::Plan>> plans_;
  std::unordered_map<std::string, const Node*> names_;
  std::vector<const Node*> others_;
  std::vector<const Node*> saved_;
  std::size_t discovered_ = 0;
  std::size_t num_global_variables_ = 0;
};

}  // namespace trainhook
