// SPDX-License-Identifier: Apache-2.0
/// @file
/// Runs every case of op_cases.hpp in every dtype, and writes graphs, inputs and results for test_ops.py. Fails if a
/// kernel of the library or a gradient has no case, or if a gradient is not what finite differences say.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/tensor_bundle.hpp>
#include <trainhook/compat/kernels.hpp>
#include <trainhook/engine.hpp>
#include <trainhook/model/graph_def/graph_def_writer.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>

#include "op_cases.hpp"

namespace {

namespace th = trainhook;
using op_cases::Case;
using op_cases::CaseDef;
using op_cases::Mode;

constexpr const char* kModes[] = {"values", "steps", "drawn", "summary", "import"};

/// What the cases have had to do with so far.
struct Coverage {
  std::set<std::string> types{};           // computed and compared
  std::set<std::string> differentiated{};  // op types whose gradient function was asked
  std::set<std::pair<std::string, th::DType>> pairs{};
  std::size_t cases = 0;
  std::size_t gradients = 0;
  double largest_difference = 0;  // between a gradient and finite differences
};

bool has_gradient(std::string_view type) {
  const th::OpDef* def = th::find_op_def(type);
  return def != nullptr && def->gradient != nullptr;
}

void mark_types(const std::vector<th::Output>& outputs, std::set<std::string>& types) {
  std::set<const th::Node*> seen;
  std::vector<const th::Node*> open;
  const auto visit = [&](const th::Node& node) {
    if (seen.insert(&node).second) open.push_back(&node);
  };
  for (const th::Output& output : outputs) visit(output.node());
  while (!open.empty()) {
    const th::Node& node = *open.back();
    open.pop_back();
    types.insert(node.type());
    for (const th::Output& input : node.inputs()) visit(input.node());
    for (const th::Operation& input : node.control_inputs()) visit(input.node());
  }
}

/// The gradients of a case: of the sum of its outputs times fed weights, for each floating input.
struct Gradients {
  std::vector<th::Output> ys{};
  std::vector<th::Output> weights{};
  std::vector<th::Output> xs{};
  std::vector<th::Output> grads{};
};

Gradients add_gradients(Case& c) {
  Gradients result;
  std::vector<th::Output> xs;
  for (const th::Feed& feed : c.feeds) {
    if (feed.key.dtype() == c.dtype) xs.push_back(feed.key);
  }
  for (const th::Output& y : c.outputs) {
    if (y.dtype() == c.dtype) result.ys.push_back(y);
  }
  if (result.ys.empty() || xs.empty()) return {};
  for (const th::Output& y : result.ys)
    result.weights.push_back(c.in(y.shape().is_fully_known() ? y.shape().known() : th::Shape{}));
  const std::vector<th::Output> grads = th::gradients(result.ys, xs, {.grad_ys = result.weights});
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!grads[i].has_value()) continue;
    result.xs.push_back(xs[i]);
    result.grads.push_back(grads[i]);
  }
  return result;
}

th::FeedDict feeds_of(const Case& c) {
  th::FeedDict feeds;
  for (const th::Feed& feed : c.feeds) feeds.push_back(feed);
  return feeds;
}

double weighted_sum(th::EigenSession& session, const Gradients& gradients, const th::FeedDict& feeds) {
  double sum = 0;
  for (std::size_t i = 0; i < gradients.ys.size(); ++i) {
    const th::Tensor y = session.run(gradients.ys[i], feeds);
    const th::Tensor weight = session.run(gradients.weights[i], feeds);
    for (std::size_t k = 0; k < y.data<double>().size(); ++k) sum += y.data<double>()[k] * weight.data<double>()[k];
  }
  return sum;
}

void compare_with_differences(const std::string& id, th::EigenSession& session, const Case& c,
                              const Gradients& gradients, Coverage& coverage) {
  for (std::size_t i = 0; i < gradients.xs.size(); ++i) {
    const th::Tensor grad = session.run(gradients.grads[i], feeds_of(c));
    for (std::size_t k = 0; k < grad.data<double>().size(); ++k) {
      const auto at = [&](double by) {
        th::FeedDict feeds = feeds_of(c);
        for (th::Feed& feed : feeds) {
          if (feed.key == gradients.xs[i]) feed.value.mutable_data<double>()[k] += by;
        }
        return weighted_sum(session, gradients, feeds);
      };
      constexpr double kStep = 1e-6;
      const double expected = (at(kStep) - at(-kStep)) / (2 * kStep);
      const double actual = grad.data<double>()[k];
      const double difference = std::abs(actual - expected) / std::max(1.0, std::abs(expected));
      coverage.largest_difference = std::max(coverage.largest_difference, difference);
      if (!(difference < 1e-6)) {
        throw th::InternalError("{}: the gradient for {}[{}] is {}, by differences {}", id, gradients.xs[i].name(), k,
                                actual, expected);
      }
    }
  }
}

std::string joined(const std::vector<th::Output>& first, const std::vector<th::Output>& second = {}) {
  std::string text;
  for (std::size_t i = 0; i < first.size(); ++i) {
    text += fmt::format("{}{}", i > 0 ? "," : "", first[i].name());
    if (!second.empty()) text += "=" + second[i].name();
  }
  return text;
}

class Writer {
 public:
  explicit Writer(std::string directory)
      : directory_(std::move(directory)), values_(th::join_path(directory_, "values")), random_(20240229) {}

