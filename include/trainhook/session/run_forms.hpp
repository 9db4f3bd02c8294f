// SPDX-License-Identifier: Apache-2.0
/// @file
/// All forms of `run`, for engines, SessionRef and monitored sessions.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/session/run_args.hpp>

namespace trainhook {

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

  /// By name: `"loss:0"` or `"loss"` for its only output; an operation without outputs gives an empty Tensor.
  template <class Name>
    requires std::convertible_to<const Name&, std::string_view>
  Tensor run(const Name& name, const FeedDict& feeds = {}, const RunOptions* options = nullptr,
             RunMetadata* metadata = nullptr) {
    const Fetch fetch = by_name(name);
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

  /// A list of names.
  template <std::size_t N>
  std::array<Tensor, N> run(const char* const (&names)[N], const FeedDict& feeds = {},
                            const RunOptions* options = nullptr, RunMetadata* metadata = nullptr) {
    std::vector<Fetch> fetches;
    for (const char* name : names) fetches.push_back(by_name(name));
    std::array<Tensor, N> results;
    call(fetches, feeds, options, metadata, results);
    return results;
  }

  /// A list whose length is known at run time.
  std::vector<Tensor> run(std::span<const Fetch> fetches, const FeedDict& feeds = {},
                          const RunOptions* options = nullptr, RunMetadata* metadata = nullptr) {
    std::vector<Tensor> results(fetches.size());
    call(fetches, feeds, options, metadata, results);
    return results;
  }

  /// Runs your own code as one step and returns its result. Only for engines whose variables are your own memory.
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

 private:
  Derived& derived() noexcept { return static_cast<Derived&>(*this); }

  Fetch by_name(std::string_view name) {
    if (name.find(':') != std::string_view::npos) return Fetch(derived().graph().output(name));
    const Operation operation = derived().graph().operation(name);
    return operation.node().outputs().empty() ? Fetch(operation) : Fetch(derived().graph().output(name));
  }

  void call(std::span<const Fetch> fetches, const FeedDict& feeds, const RunOptions* options, RunMetadata* metadata,
            std::span<Tensor> results) {
    derived().run_request({.fetches = fetches, .feeds = feeds, .options = options, .metadata = metadata}, results);
  }
};

}  // namespace trainhook
