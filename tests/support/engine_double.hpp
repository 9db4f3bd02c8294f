// SPDX-License-Identifier: Apache-2.0
/// @file
/// An engine that computes nothing: it writes down what it was asked for and gives the position of each fetch as its
/// value.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/session/run_forms.hpp>
#include <trainhook/session/session_like.hpp>

namespace trainhook::support {

template <bool RunsUserCode>
class EngineDouble : public RunForms<EngineDouble<RunsUserCode>, RunsUserCode> {
 public:
  EngineDouble() = default;
  EngineDouble(const EngineDouble&) = delete;
  EngineDouble& operator=(const EngineDouble&) = delete;

  [[nodiscard]] Graph& graph() noexcept { return graph_; }

  void execute(const RunRequest& request, std::span<Tensor> results) {
    std::string line = "run";
    for (const Fetch& fetch : request.fetches)
      line += fmt::format(" {}{}", fetch.node().name(), fetch.is_operation() ? "" : ":");
    for (const Feed& feed : request.feed_dict) line += fmt::format(" <- {}", feed.key.name());
    if (request.options != nullptr) line += fmt::format(" trace {}", static_cast<int>(request.options->trace_level));
    if (request.metadata != nullptr) request.metadata->node_stats.push_back({.node_name = "seen"});
    calls += line + "\n";
    if (request.step) request.step();
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (request.fetches[i].is_operation()) continue;
      results[i] = request.fetches[i].node().name() == "global_step/read" ? step : Tensor(static_cast<std::int32_t>(i));
    }
  }
  [[nodiscard]] std::vector<StateSpec> state() const { return {{.name = "weights"}}; }
  [[nodiscard]] std::vector<NamedTensor> snapshot(std::span<const std::string> names) const {
    std::vector<NamedTensor> entries;
    for (const std::string& name : names) entries.push_back({name, Tensor(1.0F)});
    return entries;
  }
  void load(std::span<const NamedTensor> entries) {
    for (const NamedTensor& entry : entries) calls += "load " + entry.name + "\n";
  }
  void close() { calls += "close\n"; }
  void run_request(const RunRequest& request, std::span<Tensor> results) { execute(request, results); }

  /// The lines since the last call.
  [[nodiscard]] std::string take() { return std::exchange(calls, std::string()); }

  std::string calls;
  Tensor step{std::int64_t{0}};  ///< the global step

 private:
  Graph graph_;
};

}  // namespace trainhook::support
