// SPDX-License-Identifier: Apache-2.0
/// @file
/// RunForms: all forms of `run`, for engines, SessionRef and monitored sessions.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/core/refusal.hpp>
#include <trainhook/session/run_args.hpp>

namespace trainhook {

namespace detail {

/// A lambda, or another object with one function call, that needs arguments.
template <class F>
concept NeedsArguments = !std::invocable<F&> && requires { &std::remove_cvref_t<F>::operator(); };

}  // namespace detail

/// The values of a run, by tag.
using NamedResults = std::map<std::string, Tensor, std::less<>>;

/// Gives `Derived` TensorFlow's forms of `run`, on top of its `run_request(request, results)` and `graph()`.
/// Every form takes feeds, options and metadata after the fetches, as TensorFlow's does. With `RunsUserCode`, a
/// callable can be the step.
template <class Derived, bool RunsUserCode>
class RunForms {
 public:
  /// Runs an operation.
  void run(Operation operation, const FeedDict& feeds = {}, const RunOptions* options = nullptr,
           RunMetadata* metadata = nullptr) {
    const Fetch fetch(operation);
    Tensor nothing;
    call({&fetch, 1}, feeds, options, metadata, {&nothing, 1});
  }

  /// The value of one output.
  Tensor run(Output output, const FeedDict& feeds = {}, const RunOptions* options = nullptr,
             RunMetadata* metadata = nullptr) {
    const Fetch fetch(output);
    Tensor result;
    call({&fetch, 1}, feeds, options, metadata, {&result, 1});
    return result;
  }

  /// By name: `"loss:0"`, or `"loss"` for a node's only output. An operation without outputs gives an empty Tensor.
  template <class Name>
    requires std::convertible_to<const Name&, std::string_view>
  Tensor run(const Name& name, const FeedDict& feeds = {}, const RunOptions* options = nullptr,
             RunMetadata* metadata = nullptr) {
    const Fetch fetch = FetchRefs::Item(std::string_view(name)).resolve(graph(), "run");
    Tensor result;
    call({&fetch, 1}, feeds, options, metadata, {&result, 1});
    return result;
  }

  /// A list, `{loss, train}`: one Tensor each, empty for an operation.
  template <std::size_t N>
  std::array<Tensor, N> run(const Fetch (&fetches)[N], const FeedDict& feeds = {}, const RunOptions* options = nullptr,
                            RunMetadata* metadata = nullptr) {
    std::array<Tensor, N> results;
    call(fetches, feeds, options, metadata, results);
    return results;
  }

  /// A list in which some or all are names: `{"loss:0", train}`.
  template <std::size_t N>  // const, so that it is taken only if the list is not one of Fetches
  std::array<Tensor, N> run(const FetchRefs::Item (&items)[N], const FeedDict& feeds = {},
                            const RunOptions* options = nullptr, RunMetadata* metadata = nullptr) const {
    std::array<Tensor, N> results;
    call(FetchRefs(std::vector<FetchRefs::Item>(items, items + N)).resolve(graph(), "run"), feeds, options, metadata,
         results);
    return results;
  }

  /// A list with tags, `{{"loss", loss}, {"rate", "learning_rate:0"}}`: gives a map.
  template <std::size_t N>
  NamedResults run(const FetchRefs::TaggedItem (&tagged)[N], const FeedDict& feeds = {},
                   const RunOptions* options = nullptr, RunMetadata* metadata = nullptr) {
    return by_tag(std::map<std::string, FetchRefs::Item>(tagged, tagged + N), feeds, options, metadata);
  }

  /// A range of outputs, operations or names, such as `std::vector<Output>`.
  template <detail::RangeOf<FetchRefs::Item> Items>
  std::vector<Tensor> run(const Items& items, const FeedDict& feeds = {}, const RunOptions* options = nullptr,
                          RunMetadata* metadata = nullptr) {
    const FetchList fetches = FetchRefs(items).resolve(graph(), "run");
    return run(std::span<const Fetch>(fetches), feeds, options, metadata);
  }

