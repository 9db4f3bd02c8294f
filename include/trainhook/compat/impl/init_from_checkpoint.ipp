// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/init_from_checkpoint.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_shards.hpp>
#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/names_in_messages.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/ops/restore.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

/// A path may be that of a directory.
inline std::unique_ptr<CheckpointContents> open_for_init(FileSystem& file_system, const CheckpointSource& from) {
  return CheckpointSource(checkpoint_prefix(file_system, from.path()), from.format())
      .open(open_bundle, file_system, BundleFiles::Check);
}

/// Which tensor each variable begins with.
class InitialTensors {
 public:
  struct Assignment {
    Variable variable{};
    std::string tensor{};
    std::shared_ptr<const SaveSliceInfo> slice{};  ///< null: all of the tensor
  };

  InitialTensors(const Graph& graph, const CheckpointContents& contents, AssignmentMap map) : contents_(contents) {
    for (auto variables : {global_variables(graph), local_variables(graph)}) {
      for (Variable& variable : variables) {
        const SaveSliceInfo* const slice = variable.save_slice_info.get();
        wholes_[slice != nullptr ? slice->full_name : variable.name()].push_back(variable);
        variables_.emplace(variable.name(), std::move(variable));
      }
    }
    std::ranges::stable_sort(map, {}, &AssignmentMap::value_type::first);
    for (const auto& [tensor, target] : map) {
      if (const auto whole = wholes_.find(target); whole != wholes_.end()) {
        assign_whole(tensor, whole->second);
      } else if (const auto variable = variables_.find(target); variable != variables_.end()) {
        assign(tensor, variable->second, nullptr);
      } else {
        assign_scope(tensor, target);
      }
    }
  }

  [[nodiscard]] const std::vector<Assignment>& assignments() const noexcept { return assignments_; }

 private:
  void assign_scope(const std::string& tensor_scope, const std::string& target) {
    if (!tensor_scope.ends_with('/')) {
      throw InvalidArgumentError(
          "init_from_checkpoint: '{}' is not a variable, and a scope cannot begin with tensor '{}': the map should be "
          "'scope/' to 'other_scope/', or name a variable; {}",
          target, tensor_scope, suggest_keys(variables_, target));
    }
    const std::string scope = target.substr(0, target.rfind('/') + 1);
    const std::string beginning = scope == "/" ? "" : scope;
    const auto first = wholes_.lower_bound(beginning);
    auto whole = first;
    for (; whole != wholes_.end() && whole->first.starts_with(beginning); ++whole)
      assign_whole((tensor_scope == "/" ? "" : tensor_scope) + whole->first.substr(beginning.size()), whole->second);
    if (whole == first) log_warning("init_from_checkpoint: no variable is in the scope '{}'", target);
  }

  void assign_whole(const std::string& tensor, const std::vector<Variable>& parts) {
    for (const Variable& part : parts) assign(tensor, part, part.save_slice_info);
  }

  void assign(const std::string& tensor, const Variable& variable, std::shared_ptr<const SaveSliceInfo> slice) {
    const auto found = find_readable(contents_, tensor);
    if (!found) {
      const std::vector<std::string> names = contents_.names();
      throw InvalidArgumentError(
          "init_from_checkpoint: tensor '{}', for variable '{}', is not found in checkpoint {}; {}", tensor,
          variable.name(), contents_.path(), suggest_names({names.begin(), names.end()}, tensor));
    }
    const PartialShape shape = slice != nullptr ? PartialShape(full_shape_of(*slice)) : variable.shape();
    if (found->dtype != variable.dtype() || !shape.compatible_with(found->shape)) {
      throw InvalidArgumentError(
          "init_from_checkpoint: variable '{}' is {}{}, and tensor '{}' is {}{} in checkpoint {}", variable.name(),
          variable.dtype(), shape, tensor, found->dtype, found->shape, contents_.path());
    }
    assignments_.push_back({variable, tensor, std::move(slice)});
  }

  const CheckpointContents& contents_;
  std::map<std::string, std::vector<Variable>> wholes_;  // those without parts, too
  std::map<std::string, Variable> variables_;
  std::vector<Assignment> assignments_;
};

}  // namespace trainhook::detail

namespace trainhook {

void init_from_checkpoint(Graph& graph, const std::string& ckpt_dir_or_file, const AssignmentMap& assignment_map) {
  const auto contents = detail::open_for_init(posix_file_system(), ckpt_dir_or_file);
  const detail::InitialTensors initial(graph, *contents, assignment_map);
  std::vector<RestoredTensor> tensors;
  for (const auto& [variable, tensor, slice] : initial.assignments()) {
    if (!variable.initializer.has_value()) {
      throw FailedPreconditionError(
          "init_from_checkpoint: the memory of variable '{}' is your own, so no initializer sets it; call "
          "init_from_checkpoint with the session instead, in an init_fn",
          variable.name());
    }
    tensors.push_back({tensor, slice != nullptr ? slice->spec() : "", {variable.dtype(), variable.shape()}});
  }
  if (tensors.empty()) return;
  const Graph::Scope top_level = graph.top_level();
  const std::vector<Output> values = restore_v2(graph, contents->path(), tensors, "checkpoint_initializer");
  std::unordered_map<const Node*, Variable> changed;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Variable variable = initial.assignments()[i].variable;
    variable.initial_value = values[i];
    variable.initializer = assign(variable, values[i], fmt::format("{}/Assign", variable.name())).operation();
    changed.insert_or_assign(&variable.handle.node(), variable);
  }
  graph.change_in_collections<Variable>([&](Variable& variable) {
    if (const auto found = changed.find(&variable.handle.node()); found != changed.end()) variable = found->second;
  });
}

void init_from_checkpoint(SessionRef session, FileSystem& file_system, const CheckpointSource& from,
                          const AssignmentMap& assignment_map) {
  const auto contents = detail::open_for_init(file_system, from);
  const detail::InitialTensors initial(session.graph(), *contents, assignment_map);
  std::vector<NamedTensor> staged;
  for (const auto& [variable, tensor, slice] : initial.assignments()) {
    staged.push_back({variable.name(),
                      slice != nullptr ? contents->read(tensor, detail::region_of(*slice)) : contents->read(tensor)});
  }
  session.load(staged);
}

}  // namespace trainhook
