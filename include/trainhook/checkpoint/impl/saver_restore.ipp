// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/saver.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/names_in_messages.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

inline constexpr std::string_view kGeneratorsOfOps = "_trainhook/random/";

/// The saved state of the saveable `name`.
inline StateValues read_state(const CheckpointContents& contents, const std::string& name) {
  StateValues values;
  for (const std::string& key : contents.names(name)) {
    if (key.size() == name.size() || key[name.size()] == '/')
      values.set(key.substr((std::min)(name.size() + 1, key.size())), contents.read(key));
  }
  return values;
}

/// Adds what is the other processes', whose names have more in front.
inline void add_parts(const CheckpointContents& contents, const std::string& name, StateValues& values) {
  const std::string mark = fmt::format("/{}", kPartOfTensor);
  for (const std::string& key : contents.names({})) {
    const std::size_t part = key.find(mark);
    const std::size_t at = part == std::string::npos ? part : key.find(name + "/");
    if (at == std::string::npos || at > part) continue;
    const std::string rest = key.substr(at + name.size() + 1);
    if (values.find(rest) == nullptr) values.set(rest, contents.read(key));
  }
}

/// @throws DataLossError if one of the `staged` is a step that no training reaches.
inline void expect_possible(const std::string& global_step, const std::vector<NamedTensor>& staged,
                            const std::string& prefix) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;  // counting on from there must not overflow
  const auto found = std::ranges::find(staged, global_step, &NamedTensor::name);
  if (found == staged.end() || found->tensor.dtype() != DType::Int64 || found->tensor.num_elements() != 1) return;
  const std::int64_t step = found->tensor.data<std::int64_t>()[0];
  if (step >= -kMost && step <= kMost) return;
  throw DataLossError("checkpoint {} says that '{}' is {}, which no training reaches: it is damaged", prefix,
                      global_step, step);
}

}  // namespace trainhook::detail

namespace trainhook {

void Saver::restore(SessionRef session, const CheckpointSource& from, bool resumes) const {
  const BundleFiles files = detail::VariableSlices(session.graph()).files_of_restore();
  std::unique_ptr<CheckpointContents> contents;
  try {
    contents = from.open(options_.format, file_system(), files);
  } catch (const NotFoundError& error) {
    throw InvalidArgumentError("{} is not a valid checkpoint: {}", from.path(), error.what());
  }
  restore(session, *contents, resumes);
}

void Saver::restore(SessionRef session, const CheckpointContents& contents, bool resumes) const {
  std::vector<NamedTensor> staged;
  bool fills = false;  // parts of tensors, whose values have no room here
  const std::vector<StateSpec> chosen = chosen_state(session);
  staged.reserve(chosen.size());
  const detail::VariableSlices slices(session.graph());
  const bool may_lack_generators = !resumes || contents.is_partial() || contents.names("_trainhook/").empty();
  std::vector<std::string> lacking;
  std::vector<std::string> taken;
  for (const StateSpec& spec : chosen) {
    if (contents.keeps_initial(spec.name)) continue;
    if (const SaveSliceInfo* slice = slices.find(spec.name);
        slice != nullptr && (slice->is_own || !contents.find(spec.name))) {
      Tensor value;
      if (slice->is_own && !session.memory(spec.name).bytes.empty()) {
        detail::VariableSlices::expect_tensor_of(contents, *slice, spec);
        contents.read_into(slice->full_name, detail::region_of(*slice), {});
        fills = true;
      } else {
        value = detail::VariableSlices::read(contents, *slice, spec);
      }
      staged.push_back({spec.name, std::move(value)});
      taken.push_back(slice->full_name);
    } else if (has_entry(contents, spec, may_lack_generators)) {
      staged.push_back({spec.name, contents.read(spec.name)});
      taken.push_back(spec.name);
    } else {
      lacking.push_back(spec.name);
    }
  }
  if (const std::optional<Variable> step = get_global_step(session.graph()))
    detail::expect_possible(step->name(), staged, contents.path());
  std::vector<std::pair<std::shared_ptr<Saveable>, StateValues>> states;
  for (const std::shared_ptr<Saveable>& saveable : saveables(session.graph())) {
    StateValues state;
    if (contents.keeps_initial(saveable->name())) {
      states.emplace_back(saveable, std::move(state));
      continue;
    }
    state = detail::read_state(contents, saveable->name());
    detail::add_parts(contents, saveable->name(), state);
    for (const NamedTensor& entry : state.entries())
      taken.push_back(entry.name.empty() ? saveable->name() : fmt::format("{}/{}", saveable->name(), entry.name));
    states.emplace_back(saveable, std::move(state));
  }
  expect_entries("restore", chosen.size() + states.size());
  detail::call_in_context(fmt::format("restoring {}", contents.path()), [&] {
    for (const auto& one : states)
      detail::call_of_saveable("load of Saveable", one.first->name(), [&] { one.first->load(one.second); });
    if (!fills) return session.load(staged);
    session.load(staged, [&](const std::string& name, std::span<std::byte> memory) {
      const SaveSliceInfo& slice = *slices.find(name);
      contents.read_into(slice.full_name, detail::region_of(slice), memory);
    });
  });
  if (!contents.is_partial()) {
    std::ranges::copy(tensors_of_others(session.graph()), std::back_inserter(taken));
    set_left_over(contents, std::move(taken));
  }
  if (!lacking.empty()) {
    log_warning("checkpoint {} has nothing for {} {} of random ops, which will not go on as before: {}",
                contents.path(), lacking.size(), lacking.size() == 1 ? "generator" : "generators",
                detail::list_names(lacking));
  }
}

bool Saver::has_entry(const CheckpointContents& contents, const StateSpec& spec, bool may_lack_generators) const {
  const std::optional<CheckpointContents::Entry> found = detail::find_readable(contents, spec.name);
  if (!found && may_lack_generators && spec.name.starts_with(detail::kGeneratorsOfOps)) return false;
  if (!found) refuse(contents, spec);
  if (found->dtype != spec.dtype || !spec.shape.compatible_with(found->shape)) {
    throw InvalidArgumentError(
        "variable '{}' is {}{} in the model and {}{} in checkpoint {}; restore it into the model that wrote it, "
        "or say by `cast` or `reshape` of RestoreRules what may differ",
        spec.name, spec.dtype, spec.shape, found->dtype, found->shape, contents.path());
  }
  return true;
}

void Saver::refuse(const CheckpointContents& contents, const StateSpec& missing) const {
  if (missing.kind == StateKind::Variable) contents.refuse(missing.name);
  const std::vector<std::string> names = contents.names();
  const std::string similar = detail::suggest_names({names.begin(), names.end()}, missing.name);
  const bool is_file_of_inputs = options_.kinds == std::vector{StateKind::Input};  // to which rules do not apply
  if (is_file_of_inputs) {
    throw NotFoundError(
        "checkpoint {} has no position of the input '{}'; {} (give the iterator the name that it had, or train into "
        "another directory)",
        contents.path(), missing.name, similar);
  }
  throw NotFoundError(
      "checkpoint {} has no {} '{}'; give it the name that it had, or say by `restore` = RestoreRules{{.missing = "
      "Missing::KeepInitial}} that it keeps its value; {}",
      contents.path(),
      missing.kind == StateKind::Input ? "position of the input"
      : missing.is_generator           ? "generator"
                                       : "state",
      missing.name, similar);
}

}  // namespace trainhook
