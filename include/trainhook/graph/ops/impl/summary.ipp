// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/ops/summary.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::summary::detail {

inline const std::string& tag_in(std::span<const Tensor> inputs) { return inputs[0].data<std::string>()[0]; }

inline Tensor scalar_on_host(const Node& node, std::span<const Tensor> inputs) {
  const Tensor& value = inputs[1];
  if (value.num_elements() != 1)
    throw InvalidArgumentError("summary '{}' is of a single value, not of {}{}", node.name(), value.dtype(),
                               value.shape());
  return Tensor(scalar_summary(tag_in(inputs), trainhook::detail::first_as_float(node.name(), value)));
}
inline Tensor histogram_on_host(const Node& /*node*/, std::span<const Tensor> inputs) {
  const std::string& tag = tag_in(inputs);
  return Tensor(histogram_summary(tag, histogram_of(tag, inputs[1])));
}
inline Tensor texts_on_host(const Node& /*node*/, std::span<const Tensor> inputs) {
  return Tensor(texts_summary(tag_in(inputs), inputs[1]));
}
inline Tensor merged_on_host(const Node& /*node*/, std::span<const Tensor> inputs) {
  std::string all;
  for (const Tensor& input : inputs) all += input.data<std::string>()[0];
  return Tensor(all);
}

inline constexpr OpDef kHistogramSummaryOp{
    "HistogramSummary", "string T -> string", "T:real=float32", shape_rules::scalar, nullptr, histogram_on_host};
inline constexpr OpDef kImageSummaryOp{
    "ImageSummary", "string T -> string",
    "T:{uint8,float16,float32,float64}=float32 max_images:int>0=3 bad_color:tensor=[255,0,0,255]", shape_rules::scalar};
inline constexpr OpDef kMergeSummaryOp{"MergeSummary", "N*string -> string", "N:int>0", shape_rules::scalar,
                                       nullptr,        merged_on_host};
inline constexpr OpDef kScalarSummaryOp{"ScalarSummary", "string T -> string", "T:real", shape_rules::scalar,
                                        nullptr,         scalar_on_host};
inline constexpr OpDef kTensorSummaryV2Op{
    "TensorSummaryV2", "string T string -> string", "", shape_rules::scalar, nullptr, texts_on_host};

inline constexpr std::array kSummaryOps{&kHistogramSummaryOp, &kImageSummaryOp, &kMergeSummaryOp, &kScalarSummaryOp,
                                        &kTensorSummaryV2Op};

OpFamily summary_ops() noexcept { return kSummaryOps; }

/// A summary's name as a node can bear it: other characters become `_`, leading slashes go.
inline std::string clean_tag(std::string_view name) {
  name.remove_prefix((std::min)(name.find_first_not_of('/'), name.size()));
  std::string clean(name);
  for (char& c : clean) {
    const bool allowed =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' || c == '/';
    if (!allowed) c = '_';
  }
  if (clean != name) log_info("summary '{}' is called '{}'", name, clean);
  return clean;
}

SummaryNames new_summary_names(Graph& graph, std::string_view given_name) {
  const std::string clean = clean_tag(given_name);
  const std::string full = graph.current_scope() + clean;
  SummaryNames names{.node = graph.unique_name(clean)};
  names.tag = names.node;
  if (graph.collection<bool>(kTagsOfALoop).empty()) return names;
  constexpr std::string_view kApart = "tag ";  // no node is called so
  const Graph::Scope scope = graph.top_level();
  names.tag = graph.unique_name(std::string(kApart) + full).substr(kApart.size());
  return names;
}

Output add_summary(const OpDef& def, std::string_view given_name, std::string_view tag_input, const Output& values,
                   Attrs attrs, const std::vector<std::pair<std::string_view, Tensor>>& more) {
  Graph& graph = values.graph();
  const auto [node, tag] = new_summary_names(graph, given_name);
  const Graph::Scope scope = graph.name_scope(node + "/");
  std::vector<Output> inputs{constant(graph, Tensor(tag), tag_input), values};
  for (const auto& [name, value] : more) inputs.push_back(constant(graph, value, name));
  const Output result = add_op(def, node + "/", std::move(inputs), std::move(attrs));
  graph.add_to_collection(graph_keys::kSummaries, result);
  return result;
}

/// What an op that takes real numbers can show of `values`: TensorFlow's take no bool, which counts as 0 or 1.
inline Output as_numbers(const Output& values) {
  return values.dtype() == DType::Bool ? cast(values, DType::Float) : values;
}

}  // namespace trainhook::summary::detail

namespace trainhook::summary {

Output scalar(std::string_view name, Output value) {
  detail::graph_of("ScalarSummary", value);
  detail::require_rank("ScalarSummary", value, 0);
  return detail::add_summary(detail::kScalarSummaryOp, name, "tags", detail::as_numbers(value), {});
}

Output histogram(std::string_view name, Output values) {
  detail::graph_of("HistogramSummary", values);
  return detail::add_summary(detail::kHistogramSummaryOp, name, "tag", detail::as_numbers(values), {});
}

Output image(std::string_view name, Output images, std::int64_t max_outputs) {
  detail::graph_of("ImageSummary", images);
  detail::require_rank("ImageSummary", images, 4);
  if (images.shape().has_rank()) {
    const std::int64_t channels = images.shape()[3];
    if (channels != 1 && channels != 3 && channels != 4 && channels != kUnknownDim) {
      throw InvalidArgumentError("ImageSummary {}: {} must have 1, 3 or 4 channels", name, images);
    }
  }
  if (max_outputs < 1)
    throw InvalidArgumentError("ImageSummary {}: max_outputs must be positive, not {}", name, max_outputs);
  return detail::add_summary(detail::kImageSummaryOp, name, "tag", images, {{"max_images", max_outputs}});
}

Output text(std::string_view name, Output strings) {
  detail::graph_of("TensorSummaryV2", strings);
  detail::require_dtype("TensorSummaryV2", strings, strings.dtype() == DType::String, "string");
  const Tensor metadata(std::string_view("\x0a\x06\x0a\x04text", 8));  // plugin_data.plugin_name
  return detail::add_summary(detail::kTensorSummaryV2Op, name, "tag", strings, {},
                             {{"serialized_summary_metadata", metadata}});
}

Output merge(const std::vector<Output>& inputs, std::string_view name) {
  if (inputs.empty()) throw InvalidArgumentError("MergeSummary needs at least one summary");
  return detail::add_op(detail::kMergeSummaryOp, fmt::format("{}/MergeSummary", name), inputs);
}

std::optional<Output> merge_all(Graph& graph, std::string_view key) {
  const std::vector<Output> summaries = graph.collection<Output>(key);
  if (summaries.empty()) return std::nullopt;
  return merge(summaries);
}

}  // namespace trainhook::summary
