// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/op_def.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/op_signature.hpp>

namespace trainhook::detail {

template <class T>
T number_of(std::string_view text) {
  T number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The numbers of a list such as `[1,2]`.
inline std::vector<std::int64_t> ints_of(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (Words words(text.substr(1, text.size() - 2), ','); words.has_next();)
    numbers.push_back(number_of<std::int64_t>(words.next()));
  return numbers;
}

inline AttrValue default_of(const AttrDef& attr) {
  const std::string_view text = *attr.value;
  if (attr.kind == "bool") return text == "true";
  if (attr.kind == "int") return number_of<std::int64_t>(text);
  if (attr.kind == "float") return number_of<float>(text);
  if (attr.kind == "string") return std::string(text);
  if (attr.kind == "ints") return ints_of(text);
  if (attr.kind == "shapes") return std::vector<PartialShape>();
  if (attr.kind == "shape") return PartialShape();
  if (attr.kind == "tensor") {
    Tensor bytes = Tensor::uninitialized(DType::UInt8, Shape{std::ranges::count(text, ',') + 1});
    std::ranges::transform(ints_of(text), bytes.overwrite_data<std::uint8_t>().begin(),
                           [](std::int64_t number) { return static_cast<std::uint8_t>(number); });
    return bytes;
  }
  return dtype_called(text).value_or(DType::Invalid);
}

/// Whether a value is of a kind. An empty list in a file does not say what it is a list of.
inline bool is_of_kind(const AttrValue& value, std::string_view kind) {
  const auto* ints = std::get_if<std::vector<std::int64_t>>(&value);
  const bool is_empty_list = ints != nullptr && ints->empty();
  if (kind == "bool") return std::holds_alternative<bool>(value);
  if (kind == "int") return std::holds_alternative<std::int64_t>(value);
  if (kind == "float") return std::holds_alternative<float>(value);
  if (kind == "string") return std::holds_alternative<std::string>(value);
  if (kind == "shape") return std::holds_alternative<PartialShape>(value);
  if (kind == "tensor") return std::holds_alternative<Tensor>(value);
  if (kind == "ints") return ints != nullptr;
  if (kind == "floats") return is_empty_list || std::holds_alternative<std::vector<float>>(value);
  if (kind == "types") return is_empty_list || std::holds_alternative<std::vector<DType>>(value);
  if (kind == "shapes") return is_empty_list || std::holds_alternative<std::vector<PartialShape>>(value);
  return std::holds_alternative<DType>(value);
}

/// A number, or how many values a list has; nothing for other values.
inline std::optional<std::int64_t> size_of(const AttrValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) return std::ssize(*ints);
  if (const auto* types = std::get_if<std::vector<DType>>(&value)) return std::ssize(*types);
  if (const auto* shapes = std::get_if<std::vector<PartialShape>>(&value)) return std::ssize(*shapes);
  return std::nullopt;
}

/// The name without the mark of a whole name.
inline std::string_view bare_name(const NodeSpec& node) {
  const std::string_view name = node.name;
  return name.ends_with('/') ? name.substr(0, name.size() - 1) : name;
}

std::string label(const NodeSpec& node) {
  const std::string_view name = bare_name(node);
  return name.empty() || name == node.type ? node.type : fmt::format("node '{}' ({})", name, node.type);
}

void infer_attrs(NodeSpec& node, const OpDef& def) {
  const std::string_view inputs = def.signature.substr(0, def.signature.find("->"));
  const auto count = static_cast<std::size_t>(std::ranges::count(inputs, ' '));  // of words
  std::size_t at = 0;
  std::size_t index = 0;
  for (Words words(inputs); words.has_next() && at < node.inputs.size(); ++index) {
    std::string_view word = words.next();
    std::size_t repeated = 1;
    if (const std::size_t star = word.find('*'); star != std::string_view::npos) {
      const std::size_t rest = count - index - 1;
      const std::size_t repeats = node.inputs.size() - (std::min)(node.inputs.size(), at + rest);
      node.attrs.try_emplace(std::string(word.substr(0, star)), static_cast<std::int64_t>(repeats));
      repeated = static_cast<std::size_t>(attr_of<std::int64_t>(node, word.substr(0, star)));
      word = word.substr(star + 1);
    }
    if (names_attr(word)) {
      const auto found = node.attrs.find(word);
      if (found == node.attrs.end()) {
        if (node.inputs[at].has_value()) node.attrs.emplace(word, node.inputs[at].dtype());
      } else if (const auto* list = std::get_if<std::vector<DType>>(&found->second)) {
        repeated = list->size();
      }
    }
    at += repeated;
  }
}

/// The checks of one node.
class NodeChecker {
 public:
  NodeChecker(NodeSpec& node, const OpDef& def) : node_(node), def_(def) {}

