// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writes a graph as the names of its nodes, for tests of who has it written, and where.
#pragma once

#include <memory>
#include <string>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/checkpoint_part.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::support {

inline std::string names_of_nodes(const Graph& graph) {
  std::string names;
  for (const Node& node : graph.nodes()) names += node.name() + "\n";
  return names;
}

/// What the double writes to `.meta` files.
inline std::string meta_graph_double(const Graph& graph) { return "meta\n" + names_of_nodes(graph); }

class GraphPartDouble final : public detail::CheckpointPart {
 public:
  void write_once(SessionRef session, const Saver& /*saver*/, const detail::CheckpointClaim& claim,
                  HookServices& services) override {
    const std::string names = names_of_nodes(session.graph());
    if (claim.save_graph_def) write_file_atomically(services.file_system(), claim.directory + "/graph.pbtxt", names);
    services.writers().at(claim.directory).add_graph(names);
    services.writers().at(claim.directory).add_meta_graph(meta_graph_double(session.graph()));
  }

  void take(const detail::SaveMoment& moment, detail::TakenParts& taken) override {
    taken.push_back(std::make_shared<detail::SideFile>(".meta", meta_graph_double(moment.session.graph())));
  }
};

inline constexpr detail::GraphPartMaker kGraphExportDouble{
    {}, []() -> std::shared_ptr<detail::CheckpointPart> { return std::make_shared<GraphPartDouble>(); }};

}  // namespace trainhook::support
