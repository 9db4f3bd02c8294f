// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/equal_variables.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/io/crc32c.hpp>

namespace trainhook::detail {

// Whether the name is one of these, or below one.
inline bool is_at_or_below(std::string_view name, const std::set<std::string, std::less<>>& names) {
  while (!names.contains(name)) {
    const std::size_t end = name.rfind('/');
    if (end == std::string_view::npos) return false;
    name = name.substr(0, end);
  }
  return true;
}

std::vector<StateSpec> equal_variables(const std::vector<StateSpec>& state, const Graph& graph) {
  std::set<std::string, std::less<>> trained;
  for (const Variable& variable : trainable_variables(graph)) trained.insert(variable.name());
  const VariableSlices slices(graph);
  std::vector<StateSpec> equal;
  std::ranges::copy_if(state, std::back_inserter(equal), [&](const StateSpec& spec) {
    return spec.kind == StateKind::Variable && spec.dtype != DType::String && is_at_or_below(spec.name, trained) &&
           !slices.is_own(spec.name);
  });
  return equal;
}

VariableDigests digests_of(SessionRef session, std::int64_t step) {
  VariableDigests digests{.step = step};
  for (const StateSpec& spec : equal_variables(session.state(), session.graph())) {
    std::uint32_t& digest = digests.values.emplace_back(0);
    if (!spec.initialized) continue;
    Tensor value;
    StateMemory elements = session.memory(spec.name);
    if (elements.bytes.empty()) {
      value = session.gives_saved_values() ? session.saved_value(spec.name)
                                           : session.snapshot({&spec.name, 1}).front().tensor;
      elements = elements_of(value);
    }
    digest = crc32c::extend(crc32c::value(std::as_bytes(elements.shape.dims())), elements.bytes);
  }
  return digests;
}

// The names of the variables that differ, at most three of them.
inline std::string different_variables(SessionRef session, const VariableDigests& one, const VariableDigests& other) {
  const std::vector<StateSpec> variables = equal_variables(session.state(), session.graph());
  std::string text;
  std::size_t count = 0;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (i < one.values.size() && i < other.values.size() && one.values[i] == other.values[i]) continue;
    if (++count <= 3) text += fmt::format("{}'{}'", count == 1 ? "" : ", ", variables[i].name);
  }
  return count <= 3 ? text : fmt::format("{} and {} more", text, count - 3);
}

void expect_equal_variables(SessionRef session, std::span<const VariableDigests> of_ranks) {
  const VariableDigests& chiefs = of_ranks.front();
  const auto differs = [&chiefs](const VariableDigests& mine) {
    return mine.step == chiefs.step && mine.values != chiefs.values;
  };
  const auto first = std::ranges::find_if(of_ranks, differs);
  if (first == of_ranks.end()) return;
  throw FailedPreconditionError(
      "the ranks train different models, so step {} is not saved: {} of {} ranks differ from rank 0; on rank {} these "
      "variables do: {}. What changes a variable must do so on all ranks and with the same numbers: give such a "
      "hook to all ranks, and the metrics that it acts on, too. If a variable belongs to one rank, let it be no "
      "trained one (trainable = false), register it as state of the loop, or say of which tensor it is a part "
      "(part_of)",
      chiefs.step, std::ranges::count_if(of_ranks, differs), of_ranks.size(), first - of_ranks.begin(),
      different_variables(session, chiefs, *first));
}

}  // namespace trainhook::detail
