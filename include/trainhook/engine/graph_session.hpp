// SPDX-License-Identifier: Apache-2.0
/// @file
/// GraphSession: runs a Graph with the kernels it is given. EigenSession is this with all of `kernels::all()`.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/kernel_threads.hpp>
#include <trainhook/engine/kernel_width.hpp>
#include <trainhook/engine/plan.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_forms.hpp>

namespace trainhook {

struct GraphExport;

struct GraphSessionOptions {
  std::vector<KernelGroup> kernels{};  ///< if two groups have an op type, the earlier one is used
  std::uint64_t seed = 0;              ///< for random ops that were built without a seed; 0: a new one each time
  Clock* clock = nullptr;              ///< for timeouts and traces; null: the machine's

  /// How many threads share the work of one kernel, the caller's included. 0: OMP_NUM_THREADS, or the processors that
  /// the process may use. Results have the same bits for any number. Kernels too small to gain from it use one thread.
  /// All sessions of a process share the threads. TensorFlow's `intra_op_parallelism_threads`.
  std::size_t num_threads = 0;

  /// The width of the kernels' vectors: "sse2", "avx2" or "avx512". A program that links the compiled library has all
  /// three; on other processors, and header-only, there is one. Empty: the widest that the processor has. Another width
  /// gives other bits: name one if runs are to be the same on different machines.
  std::string width{};
};

/// An engine for graphs: holds the values of the variables, and makes and keeps a plan for each request. `execute` may
/// be called from several threads at once; each op that writes a variable is atomic, but a whole run is not. Call
/// everything else between runs. The graph must outlive the session; it may grow while the session lives.
class GraphSession : public RunForms<GraphSession, false> {
 public:
  explicit GraphSession(Graph& graph) : GraphSession(graph, GraphSessionOptions()) {}
  TRAINHOOK_DECL GraphSession(Graph& graph, const GraphSessionOptions& options);
  GraphSession(const GraphSession&) = delete;
  GraphSession& operator=(const GraphSession&) = delete;
  ~GraphSession() = default;

  [[nodiscard]] Graph& graph() noexcept { return graph_; }

  /// The width of vectors that the kernels use, as `GraphSessionOptions::width` names it.
  [[nodiscard]] std::string_view kernel_width() const noexcept { return width_.name; }

  [[nodiscard]] TRAINHOOK_DECL const GraphExport* graph_export() const noexcept;

  /// Computes the fetches in one run. A repeated request costs a comparison, and allocates nothing from its third time
  /// on, but for kernels so large that threads share them. Kernels treat denormal floats as zero.
  /// @throws what a kernel throws, with node, op type and input shapes in front; InvalidArgumentError for feeds that do
  /// not fit.
  TRAINHOOK_DECL void execute(const RunRequest& request, std::span<Tensor> results);

  /// The global variables, the generators of the random ops, the iterators.
  [[nodiscard]] TRAINHOOK_DECL std::vector<StateSpec> state();

  /// Returns handles of the current values. No elements are copied until a variable is written again.
  [[nodiscard]] TRAINHOOK_DECL std::vector<NamedTensor> snapshot(std::span<const std::string> names);

  /// @throws NotFoundError for a name that this session does not have, InvalidArgumentError for a value that does not
  /// fit. After an error, nothing has changed.
  TRAINHOOK_DECL void load(std::span<const NamedTensor> entries);

  /// Makes random ops draw the share `number` of the numbers that `count` sessions draw together, except those that
  /// compute initial values. Call it before the first step; only the first call has an effect.
  TRAINHOOK_DECL void draw_share(int number, int count);

  /// Ends the session: later runs throw FailedPreconditionError, and runs that wait for a queue CancelledError. May be
  /// called repeatedly, and during runs.
  TRAINHOOK_DECL void close() noexcept;

  void run_request(const RunRequest& request, std::span<Tensor> results) { execute(request, results); }

 private:
  static constexpr std::size_t kRecent = 8;

  /// A state, and the name that it has in checkpoints.
  struct Named {
    std::string_view name;
    NodeState* state = nullptr;
  };

  [[nodiscard]] TRAINHOOK_DECL static std::size_t hash_of(const RunRequest& request) noexcept;
  TRAINHOOK_DECL detail::Plan& plan_for(const RunRequest& request);
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<detail::Plan> make_plan(const RunRequest& request);
  TRAINHOOK_DECL static void check_feed(const Feed& feed);
  TRAINHOOK_DECL NodeState& state_of_node(const Node& node, const KernelDef* def);
  TRAINHOOK_DECL void tell_share(const Node& node, NodeState& state);

  /// Looks at the nodes that were added since the last time.
  TRAINHOOK_DECL void discover();

  [[nodiscard]] TRAINHOOK_DECL std::size_t count_global_variables() const;
  [[nodiscard]] TRAINHOOK_DECL NodeState& named_state(const std::string& name);

  Graph& graph_;
  const detail::KernelWidth& width_;
  const detail::KernelTable kernels_;
  const std::uint64_t seed_;
  Clock& clock_;
  detail::KernelThreads threads_;
  std::atomic<bool> closed_{false};
  std::array<std::atomic<detail::Plan*>, kRecent> recent_{};

  std::mutex mutex_;  // guards the members below
  std::unordered_map<const Node*, std::unique_ptr<NodeState>> states_;
  std::unordered_multimap<std::size_t, std::unique_ptr<detail::Plan>> plans_;
  std::unordered_map<std::string, NodeState*> names_;
  std::vector<Named> others_;
  std::vector<Named> saved_;
  std::size_t next_ = 0;  // in saved_: the name to try first, because names mostly come in order
  std::size_t discovered_ = 0;
  std::size_t num_global_variables_ = 0;
  int share_ = 0;  // of random numbers
  int num_shares_ = 1;
  std::unordered_set<const Node*> initial_;  // the nodes that initial values are computed from; for several ranks
  std::size_t searched_ = 0;                 // the size of the graph when `initial_` was found
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/graph_session.ipp>
#endif
