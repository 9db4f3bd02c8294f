// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shape cases made from the definition of each op: inputs of many shapes, every dtype, attributes of several values.
#include "shape_cases.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>

#include <trainhook/graph/op_signature.hpp>

namespace shape_cases {
namespace {

using th::DType;
using th::detail::AttrDef;
using th::detail::Words;
using Cases = std::vector<ShapeCase>;
using Types = std::vector<DType>;
using Shapes = std::vector<th::PartialShape>;
using Values = std::vector<th::AttrValue>;

constexpr std::size_t kMostShapes = 30;  // of each op, besides those that fit

/// The tensors that an input may be, the one of unknown shape last. Integers may be a shape or an axis, so most of them
/// are constants.
std::vector<In> tensors_of(DType dtype) {
  std::vector<In> result;
  if (dtype == DType::Int32 || dtype == DType::Int64) {
    result = {number(0), number(-1), number(7), ints({1, 0}), ints({3, 4}), ints({}), ints({1, 1, 1, 1}, {2, 2})};
    for (In& input : result)
      if (dtype == DType::Int64) input = with_dtype(input, dtype);
    for (const Dims& dims : {Dims{}, Dims{3}}) result.push_back(in(dims, dtype));
  } else {
    for (const Dims& dims : {Dims{3, 4}, Dims{}, Dims{4}, Dims{2}, Dims{-1, 4}, Dims{2, 3, 4}, Dims{1, 3, 3, 2}})
      result.push_back(in(dims, dtype));
  }
  result.push_back(any(dtype));
  return result;
}

/// Values for an attribute; the first one is right for most ops.
Values values_of(const AttrDef& attr) {
  const std::string_view kind = attr.kind;
  if (kind == "bool") return {true, false};
  if (kind == "int") return {std::int64_t{2}, std::int64_t{1}, std::int64_t{0}, std::int64_t{-1}};
  if (kind == "float") return {0.5F};
  if (kind == "tensor") return {th::Tensor(1.0F), th::Tensor(std::int32_t{1})};
  if (kind == "types") return {Types{DType::Float, DType::Int32}, Types{DType::Float}, Types{}};
  if (kind == "shape") return {th::PartialShape{-1, 4}, th::PartialShape(), th::PartialShape(th::Shape{})};
  if (kind == "shapes")
    return {Shapes{th::PartialShape{-1, 4}, th::PartialShape()}, Shapes{th::PartialShape{3}}, Shapes{}};
  if (kind == "floats") return {std::vector<float>{0, 1}, std::vector<float>{}};
  if (kind == "ints") return {Dims{1, 1, 1, 1}, Dims{1, 2, 2, 1}, Dims{1, 0, 1, 1}, Dims{2, 1, 1, 1}, Dims{0}, Dims{}};
  Values values;
  if (kind == "string") {
    for (Words words(attr.strings, ','); words.has_next();) values.emplace_back(std::string(words.next()));
    for (const char* text : {"ij,jk->ik", "none"}) values.emplace_back(std::string(text));
    return values;
  }
  for (const bool is_allowed : {true, false}) {
    for (const th::detail::DTypeInfo& info : th::detail::kDTypes) {
      if (th::detail::AllowedDTypes(kind).contains(info.dtype) == is_allowed) values.emplace_back(info.dtype);
    }
  }
  return values;
}

/// Whether the op changes variables, so that its inputs have to be variables rather than tensors.
bool takes_variables(std::string_view type) {
  for (const char* start : {"Apply", "Assign", "IsVariable", "RefIdentity", "RefSwitch", "ScatterAdd", "ScatterSub",
                            "ScatterUpdate", "SparseApply"})
    if (type.starts_with(start)) return true;
  return false;
}

/// The cases of one op.
class OpCases {
 public:
  explicit OpCases(const th::OpDef& def) : def_(def) {
    for (Words words(def.attrs); words.has_next();) attrs_.push_back(th::detail::attr_def_of(words.next()));
    for (Words words(def.signature); words.has_next();) read_attrs(words.next());
    for (const AttrDef& attr : attrs_) {
      const th::AttrValue value = values_of(attr).front();
      if (!attr.value || std::holds_alternative<DType>(value)) given_.emplace(attr.name, value);
    }
    for (Words words(def.signature.substr(0, def.signature.find("->"))); words.has_next();) read_inputs(words.next());
    spare_tensorflow();
  }

  void add_to(Cases& cases) const {
    std::vector<Choice> good;
    std::vector<Choice> others;
    std::set<Choice> seen;
    for (std::size_t preferred = 0; preferred < tensors_of(DType::Int32).size(); ++preferred) {
      const Choice choice = most_definite(preferred);
      if (seen.insert(choice).second) good.push_back(choice);
    }
    for (const Choice& of : good) {
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        Choice choice = of;
        for (choice[i] = 0; choice[i] < inputs_[i].choices.size(); ++choice[i])
          if (seen.insert(choice).second) others.push_back(choice);
      }
    }
    for (const Choice& choice : good) cases.push_back(case_of(choice));
    const std::size_t count = std::min(kMostShapes, others.size());
    for (std::size_t i = 0; i < count; ++i) cases.push_back(case_of(others[i * others.size() / count]));
    add_attributes(cases, case_of(good.front()), true);
    if (good.size() > 1) add_attributes(cases, case_of(good.back()), false);
  }

 private:
  using Choice = std::vector<std::size_t>;  ///< for each input, which of its choices

  struct Input {
    std::string_view word{};  ///< of the signature
    std::vector<In> choices{};
    std::string_view count{};  ///< the attribute that says how many of the word there are
    std::int64_t place{};      ///< among those
  };

