// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/run_record.hpp>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph_def/graph_def_writer.hpp>
#include <trainhook/graph_def/node_def.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/process_identity.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/proto/message_text.hpp>

namespace trainhook::detail {

template <>
inline constexpr auto kFields<RunRecord> =
    std::tuple(field(1, "command_line", &RunRecord::command_line), field(2, "graph_digest", &RunRecord::graph_digest),
               field(3, "random_seed", &RunRecord::random_seed), field(4, "restored", &RunRecord::restored),
               field(5, "kernel_width", &RunRecord::kernel_width));

inline constexpr std::string_view kRunRecordFile = "run.pbtxt";

std::string RunRecord::differences(const RunRecord& now) const {
  std::string text;
  const auto add = [&](const std::string& difference) { text += (text.empty() ? "" : ", ") + difference; };
  if (!command_line.empty() && !now.command_line.empty() && command_line != now.command_line)
    add("the command line is another one");  // which may have secrets, and a log has many readers
  if (random_seed != now.random_seed) add(fmt::format("the seed was {} and is {}", random_seed, now.random_seed));
  if (graph_digest != now.graph_digest) add("the graph is another one");
  if (!kernel_width.empty() && !now.kernel_width.empty() && kernel_width != now.kernel_width) {
    add(fmt::format("its kernels used {}, these use {} and give other last bits (an engine's `width` fixes it)",
                    kernel_width, now.kernel_width));
  }
  return text;
}

RunRecord run_record_of(const Graph& graph) {
  const std::vector<std::string> parts = VariableSlices(graph).own();  // a restart may have others
  const auto is_of_part = [&parts](const std::string& node) {
    return std::ranges::any_of(parts,
                               [&](const std::string& part) { return node == part || node.starts_with(part + "/"); });
  };
  std::uint32_t digest = 0;
  std::string bytes;
  for (const Node& node : graph.nodes()) {
    if (is_of_part(node.name())) continue;
    append_node(bytes, node_def_of(node), false);
    digest = crc32c::extend(digest, bytes);
    bytes.clear();
  }
  append_versions(bytes);
  digest = crc32c::extend(digest, bytes);
  return {.command_line = utf8_text(command_line(), "the command line"),
          .graph_digest = digest,
          .random_seed = graph.random_seed()};
}

RunRecord run_record_of(SessionRef session) {
  RunRecord record = run_record_of(session.graph());
  record.kernel_width = session.kernel_width();
  return record;
}

void write_run_record(FileSystem& file_system, const std::string& directory, const RunRecord& record) {
  file_system.make_directories(directory);
  write_file_atomically(file_system, join_path(directory, kRunRecordFile), message_text(record),
                        &looks_like_text_of<RunRecord>, WriteMode::Private);
}

void renew_run_record(FileSystem& file_system, const std::string& directory, RunRecord record) {
  try {
    if (const auto before = read_run_record(file_system, directory)) record.restored = before->restored;
  } catch (const DataLossError&) {}  // the new one replaces it
  write_run_record(file_system, directory, record);
}

std::optional<RunRecord> read_run_record(FileSystem& file_system, const std::string& directory) {
  const std::string path = join_path(directory, kRunRecordFile);
  if (!file_system.exists(path)) return std::nullopt;
  return parse_message_text<RunRecord>(read_from_device([&] { return read_file(file_system, path); }), path);
}

}  // namespace trainhook::detail