  void validate() {
    check_attrs();
    Words words(def_.signature);
    for (std::string_view word; words.has_next() && (word = words.next()) != "->";) take_inputs(word);
    if (taken_ != node_.inputs.size()) {
      throw InvalidArgumentError("{} has {} inputs; its op type takes {}", name(), node_.inputs.size(), taken_);
    }
    check_dtypes();
    std::vector<OutputSpec> outputs;
    while (words.has_next()) {
      for (const DType dtype : dtypes_of(words.next()))
        outputs.push_back({dtype == kAnyDType ? DType::Invalid : dtype, PartialShape()});
    }
    for (std::size_t i = 0; i < outputs.size() && def_.shape != nullptr; ++i) outputs[i].shape = def_.shape(node_, i);
    if (outputs.empty() && def_.shape != nullptr) static_cast<void>(def_.shape(node_, 0));  // it checks the inputs
    for (std::size_t i = 0; i < outputs.size() && i < node_.outputs.size(); ++i)
      refine(outputs[i].shape, node_.outputs[i].shape);
    node_.outputs = std::move(outputs);
  }

  [[nodiscard]] std::vector<DType> input_dtypes() {
    check_attrs();
    std::vector<DType> result;
    Words words(def_.signature);
    for (std::string_view word; words.has_next() && (word = words.next()) != "->";) {
      for (const DType dtype : dtypes_of(word)) result.push_back(dtype == kAnyDType ? DType::Invalid : dtype);
    }
    return result;
  }

 private:
  static constexpr auto kAnyDType = static_cast<DType>(255);

  [[nodiscard]] std::string name() const { return fmt::format("node '{}' ({})", bare_name(node_), node_.type); }

  void check_attrs() {
    for (Words words(def_.attrs); words.has_next();) {
      const AttrDef attr = attr_def_of(words.next());
      const auto found = node_.attrs.find(attr.name);
      if (found == node_.attrs.end() && attr.value) {
        node_.attrs.emplace(attr.name, default_of(attr));
      } else if (found == node_.attrs.end() || !is_of_kind(found->second, attr.kind)) {
        throw InvalidArgumentError("{} has no attribute {} of the kind that its op type wants", name(), attr.name);
      } else {
        check_value(attr, found->second);
      }
    }
  }

  void check_value(const AttrDef& attr, const AttrValue& value) const {
    if (const auto size = size_of(value); attr.above && size && *size <= *attr.above) {
      throw InvalidArgumentError("{}: {}{} is {}, but must be above {}", label(node_),
                                 attr.kind == "int" ? "" : "the length of ", attr.name, *size, *attr.above);
    }
    const auto* text = std::get_if<std::string>(&value);
    bool is_allowed = attr.strings.empty() || text == nullptr;
    for (Words words(attr.strings, ','); words.has_next() && !is_allowed;) is_allowed = words.next() == *text;
    if (!is_allowed)
      throw InvalidArgumentError("{}: {} is '{}', not one of {}", label(node_), attr.name, *text, attr.strings);
  }

