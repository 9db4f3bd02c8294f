// SPDX-License-Identifier: Apache-2.0
/// @file
/// Cases of ops that have state or write summaries: variables, generators, iterators, queues.
#include "op_cases.hpp"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace op_cases {
namespace {

using th::DType;
using th::Output;
using th::Shape;
using Cases = std::vector<CaseDef>;

void add_state(Cases& cases) {
  const auto add = [&](std::string op, std::function<void(Case&, const th::Variable&)> build) {
    cases.push_back({std::move(op),
                     [build = std::move(build)](Case& c) {
                       const th::Variable v = c.variable({2, 3});
                       c.init = v.initializer;
                       build(c, v);
                       c.out(v.read);
                     },
                     Mode::Steps});
  };
  add("VariableV2", [](Case&, const th::Variable&) {});
  add("Assign", [](Case& c, const th::Variable& v) { c.out(th::assign(v, c.in({2, 3}))); });
  add("AssignAdd", [](Case& c, const th::Variable& v) { c.out(th::assign_add(v, c.in({2, 3}))); });
  add("AssignSub", [](Case& c, const th::Variable& v) { c.out(th::assign_sub(v, c.in({2, 3}))); });
  for (const char* op : {"ScatterAdd", "ScatterSub", "ScatterUpdate"}) {
    for (const DType type : {DType::Int32, DType::Int64}) {
      const auto scatter = [&](const Shape& indices, const Shape& updates) {
        add(op, [=](Case& c, const th::Variable& v) {
          c.out(c.raw(op, {v.ref(), c.in_as(type, indices, 0, 1), c.in(updates)},
                      {{"T", c.dtype}, {"Tindices", type}, {"use_locking", false}}));
        });
      };
      scatter({4}, {4, 3});
      scatter({2, 2}, {2, 2, 3});
      scatter({}, {3});
      scatter({3}, {});
    }
  }
  add("IsVariableInitialized", [](Case& c, const th::Variable& v) { c.out(th::is_variable_initialized(v)); });

  const auto apply = [&](std::string op, int slots, int numbers, const th::Attrs& attrs, bool gradient_last,
                         double most = 2) {
    cases.push_back({op,
                     [=](Case& c) {
                       std::vector<th::Variable> variables;
                       for (int i = 0; i <= slots; ++i) variables.push_back(c.variable({2, 3}, most / 4, most));
                       c.init = th::variables_initializer(c.graph, variables);
                       std::vector<Output> inputs;
                       for (const th::Variable& v : variables) inputs.push_back(v.ref());
                       for (int i = 0; i < numbers; ++i) inputs.push_back(c.in({}, 0.1, 0.9));
                       inputs.insert(inputs.end() - (gradient_last ? 0 : 1), c.in({2, 3}));
                       th::Attrs with = attrs;
                       with.insert({{"T", c.dtype}, {"use_locking", false}});
                       c.out(c.raw(op, inputs, with));
                       for (const th::Variable& v : variables) c.out(v.read);
                     },
                     Mode::Steps});
  };
  apply("ApplyGradientDescent", 0, 1, {}, true);
  apply("ApplyMomentum", 1, 2, {{"use_nesterov", false}}, false);
  apply("ApplyMomentum", 1, 2, {{"use_nesterov", true}}, false);
  apply("ApplyAdagrad", 1, 1, {{"update_slots", true}}, true);
  apply("ApplyAdam", 2, 6, {{"use_nesterov", false}}, true);
  apply("ApplyRMSProp", 2, 4, {}, true);
  apply("ApplyCenteredRMSProp", 3, 4, {}, true,
        0.2);  // the square of the mean gradient has to stay below the mean square
}

void add_random(Cases& cases) {
  const auto drawn = [&](std::string op, auto build) {
    cases.push_back({std::move(op), [=](Case& c) { c.out(build(c.graph, Shape{60, 50}, c.dtype)); }, Mode::Drawn});
  };
  drawn("RandomUniform", [](th::Graph& graph, const Shape& shape, DType dtype) {
    return th::random_uniform(graph, shape, {.dtype = dtype});
  });
  drawn("RandomStandardNormal", [](th::Graph& graph, const Shape& shape, DType dtype) {
    return th::random_normal(graph, shape, {.mean = 2, .stddev = 3, .dtype = dtype});
  });
  drawn("TruncatedNormal", [](th::Graph& graph, const Shape& shape, DType dtype) {
    return th::truncated_normal(graph, shape, {.dtype = dtype});
  });
  cases.push_back(
      {"RandomUniformInt",
       [](Case& c) {
         const Output low = th::constant(c.graph, th::detail::filled_tensor(c.dtype, Shape{}, 2));
         const Output high = th::constant(c.graph, th::detail::filled_tensor(c.dtype, Shape{}, 90));
         c.out(c.raw("RandomUniformInt", {c.ints({60, 50}), low, high},
                     {{"T", DType::Int32}, {"Tout", c.dtype}, {"seed", std::int64_t{1}}, {"seed2", std::int64_t{2}}}));
       },
       Mode::Drawn});
  cases.push_back(
      {"LogUniformCandidateSampler",
       [](Case& c) {
         const Output classes = th::constant(c.graph, th::Tensor::of<std::int64_t>({0, 5, 2, 99, 31, 7}, {3, 2}));
         const th::SampledCandidates sampled =
             th::log_uniform_candidate_sampler(classes, {.num_sampled = 3'000, .range_max = 100, .unique = false});
         c.out(sampled.sampled_candidates);
         c.out(sampled.true_expected_count);
         c.out(sampled.sampled_expected_count);
       },
       Mode::Drawn, false});
  cases.push_back({"LogUniformCandidateSampler",
                   [](Case& c) {
                     const Output classes = th::constant(c.graph, th::Tensor::of<std::int64_t>({0, 1, 2}, {3, 1}));
                     const th::SampledCandidates sampled =
                         th::log_uniform_candidate_sampler(classes, {.num_sampled = 100, .range_max = 100});
                     c.out(sampled.sampled_candidates);
                   },
                   Mode::Drawn, false});
}

void add_summaries(Cases& cases) {
  const auto summary = [&](std::string op, auto build, bool every_dtype = true) {
    cases.push_back({std::move(op), [=](Case& c) { c.out(build(c)); }, Mode::Summary, every_dtype});
  };
  summary("ScalarSummary", [](Case& c) { return th::summary::scalar("s", c.in({})); });
  summary("HistogramSummary", [](Case& c) { return th::summary::histogram("h", c.in({40, 30}, -9, 9)); });
  summary("ImageSummary", [](Case& c) { return th::summary::image("i", c.in({2, 5, 4, 3}, 0, 200)); });
  summary("ImageSummary", [](Case& c) { return th::summary::image("i", c.in({4, 5, 4, 1}, -1, 1)); });
  summary(
      "TensorSummaryV2", [](Case& c) { return th::summary::text("t", c.in_as(DType::String, {3})); }, false);
  summary("MergeSummary", [](Case& c) {
    return th::summary::merge({th::summary::scalar("a", c.in({})), th::summary::scalar("b", c.in({}))});
  });
}

void add_iterators(Cases& cases) {
  const auto next = [](Case& c) { c.out(th::make_iterator(c.graph, th::Dataset::range(3)).get_next()); };
  cases.push_back({"IteratorV2", next, Mode::ImportOnly, false});
  cases.push_back({"IteratorGetNext", next, Mode::ImportOnly, false});
}

void add_queues(Cases& cases) {
  cases.push_back({"FIFOQueueV2",
                   [](Case& c) {
                     const th::FIFOQueue queue(c.graph, 10, {c.dtype, DType::Int64}, {{2}, {}});
                     const auto constant = [&](DType dtype, const Shape& shape) {
                       return th::constant(c.graph, c.random_tensor(dtype, shape, -9, 9));
                     };
                     c.init = queue.enqueue_many({constant(c.dtype, {6, 2}), constant(DType::Int64, {6})});
                     const auto size_after = [&](const th::Operation& op) {
                       const th::Graph::Scope after = c.graph.control_dependencies({op});
                       c.out(queue.size());
                     };
                     c.out(queue.size());
                     c.out(queue.dequeue());
                     c.out(queue.dequeue_many(2)[0]);
                     c.out(queue.dequeue_many(0)[0]);
                     size_after(queue.enqueue({c.in({2}), constant(DType::Int64, {})}));
                     size_after(queue.enqueue_many({c.in({3, 2}), constant(DType::Int64, {3})}));
                     size_after(queue.close());
                     c.out(queue.dequeue_many(6)[1]);
                   },
                   Mode::Steps});
}

}  // namespace

void add_stateful_ops(Cases& cases) {
  add_state(cases);
  add_random(cases);
  add_summaries(cases);
  add_iterators(cases);
  add_queues(cases);
}

}  // namespace op_cases
