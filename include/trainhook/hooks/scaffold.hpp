// SPDX-License-Identifier: Apache-2.0
/// @file
/// Scaffold: the parts from which a session is created, with defaults.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/feed.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class Saver;
class Scaffold;

/// Every part may be omitted.
struct ScaffoldOptions {
  Operation init_op{};                                         ///< default: initializes all global variables
  FeedDict init_feed_dict{};                                   ///< feeds for `init_op`
  std::function<void(const Scaffold&, SessionRef)> init_fn{};  ///< called after `init_op`
  Operation local_init_op{};                                   ///< default: initializes all local variables
  FeedDict local_init_feed_dict{};                             ///< feeds for `local_init_op`
  Output ready_op{};                 ///< a string vector of what is not ready; default: all uninitialized variables
  Output ready_for_local_init_op{};  ///< the same, before `local_init_op`; default: all uninitialized global variables
  Output summary_op{};               ///< default: all collected summaries merged
  std::shared_ptr<Saver> saver{};    ///< default: the one in the collection `savers`, or else one that saves everything
  std::shared_ptr<const Scaffold> copy_from_scaffold{};  ///< provides the parts that are not given here
};

/// The parts that a new session needs. `finalize` creates the missing ones. Source: TensorFlow's
/// `tf.compat.v1.train.Scaffold`.
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

  /// Creates the missing parts, shares them with other scaffolds through the graph's collections, and finalizes the
  /// graph. A second call does nothing.
  /// @throws FailedPreconditionError if a collection that must have one item has several; InvalidArgumentError for a
  /// part of another graph.
  TRAINHOOK_DECL void finalize(Graph& graph);

 private:
  TRAINHOOK_DECL void check_belongs(const Graph& graph) const;

  // The only item of a collection, if there is one.
  template <class T>
  static std::optional<T> only(const Graph& graph, std::string_view key);

  // An operation that runs all initializers; empty if there are none.
  TRAINHOOK_DECL static Operation initializers(Graph& graph, std::string_view key,
                                               const std::vector<Variable>& variables);

  TRAINHOOK_DECL static Output merged_summaries(Graph& graph);

  ScaffoldOptions pieces_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/scaffold.ipp>
#endif
