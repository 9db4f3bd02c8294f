// SPDX-License-Identifier: Apache-2.0
/// @file
/// OpDef: what a node of an op type takes and gives, for graphs that come from files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/graph/op_builder.hpp>

namespace trainhook {

/// The shape of output `index` of a node whose inputs and attributes are there.
using ShapeRule = PartialShape (*)(const NodeSpec& node, std::size_t index);

/// An op type by its signature, `inputs -> outputs`, for example `T T -> T`. A word is a dtype (`int32`, `string`, ...), an attribute that
/// holds one (`T`), one that holds a list of them (`output_types`), or either repeated (`N*T`). `index` is int32 or int64, `any` is any
/// dtype, `resource` the handle of a state.
struct OpDef {
  std::string_view type{};
  std::string_view signature{};
  ShapeRule shape = nullptr;  ///< null: not known before the graph runs
};

namespace detail {

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

/// The attribute of a node that is not in a graph yet. @throws InvalidArgumentError where it has none of that kind.
template <class T>
[[nodiscard]] const T& attr_of(const NodeSpec& node, std::string_view key) {
  const auto found = node.attrs.find(key);
  if (found != node.attrs.end()) {
    if (const T* value = std::get_if<T>(&found->second)) return *value;
  }
  throw InvalidArgumentError("node '", node.name, "' (", node.type, ") has no attribute ", key, " of the kind that its op type wants");
}

/// The dtypes that a word of a signature stands for. `kAnyDType` where every dtype may stand.
inline constexpr auto kAnyDType = static_cast<DType>(255);
inline constexpr auto kIndexDType = static_cast<DType>(254);

inline std::vector<DType> dtypes_of_word(const NodeSpec& node, std::string_view word) {
  if (const std::size_t star = word.find('*'); star != std::string_view::npos) {
    const std::int64_t count = attr_of<std::int64_t>(node, word.substr(0, star));
    constexpr std::int64_t kMost = 1 << 16;
    if (count < 0 || count > kMost)
      throw InvalidArgumentError("node '", node.name, "' (", node.type, ") has ", count, " inputs or outputs");
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

/// Checks the inputs of a node against its signature, and gives it the outputs that this names.
/// @throws InvalidArgumentError, naming node, op type and input, where they do not fit.
inline void resolve_outputs(NodeSpec& node, const OpDef& def) {
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
      if (taken == node.inputs.size()) throw InvalidArgumentError("node '", node.name, "' (", node.type, ") has only ", taken, " inputs");
      const Output& input = node.inputs[taken];
      const bool is_index = input.dtype() == DType::Int32 || input.dtype() == DType::Int64;
      const bool fits = dtype == kAnyDType ? input.dtype() != DType::Invalid : dtype == kIndexDType ? is_index : input.dtype() == dtype;
      if (!fits) {
        throw InvalidArgumentError("input ", taken, " of node '", node.name, "' (", node.type, ") is ", spelled(input), ", not of dtype ",
                                   dtype == kIndexDType ? "int32 or int64" : dtype_name(dtype));
      }
      ++taken;
    }
  }
  if (taken != node.inputs.size()) {
    throw InvalidArgumentError("node '", node.name, "' (", node.type, ") has ", node.inputs.size(), " inputs; its op type takes ", taken);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    node.outputs.push_back({outputs[i], def.shape == nullptr ? PartialShape() : def.shape(node, i)});
  }
}

}  // namespace detail
}  // namespace trainhook
