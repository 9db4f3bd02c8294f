// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of op_def.hpp.
#pragma once

#include <trainhook/graph_def/op_def.hpp>

#include <cstdint>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/graph/op_builder.hpp>

namespace trainhook::detail {

/// Takes words off a signature, one after the other.
class SignatureWords {
 public:
  explicit SignatureWords(std::string_view text) : text_(text) {}

  [[nodiscard]] bool has_next() const noexcept { return !text_.empty(); }
  [[nodiscard]] std::string_view next() {
    const std::size_t end = text_.find(' ');
    const std::string_view word = text_.substr(0, end);
    text_ = end == std::string_view::npos ? std::string_view() : text_.substr(end + 1);
    return word;
  }

 private:
  std::string_view text_;
};

/// The dtypes that a word of a signature stands for. `kAnyDType` where every dtype may stand.
inline constexpr auto kAnyDType = static_cast<DType>(255);

inline constexpr auto kIndexDType = static_cast<DType>(254);

TRAINHOOK_DECL std::vector<DType> dtypes_of_word(const NodeSpec& node, std::string_view word) {
  if (const std::size_t star = word.find('*'); star != std::string_view::npos) {
    const std::int64_t count = attr_of<std::int64_t>(node, word.substr(0, star));
    constexpr std::int64_t kMost = 1 << 16;
    if (count < 0 || count > kMost)
      throw InvalidArgumentError("node '{}' ({}) has {} inputs or outputs", node.name, node.type, count);
    return std::vector<DType>(static_cast<std::size_t>(count), dtypes_of_word(node, word.substr(star + 1)).front());
  }
  if (word == "any") return {kAnyDType};
  if (word == "index") return {kIndexDType};
  if (word == "resource") return {DType::Invalid};
  for (const DTypeInfo& info : kDTypes) {
    if (info.name == word) return {info.dtype};
  }
  const auto found = node.attrs.find(word);
  if (found != node.attrs.end()) {
    if (const auto* list = std::get_if<std::vector<DType>>(&found->second)) return *list;
    const auto* empty = std::get_if<std::vector<std::int64_t>>(&found->second);
    if (empty != nullptr && empty->empty()) return {};
  }
  return {attr_of<DType>(node, word)};
}

TRAINHOOK_DECL void resolve_outputs(NodeSpec& node, const OpDef& def) {
  std::size_t taken = 0;
  SignatureWords words(def.signature);
  bool is_input = true;
  std::vector<DType> outputs;
  while (words.has_next()) {
    const std::string_view word = words.next();
    if (word == "->") {
      is_input = false;
      continue;
    }
    for (const DType dtype : dtypes_of_word(node, word)) {
      if (!is_input) {
        outputs.push_back(dtype);
        continue;
      }
      if (taken == node.inputs.size())
        throw InvalidArgumentError("node '{}' ({}) has only {} inputs", node.name, node.type, taken);
      const Output& input = node.inputs[taken];
      const bool is_index = input.dtype() == DType::Int32 || input.dtype() == DType::Int64;
      const bool fits = dtype == kAnyDType     ? input.dtype() != DType::Invalid
                        : dtype == kIndexDType ? is_index
                                               : input.dtype() == dtype;
      if (!fits) {
        throw InvalidArgumentError("input {} of node '{}' ({}) is {}, not of dtype {}", taken, node.name, node.type,
                                   spelled(input), dtype == kIndexDType ? "int32 or int64" : dtype_name(dtype));
      }
      ++taken;
    }
  }
  if (taken != node.inputs.size()) {
    throw InvalidArgumentError("node '{}' ({}) has {} inputs; its op type takes {}", node.name, node.type,
                               node.inputs.size(), taken);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    node.outputs.push_back({outputs[i], def.shape == nullptr ? PartialShape() : def.shape(node, i)});
  }
}

}  // namespace trainhook::detail