  /// Adds the attributes that only the signature names.
  void read_attrs(std::string_view word) {
    const std::size_t star = word.find('*');
    const auto add = [this](std::string_view name, std::string_view kind) {
      if (std::ranges::find(attrs_, name, &AttrDef::name) == attrs_.end())
        attrs_.push_back({.name = name, .kind = kind});
    };
    if (star != std::string_view::npos) add(word.substr(0, star), "int");
    if (word != "->" && th::detail::names_attr(word.substr(star + 1))) add(word.substr(star + 1), "type");
  }

  void read_inputs(std::string_view word) {
    const std::size_t star = word.find('*');
    const std::string_view name = word.substr(star + 1);
    Types dtypes(star == std::string_view::npos ? 1 : 2, th::detail::dtype_called(name).value_or(DType::Float));
    if (const auto found = given_.find(name); found != given_.end()) {
      if (const auto* list = std::get_if<Types>(&found->second)) dtypes = *list;
      if (const auto* dtype = std::get_if<DType>(&found->second)) std::ranges::fill(dtypes, *dtype);
    }
    for (std::size_t i = 0; i < dtypes.size(); ++i) {
      Input input{.word = name, .choices = name == "resource" ? resources() : tensors_of(dtypes[i])};
      if (star != std::string_view::npos) input.count = word.substr(0, star);
      input.place = static_cast<std::int64_t>(i);
      for (In& choice : input.choices)
        if (takes_variables(def_.type) && dtypes[i] == DType::Float) choice.type = "VariableV2";
      inputs_.push_back(std::move(input));
    }
  }

  /// Leaves out what TensorFlow does not refuse but dies of.
  void spare_tensorflow() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const bool is_count = def_.type == "QueueDequeueManyV2" && i == 1;
      const bool are_sizes = def_.type == "SplitV" && i == 1;
      const bool is_gradient =
          def_.type.starts_with("SparseApply") && i + 1 < inputs_.size() && inputs_[i + 1].word == "Tindices";
      std::erase_if(inputs_[i].choices, [&](const In& input) {
        const th::PartialShape shape = shape_of(input);
        if (!shape.has_rank()) return false;
        return (is_count && shape.rank() != 0) || (are_sizes && shape.rank() != 1) ||
               (is_gradient && shape.rank() == 0);
      });
    }
  }

  /// What an op of queues or iterators may be given.
  std::vector<In> resources() const {
    const th::AttrValue types = values_of(AttrDef{.name = "list", .kind = "types"}).front();
    const th::AttrValue shapes = values_of(AttrDef{.name = "list", .kind = "shapes"}).front();
    const th::AttrValue name = std::string();
    const In queue{"FIFOQueueV2", {{"component_types", types}, {"shapes", shapes}}};
    const In iterator{"IteratorV2",
                      {{"output_types", types}, {"output_shapes", shapes}, {"container", name}, {"shared_name", name}}};
    return {in({2}), def_.type.starts_with("Iterator") ? iterator : queue};
  }

  ShapeCase case_of(const Choice& choice) const {
    ShapeCase of{.op = std::string(def_.type), .attrs = given_};
    for (std::size_t i = 0; i < inputs_.size(); ++i) of.inputs.push_back(inputs_[i].choices[choice[i]]);
    return of;
  }

  /// Inputs as definite as the op lets them be; each one is the first that fits from `preferred` on.
  Choice most_definite(std::size_t preferred) const {
    Choice result;
    for (const Input& input : inputs_) result.push_back(input.choices.size() - 1);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const std::size_t count = inputs_[i].choices.size();
      for (std::size_t k = 0; k < count; ++k) {
        Choice tried = result;
        tried[i] = (preferred + k) % count;
        if (result_of([&](th::Graph& graph) { return build(graph, case_of(tried)); }).error.empty()) {
          result = tried;
          break;
        }
      }
    }
    return result;
  }

  /// One attribute after the other takes each of its values, or is missing.
  void add_attributes(Cases& cases, const ShapeCase& of, bool with_dtypes) const {
    for (const AttrDef& attr : attrs_) {
      if (!with_dtypes && std::holds_alternative<DType>(values_of(attr).front())) continue;
      const auto found = of.attrs.find(attr.name);
      for (const th::AttrValue& value : values_of(attr))
        if (found == of.attrs.end() || found->second != value) cases.push_back(with_attr(of, attr.name, value));
      if (found == of.attrs.end()) continue;
      cases.push_back(of);
      cases.back().attrs.erase(std::string(attr.name));
    }
    cases.push_back(of);
    if (!of.inputs.empty()) cases.back().inputs.pop_back();
  }

  /// With another value of an attribute, and with inputs of that dtype or as many inputs.
  ShapeCase with_attr(ShapeCase of, std::string_view name, const th::AttrValue& value) const {
    of.attrs.insert_or_assign(std::string(name), value);
    for (std::size_t i = inputs_.size(); i-- > 0;) {
      const auto* dtype = std::get_if<DType>(&value);
      if (inputs_[i].word == name && dtype != nullptr) of.inputs[i] = with_dtype(of.inputs[i], *dtype);
      if (inputs_[i].count == name && inputs_[i].place >= std::get<std::int64_t>(value))
        of.inputs.erase(of.inputs.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return of;
  }

  const th::OpDef& def_;
  std::vector<AttrDef> attrs_;
  std::vector<Input> inputs_;
  th::Attrs given_;
};

}  // namespace

std::vector<ShapeCase> generated_shape_cases() {
  Cases cases;
  for (const th::detail::OpFamily family : th::compat::ops()) {
    for (const th::OpDef* def : family) {
      if (!def->type.starts_with("TrainhookAllReduce")) OpCases(*def).add_to(cases);  // TensorFlow has no such ops
    }
  }
  return cases;
}

}  // namespace shape_cases
