// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/all_reduce.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

/// The collection of `std::shared_ptr<AllReducer>`; the attribute `reducer` is a place in it.
inline constexpr std::string_view kAllReducers = "trainhook/all_reducers";

inline PartialShape all_reduced_shape(const NodeSpec& node, std::size_t index) { return node.inputs[index].shape(); }

/// A value affects the losses of all ranks, so its gradient is the same reduction of the gradients of all ranks.
inline Grads all_reduce_grad(const GradientContext& c) {
  std::vector<Output> grads;
  for (std::size_t i = 0; i < c.input_count(); ++i)
    grads.push_back(c.grad(i).has_value() ? c.grad(i) : zeros_like(c.output(i)));
  const Node& node = c.node();
  const Operation reduced =
      add_op(*c.node().op_def(), {}, grads,
             {{"reduction", node.attr<std::string>("reduction")}, {"reducer", node.attr<std::int64_t>("reducer")}})
          .operation();
  Grads result;
  for (std::size_t i = 0; i < c.input_count(); ++i) result.push_back(reduced.output(i));
  return result;
}

/// The result of a value that input 0, a TrainhookAllReduceStart, takes.
inline PartialShape started_shape(const NodeSpec& node, std::size_t index) {
  const std::span<const Output> values = node.inputs[0].node().inputs();
  return index < values.size() ? values[index].shape() : PartialShape();
}

inline constexpr OpDef kTrainhookAllReduceOp{
    "TrainhookAllReduce", "N*T -> N*T", "N:int T:{float32,float64,int32,int64} reduction:string=sum reducer:int=-1",
    all_reduced_shape, all_reduce_grad};

inline constexpr OpDef kTrainhookAllReduceFinishOp{"TrainhookAllReduceFinish", "resource -> N*T",
                                                   "N:int T:{float32,float64,int32,int64} reduction:string=sum",
                                                   started_shape};
inline constexpr OpDef kTrainhookAllReduceStartOp{"TrainhookAllReduceStart", "N*T -> resource",
                                                  "N:int T:{float32,float64,int32,int64} reducer:int=-1",
                                                  shape_rules::scalar};

inline constexpr std::array kAllReduceOps{&kTrainhookAllReduceOp, &kTrainhookAllReduceFinishOp,
                                          &kTrainhookAllReduceStartOp};

OpFamily all_reduce_ops() noexcept { return kAllReduceOps; }

std::shared_ptr<AllReducer> all_reducer_of(const Node& node) {
  const auto place = node.attr<std::int64_t>("reducer");
  const auto all = node.graph().collection<std::shared_ptr<AllReducer>>(kAllReducers);
  if (place >= 0 && static_cast<std::size_t>(place) < all.size()) return all[static_cast<std::size_t>(place)];
  throw FailedPreconditionError(
      "node '{}' ({}) has no connection to other ranks, "
      "because a file cannot hold it: build the graph in this process",
      node.name(), node.type());
}

/// Returns the reducer's place in the graph's collection. @throws InvalidArgumentError for what cannot be reduced.
inline std::int64_t expect_reducible(const std::vector<Output>& values, Reduction reduction,
                                     const std::shared_ptr<AllReducer>& reducer) {
  if (values.empty()) throw InvalidArgumentError("all_reduce: there are no values; give at least one");
  if (reducer == nullptr)
    throw InvalidArgumentError("all_reduce: the reducer is null; make one with mpi::reducer(comm)");
  Graph& graph = graph_of("all_reduce", values.front());
  for (const Output& value : values) {
    graph.check_belongs(value, "values", "all_reduce");
    require_same_dtype("all_reduce", values.front(), value);
    if (reduction == Reduction::Mean) require_floating("all_reduce: a mean", value);
  }
  const auto known = graph.collection<std::shared_ptr<AllReducer>>(kAllReducers);
  const auto place = std::ranges::find(known, reducer) - known.begin();
  if (static_cast<std::size_t>(place) == known.size()) graph.add_to_collection(kAllReducers, reducer);
  return place;
}

inline std::string reduction_name(Reduction reduction) { return reduction == Reduction::Mean ? "mean" : "sum"; }

SplitAllReduce split_all_reduce(const std::vector<Output>& values, Reduction reduction,
                                const std::shared_ptr<AllReducer>& reducer,
                                const std::optional<SplitAllReduce>& previous) {
  const std::int64_t place = expect_reducible(values, reduction, reducer);
  Graph& graph = values.front().graph();
  NodeSpec start{.name = "AllReduceStart", .inputs = values, .attrs = {{"reducer", place}}};
  if (previous) start.control_inputs = {previous->start};
  SplitAllReduce result{.start = add_node(graph, kTrainhookAllReduceStartOp, std::move(start))};
  NodeSpec finish{.name = "AllReduceFinish",
                  .inputs = {result.start.output()},
                  .attrs = {{"N", static_cast<std::int64_t>(values.size())},
                            {"T", values.front().dtype()},
                            {"reduction", reduction_name(reduction)}}};
  if (previous) finish.control_inputs = {previous->finish};
  result.finish = add_node(graph, kTrainhookAllReduceFinishOp, std::move(finish));
  return result;
}

}  // namespace trainhook::detail

namespace trainhook {

BackgroundSum::~BackgroundSum() = default;

AllReducer::~AllReducer() = default;

std::vector<Output> all_reduce(const std::vector<Output>& values, Reduction reduction,
                               const std::shared_ptr<AllReducer>& reducer, std::string_view name) {
  const std::int64_t place = detail::expect_reducible(values, reduction, reducer);
  const Operation op =
      detail::add_node(values.front().graph(), detail::kTrainhookAllReduceOp,
                       {.name = std::string(name.empty() ? "AllReduce" : name),
                        .inputs = values,
                        .attrs = {{"reduction", detail::reduction_name(reduction)}, {"reducer", place}}});
  std::vector<Output> results;
  for (std::size_t i = 0; i < values.size(); ++i) results.push_back(op.output(i));
  return results;
}

}  // namespace trainhook
