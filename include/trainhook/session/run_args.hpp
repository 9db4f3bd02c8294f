// SPDX-License-Identifier: Apache-2.0
/// @file
/// The arguments and results of a run: fetches, feeds, options, values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/feed.hpp>
#include <trainhook/session/fetch.hpp>
#include <trainhook/session/fetch_refs.hpp>

namespace trainhook {

/// How much of a run to trace. At every level above None, EigenSession times each node and LoopSession the step.
enum class TraceLevel { None = 0, Software = 1, Hardware = 2, Full = 3 };

/// Options of a run. The fields below `timeout` are for other engines; the library's engines ignore them. Source:
/// TensorFlow's `RunOptions`.
struct RunOptions {
  TraceLevel trace_level = TraceLevel::None;  ///< above None: the engine fills `RunMetadata::node_stats`
  Duration timeout{};                         ///< 0: none; EigenSession throws DeadlineExceededError after it

  /// Merges in the options of another hook for the same run: the larger of each.
  TRAINHOOK_DECL void merge(const RunOptions& other);
};

/// When one node of a run was executed; microseconds since the Unix epoch.
struct NodeStats {
  std::string node_name{};
  std::string op_type{};
  std::int64_t start_micros = 0;
  std::int64_t end_micros = 0;
};

/// The record of a traced run. Each run overwrites it.
struct RunMetadata {
  std::vector<NodeStats> node_stats{};
};

/// What a hook adds to the next run: `{}` nothing, `{loss}` one fetch, `{{loss, step}}` two, or set fields by name.
struct SessionRunArgs {
  FetchList fetches{};
  FeedDict feed_dict{};
  std::optional<RunOptions> options{};
  FetchRefs named_fetches{};  ///< `{{"loss", loss_}, {"rate", "learning_rate:0"}}`: their results are read by tag
};

/// The results of a hook's fetches, in order, those of `named_fetches` last. A view, which does not own them.
class RunResults {
 public:
  constexpr RunResults() noexcept = default;
  constexpr RunResults(std::span<const Tensor> results, const FetchRefs* named = nullptr) noexcept
      : results_(results), named_(named) {}

  /// @throws InvalidArgumentError if the hook fetched fewer.
  [[nodiscard]] const Tensor& operator[](std::size_t i) const {
    if (i < results_.size()) return results_[i];
    throw InvalidArgumentError(
        "a hook reads result {} of a run for which it has asked for {}: return what it wants from before_run", i,
        results_.size());
  }

  /// The result of the fetch with that tag. @throws NotFoundError if the hook has no such fetch.
  [[nodiscard]] TRAINHOOK_DECL const Tensor& operator[](std::string_view tag) const;

  [[nodiscard]] std::size_t size() const noexcept { return results_.size(); }
  [[nodiscard]] bool empty() const noexcept { return results_.empty(); }
  [[nodiscard]] auto begin() const noexcept { return results_.begin(); }
  [[nodiscard]] auto end() const noexcept { return results_.end(); }

 private:
  std::span<const Tensor> results_{};
  const FetchRefs* named_ = nullptr;
};

/// What a hook receives: the results of its fetches, valid during `after_run`, and the options and metadata of the
/// merged run, empty if no hook and no caller set any.
struct SessionRunValues {
  RunResults results{};
  const RunOptions* options = nullptr;
  const RunMetadata* run_metadata = nullptr;
};

/// One run as an engine sees it: all fetches and feeds merged. Spans and pointers are valid during the call.
struct RunRequest {
  std::span<const Fetch> fetches{};
  std::span<const Feed> feed_dict{};    ///< each has a key
  const RunOptions* options = nullptr;  ///< null: all defaults
  RunMetadata* metadata = nullptr;      ///< null: not wanted
  FunctionRef<void()> step{};           ///< the user's own code as the step, for engines that can run it
  bool step_gives_result = false;       ///< true if the caller waits for a result of `step`

  /// True if the engine must fill `metadata->node_stats`.
  [[nodiscard]] bool is_traced() const noexcept {
    return metadata != nullptr && options != nullptr && options->trace_level != TraceLevel::None;
  }
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/run_args.ipp>
#endif
