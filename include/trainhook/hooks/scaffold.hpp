// SPDX-License-Identifier: Apache-2.0
/// @file
/// Scaffold: the pieces that a session is made from, with defaults for those that are not given.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class Saver;
class Scaffold;

/// Every piece may be omitted.
struct ScaffoldOptions {
  Operation init_op{};        ///< default: all global variables get their initial values
  FeedDict init_feed_dict{};  ///< feeds for `init_op`
  std::function<void(const Scaffold&, SessionRef)> init_fn{};  ///< called after `init_op`
  Operation local_init_op{};        ///< default: all local variables get their initial values
  FeedDict local_init_feed_dict{};  ///< feeds for `local_init_op`
  Output ready_op{};                ///< string vector of what is not ready; default: all variables without a value
  Output
      ready_for_local_init_op{};   ///< the same, before `local_init_op`; default: all global variables without a value
  Output summary_op{};             ///< default: all collected summaries merged
  std::shared_ptr<Saver> saver{};  ///< default: the one in the collection `savers`, else one for everything
  std::shared_ptr<const Scaffold> copy_from_scaffold{};  ///< has the pieces that are not given here
};

/// Collects the pieces that a new session needs. Pieces that were not given are made when it is finalized. Source:
/// TensorFlow's `tf.compat.v1.train.Scaffold`.
class Scaffold {
 public:
  TRAINHOOK_DECL explicit Scaffold(ScaffoldOptions options = {});

  [[nodiscard]] Operation init_op() const noexcept { return pieces_.init_op; }
  [[nodiscard]] const FeedDict& init_feed_dict() const noexcept { return pieces_.init_feed_dict; }
  [[nodiscard]] Operation local_init_op() const noexcept { return pieces_.local_init_op; }
  [[nodiscard]] const FeedDict& local_init_feed_dict() const noexcept { return pieces_.local_init_feed_dict; }
  [[nodiscard]] Output ready_op() const noexcept { return pieces_.ready_op; }
  [[nodiscard]] Output ready_for_local_init_op() const noexcept { return pieces_.ready_for_local_init_op; }
  [[nodiscard]] Output summary_op() const noexcept { return pieces_.summary_op; }
  [[nodiscard]] const std::shared_ptr<Saver>& saver() const noexcept { return pieces_.saver; }
  [[nodiscard]] bool has_init_fn() const noexcept { return static_cast<bool>(pieces_.init_fn); }

  /// Calls the user's `init_fn` with this scaffold, if there is one.
  TRAINHOOK_DECL void init_fn(SessionRef session) const;

  /// Makes the missing pieces, shares them with other scaffolds through the graph's collections, and finalizes the
  /// graph. Harmless when repeated.
  /// @throws FailedPreconditionError if a collection that should have one item has several; InvalidArgumentError
  /// for a piece of another graph.
  TRAINHOOK_DECL void finalize(Graph& graph);

 private:
  TRAINHOOK_DECL void check_belongs(const Graph& graph) const;

  // The only item of a collection, if there is one.
  template <class T>
  static std::optional<T> only(const Graph& graph, std::string_view key);

  // An operation that runs all initial values; empty if there is nothing to run.
  TRAINHOOK_DECL static Operation initializers(Graph& graph, std::string_view key,
                                               const std::vector<Variable>& variables);

  TRAINHOOK_DECL static Output merged_summaries(Graph& graph);

  ScaffoldOptions pieces_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/scaffold.ipp>
#endif
