// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/run_record.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/process_identity.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/proto/message_text.hpp>

namespace trainhook::detail {

template <>
inline constexpr auto kFields<RunRecord> =
    std::tuple(field(1, "command_line", &RunRecord::command_line), field(3, "random_seed", &RunRecord::random_seed),
               field(4, "restored", &RunRecord::restored), field(5, "kernel_width", &RunRecord::kernel_width),
               field(6, "graph_fingerprint", &RunRecord::graph_fingerprint));  // 2 was the CRC32C of the GraphDef

inline constexpr std::string_view kRunRecordFile = "run.pbtxt";

std::string RunRecord::differences(const RunRecord& now) const {
  std::string text;
  const auto add = [&](const std::string& difference) { text += (text.empty() ? "" : ", ") + difference; };
  if (!command_line.empty() && !now.command_line.empty() && command_line != now.command_line)
    add("the command line is another one");  // which may have secrets, and a log has many readers
  if (random_seed != now.random_seed) add(fmt::format("the seed was {} and is {}", random_seed, now.random_seed));
  if (graph_fingerprint != 0 && graph_fingerprint != now.graph_fingerprint) add("the graph is another one");
  if (!kernel_width.empty() && !now.kernel_width.empty() && kernel_width != now.kernel_width) {
    add(fmt::format("its kernels used {}, these use {} and give other last bits (an engine's `width` fixes it)",
                    kernel_width, now.kernel_width));
  }
  return text;
}

/// A digest of nodes: all that a GraphDef says of them.
class Fingerprint {
 public:
  [[nodiscard]] std::uint32_t value() const noexcept { return value_; }

  void add(const Node& node) {
    add_text(node.name());
    add_text(node.type());
    add_number(node.inputs().size());
    for (const Output& input : node.inputs()) add_text(input.name());
    add_number(node.control_inputs().size());
    for (const Operation& input : node.control_inputs()) add_text(input.name());
    add_number(node.attrs().size());
    for (const auto& [key, value] : node.attrs()) {
      add_text(key);
      add_attr(value);
    }
  }

 private:
  template <class T>
  void add_numbers(const T* values, std::size_t count) {
    value_ = crc32c::extend(value_, {reinterpret_cast<const char*>(values), count * sizeof(T)});
  }
  void add_number(std::uint64_t number) { add_numbers(&number, 1); }
  void add_text(std::string_view text) {
    add_number(text.size());
    value_ = crc32c::extend(value_, text);
  }
  void add_texts(std::span<const std::string> texts) {
    for (const std::string& text : texts) add_text(text);
  }
  void add_shape(const PartialShape& shape) {
    add_number(shape.has_rank() ? shape.rank() + 1 : 0);
    if (shape.has_rank()) add_numbers(shape.dims().data(), shape.rank());
  }
  void add_tensor(const Tensor& tensor) {
    add_number(static_cast<std::uint64_t>(tensor.dtype()));
    add_shape(tensor.shape());
    if (tensor.dtype() == DType::String) return add_texts(tensor.data<std::string>());
    add_numbers(tensor.bytes().data(), tensor.bytes().size());
  }
  void add_attr(const AttrValue& value) {  // a chain of questions: a visitor is a function for each alternative
    add_number(value.index());
    if (const auto* text = std::get_if<std::string>(&value)) return add_text(*text);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return add_numbers(integer, 1);
    if (const auto* number = std::get_if<float>(&value)) return add_numbers(number, 1);
    if (const auto* truth = std::get_if<bool>(&value)) return add_numbers(truth, 1);
    if (const auto* dtype = std::get_if<DType>(&value)) return add_numbers(dtype, 1);
    if (const auto* shape = std::get_if<PartialShape>(&value)) return add_shape(*shape);
    if (const auto* tensor = std::get_if<Tensor>(&value)) return add_tensor(*tensor);
    const auto add_all = [this](const auto& values) {
      add_number(values.size());
      return values.data();
    };
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value))
      return add_numbers(add_all(*integers), integers->size());
    if (const auto* numbers = std::get_if<std::vector<float>>(&value))
      return add_numbers(add_all(*numbers), numbers->size());
    if (const auto* dtypes = std::get_if<std::vector<DType>>(&value))
      return add_numbers(add_all(*dtypes), dtypes->size());
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
      add_number(texts->size());
      return add_texts(*texts);
    }
    const auto& shapes = std::get<std::vector<PartialShape>>(value);
    add_number(shapes.size());
    for (const PartialShape& shape : shapes) add_shape(shape);
  }

  std::uint32_t value_ = 1;  // 0 would be unknown
};

RunRecord run_record_of(const Graph& graph) {
  const std::vector<std::string> parts = VariableSlices(graph).own();  // a restart may have others
  const auto is_of_part = [&parts](const std::string& node) {
    return std::ranges::any_of(parts,
                               [&](const std::string& part) { return node == part || node.starts_with(part + "/"); });
  };
  Fingerprint fingerprint;
  for (const Node& node : graph.nodes()) {
    if (!is_of_part(node.name())) fingerprint.add(node);
  }
  return {.command_line = utf8_text(command_line(), "the command line"),
          .random_seed = graph.random_seed(),
          .graph_fingerprint = fingerprint.value()};
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
