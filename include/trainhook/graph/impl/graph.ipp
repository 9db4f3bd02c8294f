// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/graph.hpp>

#include <cctype>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/names_in_messages.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

const OpDef& identity_op() noexcept {
  static constexpr OpDef kIdentityOp{"Identity", "T -> T", "",
                                     [](const NodeSpec& node, std::size_t) { return node.inputs[0].shape(); },
                                     [](const GradientContext& context) { return Grads{context.grad()}; }};
  return kIdentityOp;
}

std::atomic<bool>& is_exiting() noexcept {
  static std::atomic<bool> is_exiting{false};
  return is_exiting;
}

}  // namespace trainhook::detail

namespace trainhook {

Graph::~Graph() { is_left_in_use("graph"); }

void Graph::begin_use() noexcept {
  ++uses_;
  if (!std::exchange(was_used_, true)) std::atexit([] { detail::is_exiting() = true; });
}

bool Graph::is_left_in_use(std::string_view what) const noexcept {
  if (uses_ == 0) return false;
  if (!process_.is_here() || detail::is_exiting()) return true;
  log_error(
      "a {0} is destroyed before its session, which still uses it: declare the {0} before the session, or close the "
      "session first. The program ends here",
      what);
  std::abort();
}

Operation Graph::add(NodeSpec spec) { return add_node(std::move(spec), nullptr); }

Operation Graph::add_node(NodeSpec&& spec, const OpDef* def) {
  check_not_finalized();
  std::string base = spec.name.empty() ? spec.type : spec.name;
  const bool is_whole = base.ends_with('/');
  if (is_whole) base.pop_back();
  if (!is_valid_name(base)) {
    throw InvalidArgumentError(
        "'{}' is not a valid name for a node: letters, digits and . _ / > - are, starting with a letter, digit or dot",
        base);
  }
  detail::expect_utf8(spec.type, "the type of a node");
  for (const auto& [name, value] : spec.attrs) detail::expect_utf8(name, "the name of an attribute");
  for (const Output& input : spec.inputs) check_belongs(input, "an input of", base);
  spec.control_inputs.insert(spec.control_inputs.end(), controls_.begin(), controls_.end());
  for (const Operation& input : spec.control_inputs) {
    if (!input.has_value() || &input.graph() != this)
      throw InvalidArgumentError("a control input of {} is not of this graph", base);
  }
  remove_repeats(spec.control_inputs);
  spec.name = is_whole ? whole_name(base) : unique_name(base);
  Node& node = nodes_.emplace_back(*this, nodes_.size(), std::move(spec), def);
  by_name_.emplace(node.name(), &node);
  return Operation(&node);
}

Operation Graph::add(const OpDef& def, NodeSpec spec) {
  spec.type = def.type;
  detail::complete(spec, def);
  return add_node(std::move(spec), &def);
}

std::string Graph::unique_name(std::string_view name) {
  std::string full = scope_ + std::string(name);
  const auto taken = [this](const std::string& candidate) { return used_names_.contains(lower(candidate)); };
  if (taken(full)) {
    const std::string base = full;
    std::size_t& last = used_names_[lower(base)];
    do full = fmt::format("{}_{}", base, ++last);
    while (taken(full));
  }
  used_names_.emplace(lower(full), 0);
  return full;
}

Operation Graph::find_operation(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? Operation() : Operation(found->second);
}

Operation Graph::operation(std::string_view name) const {
  const Operation found = find_operation(name);
  if (!found.has_value()) {
    std::vector<std::string_view> names;
    for (const Node& node : nodes_) names.push_back(node.name());
    throw NotFoundError("the graph has no operation '{}'; {}", name, detail::suggest_names(std::move(names), name));
  }
  return found;
}

Output Graph::output(std::string_view name) const {
  const std::size_t colon = name.rfind(':');
  const Operation found = operation(name.substr(0, colon));
  if (colon == std::string_view::npos) {
    if (found.node().outputs().size() == 1) return found.output(0);
    throw InvalidArgumentError("operation '{}' has {} outputs; say which one, as in '{}:0'", name,
                               found.node().outputs().size(), name);
  }
  std::size_t index = 0;
  const std::string_view digits = name.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    throw InvalidArgumentError("'{}' is not a tensor name such as 'loss:0'", name);
  }
  return found.output(index);
}

Graph::Scope::Scope(Scope&& other) noexcept
    : graph_(std::exchange(other.graph_, nullptr)),
      name_(std::move(other.name_)),
      controls_(std::move(other.controls_)) {}

Graph::Scope::~Scope() {
  if (graph_ == nullptr) return;
  graph_->scope_ = std::move(name_);
  graph_->controls_ = std::move(controls_);
}

Graph::Scope Graph::name_scope(std::string_view name) {
  Scope outer(*this);
  scope_ = name.ends_with('/') ? std::string(name) : unique_name(name) + "/";
  return outer;
}

Graph::Scope Graph::control_dependencies(std::vector<Operation> operations) {
  Scope outer(*this);
  controls_.insert(controls_.end(), operations.begin(), operations.end());
  return outer;
}

Graph::Scope Graph::top_level() {
  Scope outer(*this);
  scope_.clear();
  controls_.clear();
  return outer;
}

void Graph::check_belongs(const Output& output, std::string_view role, std::string_view of) const {
  if (!output.has_value()) throw InvalidArgumentError("{} {} is empty: it names no node", role, of);
  if (&output.graph() != this)
    throw InvalidArgumentError("{} {} is '{}', which belongs to another graph", role, of, output.name());
}

void Graph::check_not_finalized() const {
  if (finalized_)
    throw FailedPreconditionError("Graph is finalized and cannot be modified; add nodes before the session is made");
}

std::string Graph::whole_name(const std::string& name) {
  if (by_name_.contains(name)) throw InvalidArgumentError("the graph already has a node '{}'", name);
  used_names_.emplace(lower(name), 0);
  return name;
}

std::string Graph::lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool Graph::is_valid_name(std::string_view name) noexcept {
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.'; };
  if (name.empty() || !is_letter(name[0])) return false;
  for (char c : name) {
    if (!is_letter(c) && c != '_' && c != '/' && c != '>' && c != '-' && c != '\\') return false;
  }
  return name.back() != '/';
}

void Graph::remove_repeats(std::vector<Operation>& operations) {
  constexpr std::size_t kFew = 64;  // are compared one by one
  std::vector<Operation> kept;
  std::vector<bool> seen;  // by node id
  for (const Operation& operation : operations) {
    bool is_new = true;
    if (operations.size() <= kFew) {
      is_new = std::find(kept.begin(), kept.end(), operation) == kept.end();
    } else {
      if (operation.node().id() >= seen.size()) seen.resize(2 * operation.node().id() + 1);
      is_new = !seen[operation.node().id()];
      seen[operation.node().id()] = true;
    }
    if (is_new) kept.push_back(operation);
  }
  operations = std::move(kept);
}

Output Output::named(std::string_view name) const {
  return graph()
      .add(detail::identity_op(), {.name = std::string(name), .inputs = {*this}, .attrs = {{"T", dtype()}}})
      .output();
}

}  // namespace trainhook