  /// A map, such as `std::map<std::string, Output>`: gives a map with the same keys.
  template <detail::RangeOf<FetchRefs::TaggedItem> Tagged>
  NamedResults run(const Tagged& tagged, const FeedDict& feeds = {}, const RunOptions* options = nullptr,
                   RunMetadata* metadata = nullptr) {
    return by_tag(tagged, feeds, options, metadata);
  }

  /// A list whose length is known at run time.
  std::vector<Tensor> run(std::span<const Fetch> fetches, const FeedDict& feeds = {},
                          const RunOptions* options = nullptr, RunMetadata* metadata = nullptr) {
    std::vector<Tensor> results(fetches.size());
    call(fetches, feeds, options, metadata, results);
    return results;
  }

  /// Runs a callable as one step and returns its result. Only for engines whose variables are your memory, such as
  /// LoopSession.
  template <class Step>
    requires(std::invocable<Step&> && !std::convertible_to<const Step&, std::string_view> && RunsUserCode)
  auto run(Step&& step) -> std::invoke_result_t<Step&> {
    using Result = std::invoke_result_t<Step&>;
    if constexpr (std::is_void_v<Result>) {
      derived().run_request({.step = FunctionRef<void()>(step)}, {});
    } else {
      std::optional<std::remove_cvref_t<Result>> result;
      auto keep_result = [&] { result.emplace(step()); };
      derived().run_request({.step = FunctionRef<void()>(keep_result), .step_gives_result = true}, {});
      return *std::move(result);
    }
  }

  TRAINHOOK_MISTAKE(
      "a step is a function without parameters: write session.run([&] { ... }), or run_step_fn for one that "
      "gets a StepContext",
      detail::NeedsArguments Step)
  void run(Step&& step) TRAINHOOK_REFUSED;
  TRAINHOOK_MISTAKE(
      "a run takes an Output, an Operation, a name or a list of them, not a value: write session.run([&] { loss = "
      "...; }) for a step of a LoopSession, and fetch what loop.value(name, function) returns",
      class Value)
  void run(const Value& value, const FeedDict& feeds = {})
    requires(!std::convertible_to<const Value&, FetchRefs> &&
             !std::convertible_to<const Value&, std::span<const Fetch>> && !std::invocable<Value&> &&
             !detail::NeedsArguments<const Value&>)
  TRAINHOOK_REFUSED;
  TRAINHOOK_MISTAKE(
      "this engine runs its graph and no function as a step: give it an Operation or an Output, or use a "
      "LoopSession",
      std::invocable Step)
  void run(Step&& step)
    requires(!RunsUserCode && !std::convertible_to<const Step&, FetchRefs>)
  TRAINHOOK_REFUSED;

 private:
  [[nodiscard]] Derived& derived() const noexcept { return const_cast<Derived&>(static_cast<const Derived&>(*this)); }
  [[nodiscard]] const Graph& graph() const { return derived().graph(); }

  NamedResults by_tag(const FetchRefs& refs, const FeedDict& feeds, const RunOptions* options, RunMetadata* metadata) {
    std::vector<Tensor> values(refs.size());
    call(refs.resolve(graph(), "run"), feeds, options, metadata, values);
    NamedResults results;
    for (std::size_t i = 0; i < values.size(); ++i) results.emplace(refs.entries()[i].tag, std::move(values[i]));
    return results;
  }

  void call(std::span<const Fetch> fetches, const FeedDict& feeds, const RunOptions* options, RunMetadata* metadata,
            std::span<Tensor> results) const {
    if (!feeds.empty() && detail::has_names(feeds))
      return call(fetches, detail::without_names(feeds, graph(), "a feed of run"), options, metadata, results);
    derived().run_request({.fetches = fetches, .feed_dict = feeds, .options = options, .metadata = metadata}, results);
  }
};

}  // namespace trainhook