  /// The dtypes that a word of the signature means.
  [[nodiscard]] std::vector<DType> dtypes_of(std::string_view word) const {
    if (const std::size_t star = word.find('*'); star != std::string_view::npos) {
      const std::int64_t count = attr_of<std::int64_t>(node_, word.substr(0, star));
      constexpr std::int64_t kMost = 1 << 16;
      if (count < 0 || count > kMost)
        throw InvalidArgumentError("{} has {} inputs or outputs, not 0 to {}", name(), count, kMost);
      const std::vector<DType> one = dtypes_of(word.substr(star + 1));
      if (one.size() != 1) throw InvalidArgumentError("{} names several dtypes in {}", name(), word.substr(star + 1));
      return std::vector<DType>(static_cast<std::size_t>(count), one.front());
    }
    if (word == "any") return {kAnyDType};
    if (word == "resource") return {DType::Invalid};
    if (const auto dtype = dtype_called(word)) return {*dtype};
    const auto found = node_.attrs.find(word);
    if (found != node_.attrs.end()) {
      if (const auto* list = std::get_if<std::vector<DType>>(&found->second)) return *list;
      if (is_of_kind(found->second, "types")) return {};
    }
    return {attr_of<DType>(node_, word)};
  }

  void take_inputs(std::string_view word) {
    const std::string_view attr = word.substr(word.find('*') + 1);
    for (const DType dtype : dtypes_of(word)) {
      if (taken_ == node_.inputs.size()) throw InvalidArgumentError("{} has only {} inputs", name(), taken_);
      const Output& input = node_.inputs[taken_];
      if (!input.has_value()) throw InvalidArgumentError("{}: an input is empty, it names no node", label(node_));
      const auto same = std::ranges::find(words_, attr);
      const bool follows = same != words_.end() && names_attr(attr);
      if (dtype == kAnyDType ? input.dtype() == DType::Invalid : input.dtype() != dtype) {
        if (follows) {
          throw InvalidArgumentError("{}: {} and {} differ in dtype; cast() one of them", label(node_),
                                     node_.inputs[static_cast<std::size_t>(same - words_.begin())], input);
        }
        throw InvalidArgumentError("input {} of {} is {}, not of dtype {}", taken_, name(), input, dtype_name(dtype));
      }
      words_.push_back(attr);
      ++taken_;
    }
  }

  /// Checks that the dtype attributes hold dtypes that the op type allows.
  void check_dtypes() const {
    for (Words words(def_.attrs); words.has_next();) {
      const AttrDef attr = attr_def_of(words.next());
      const auto* dtype = std::get_if<DType>(&node_.attrs.find(attr.name)->second);
      if (dtype == nullptr) continue;
      const AllowedDTypes allowed(attr.kind);
      if (allowed.contains(*dtype)) continue;
      const auto input = std::ranges::find(words_, attr.name);
      if (input == words_.end()) {
        throw InvalidArgumentError("{}: {} is {}, but must be {}", label(node_), attr.name, *dtype,
                                   allowed.description());
      }
      throw InvalidArgumentError("{}: {} must be of {}", label(node_),
                                 node_.inputs[static_cast<std::size_t>(input - words_.begin())], allowed.description());
    }
  }

  /// Takes a shape that is known from elsewhere if it says more than what is known from the inputs.
  void refine(PartialShape& shape, const PartialShape& given) const {
    if (!shape.compatible_with(given))
      throw InvalidArgumentError("{} gives {}, but {} was expected", name(), shape, given);
    if (given.has_rank() && !shape.is_fully_known()) shape = given;
  }

  NodeSpec& node_;
  const OpDef& def_;
  std::size_t taken_ = 0;
  std::vector<std::string_view> words_;  ///< the word of the signature that describes each input
};

std::vector<DType> input_dtypes(NodeSpec node, const OpDef& def) { return NodeChecker(node, def).input_dtypes(); }

void complete(NodeSpec& node, const OpDef& def) { NodeChecker(node, def).validate(); }

}  // namespace trainhook::detail