  void write(const CaseDef& def, th::DType dtype) {
    th::Graph graph;
    Case c(graph, dtype, random_);
    try {
      def.build(c);
    } catch (const th::InvalidArgumentError&) {  // the builder does not take the dtype
      return;
    } catch (const th::UnimplementedError&) { return; }
    const bool differentiates =
        def.mode == Mode::Values && (dtype == th::DType::Float || dtype == th::DType::Double) && has_gradient(def.op);
    const std::vector<th::Output> outputs = c.outputs;
    const Gradients gradients = differentiates ? add_gradients(c) : Gradients();
    const std::string id = fmt::format("{}.{}.{}", def.op, th::dtype_name(dtype), coverage.cases);
    th::EigenSession session(graph, {.kernels = th::compat::kernels()});
    std::vector<th::Tensor> results;
    try {
      results = run(session, def.mode, c, outputs, gradients);
    } catch (const th::UnimplementedError&) {  // there is no kernel for the dtype
      return;
    }
    if (dtype == th::DType::Double && c.is_smooth) compare_with_differences(id, session, c, gradients, coverage);
    if (differentiates) coverage.differentiated.insert(def.op);
    coverage.pairs.emplace(def.op, dtype);
    coverage.gradients += gradients.grads.size();
    ++coverage.cases;
    std::vector<th::Output> all = outputs;
    all.insert(all.end(), gradients.grads.begin(), gradients.grads.end());
    mark_types(all, coverage.types);
    th::write_graph(th::posix_file_system(), graph, directory_, id + ".pb", false);
    std::vector<th::Output> fed;
    for (const th::Feed& feed : c.feeds) {
      fed.push_back(feed.key);
      values_.add(id + "/" + feed.key.name(), feed.value);
    }
    for (std::size_t i = 0; i < results.size(); ++i) values_.add(fmt::format("{}/result/{}", id, i), results[i]);
    list_ += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", id, def.op, kModes[static_cast<int>(def.mode)],
                         c.init.has_value() ? c.init.name() : "", joined(fed), joined(all),
                         joined(gradients.ys, gradients.weights), joined(gradients.xs, gradients.grads));
  }

  void finish() {
    values_.finish();
    th::write_file_atomically(th::posix_file_system(), th::join_path(directory_, "cases.tsv"), list_);
  }

  Coverage coverage{};

 private:
  static std::vector<th::Tensor> run(th::EigenSession& session, Mode mode, const Case& c,
                                     const std::vector<th::Output>& outputs, const Gradients& gradients) {
    std::vector<th::Fetch> fetches(outputs.begin(), outputs.end());
    fetches.insert(fetches.end(), gradients.grads.begin(), gradients.grads.end());
    if (mode == Mode::ImportOnly) return session.run(fetches);
    if (c.init.has_value()) session.run(c.init);
    if (mode != Mode::Steps) return session.run(fetches, feeds_of(c));
    std::vector<th::Tensor> results;
    for (const th::Fetch& fetch : fetches) results.push_back(session.run(std::span(&fetch, 1), feeds_of(c)).front());
    return results;
  }

  std::string directory_;
  th::BundleWriter values_;
  std::mt19937_64 random_;
  std::string list_;
};

/// @throws NotFoundError, listing them, if op types or gradients have no case.
void require_all(const Coverage& coverage) {
  std::string missing;
  std::set<std::string> types{"Const",        "Identity",  "NoOp", "Placeholder", "PlaceholderWithDefault",
                              "StopGradient", "VariableV2"};
  std::vector<th::KernelGroup> groups = th::compat::kernels();
  groups.insert(groups.end(), th::kernels::all().begin(), th::kernels::all().end());
  for (const th::KernelGroup group : groups) {
    for (const th::KernelDef& def : group) types.insert(std::string(def.type));
  }
  types.erase("RestoreV2");  // reads a checkpoint: test_warm_start.py
  const auto is_ours = [](std::string_view type) { return type.starts_with("Trainhook"); };  // TensorFlow has none
  std::erase_if(types, is_ours);
  for (const std::string& type : types) {
    if (!coverage.types.contains(type)) missing += " " + type;
    if (th::find_op_def(type) == nullptr) missing += fmt::format(" {}(OpDef)", type);
  }
  const std::set<std::string> effects{"Assign",     "AssignAdd",    "AssignSub", "ScatterAdd",
                                      "ScatterSub", "ScatterUpdate"};  // whose inputs no gradient is asked for
  for (const th::detail::OpFamily family : th::compat::ops()) {
    for (const th::OpDef* def : family) {
      const std::string type(def->type);
      if (def->gradient == nullptr || effects.contains(type) || is_ours(type)) continue;
      if (!coverage.differentiated.contains(type)) missing += fmt::format(" {}(gradient)", type);
    }
  }
  if (!missing.empty()) throw th::NotFoundError("there is no case for{}", missing);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw th::InvalidArgumentError("usage: write_op_cases <directory>");
    th::posix_file_system().make_directories(argv[1]);
    Writer writer(argv[1]);
    std::string failures;
    for (const CaseDef& def : op_cases::all_cases()) {
      for (const th::detail::DTypeInfo& info : th::detail::kDTypes) {
        if (!def.every_dtype && info.dtype != th::DType::Float) continue;
        try {
          writer.write(def, info.dtype);
        } catch (const th::Error& error) {
          failures += fmt::format("\n  {} of {}: {}", def.op, info.name, error.what());
        }
      }
    }
    writer.finish();
    if (!failures.empty()) throw th::InternalError("cases failed:{}", failures);
    require_all(writer.coverage);
    fmt::print(
        "{} cases of {} op types, {} pairs of op type and dtype, {} gradients of {} op types, largest difference "
        "{:g}\n",
        writer.coverage.cases, writer.coverage.types.size(), writer.coverage.pairs.size(), writer.coverage.gradients,
        writer.coverage.differentiated.size(), writer.coverage.largest_difference);
  } catch (const std::exception& error) {
    fmt::print(stderr, "write_op_cases: {}\n", error.what());
    return 1;
  }
}
