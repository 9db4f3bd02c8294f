// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/graph_def/meta_graph_def.hpp>

#include <set>
#include <utility>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/model/graph_def/graph_def_writer.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

std::string meta_graph_of(const Graph& graph, const SaverOptions& saver) {
  MetaGraphOptions options{.max_to_keep = saver.max_to_keep,
                           .sharded = saver.sharded,
                           .keep_checkpoint_every_n_hours = static_cast<float>(saver.keep_checkpoint_every_n_hours),
                           .add_shapes = true};
  if (!saver.var_list.empty()) {
    const std::set<std::string> saved(saver.var_list.begin(), saver.var_list.end());
    options.variables = global_variables(graph);
    std::erase_if(*options.variables, [&](const Variable& variable) { return !saved.contains(variable.name()); });
  }
  return export_meta_graph(graph, options);
}

/// The graph of the checkpoints of one claim.
class GraphPart final : public CheckpointPart {
 public:
  void write_once(SessionRef session, const Saver& saver, const CheckpointClaim& claim,
                  HookServices& services) override {
    const Graph& graph = session.graph();
    std::string meta_graph = meta_graph_of(graph, saver.options());
    try {
      if (claim.save_graph_def) {
        services.file_system().make_directories(claim.directory);
        write_graph_file(services.file_system(), join_path(claim.directory, "graph.pbtxt"), graph, true,
                         {.add_shapes = true});
      }
    } catch (const Error& error) {
      if (!claim.tolerates_failures) throw;
      log_error("{}: {}/graph.pbtxt could not be written: {}", claim.hook, claim.directory, error);
    }
    FileWriter& writer = services.writers().at(claim.directory);
    writer.add_graph(as_graph_def(graph, {.add_shapes = true}));
    writer.add_meta_graph(meta_graph);
    file_ = make_shared_object<SideFile>(".meta", std::move(meta_graph));
  }

  void take(const SaveMoment& moment, TakenParts& taken) override {
    if (file_ == nullptr)
      file_ = make_shared_object<SideFile>(".meta", meta_graph_of(moment.session.graph(), moment.saver->options()));
    taken.push_back(file_);
  }

 private:
  std::shared_ptr<SideFile> file_;  // the same for all
};

}  // namespace trainhook::detail

namespace trainhook {

const GraphExport& graph_export() noexcept {
  static constexpr detail::GraphPartMaker graph{
      {}, []() -> std::shared_ptr<detail::CheckpointPart> { return detail::make_shared_object<detail::GraphPart>(); }};
  return graph;
}

}  // namespace trainhook
