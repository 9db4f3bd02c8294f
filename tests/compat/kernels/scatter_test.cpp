// SPDX-License-Identifier: Apache-2.0
/// @file
/// Rows of variables that are added to, subtracted from and replaced.
#include <trainhook/compat/kernels.hpp>

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>

namespace trainhook {
namespace {

Output scatter(const std::string& type, const Variable& v, Output indices, Output updates) {
  const Attrs attrs{{"T", v.dtype()}, {"Tindices", indices.dtype()}, {"use_locking", false}};
  return v.handle.graph()
      .add({.type = type, .inputs = {v.ref(), indices, updates}, .attrs = attrs, .outputs = {{v.dtype(), v.shape()}}})
      .output();
}

TEST(ScatterKernels, ChangeRowsAndLeaveASnapshotAlone) {
  Graph graph;
  const Variable v = make_variable("v", constant(graph, Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2})));
  const Output indices = placeholder(graph, DType::Int32, {}, "indices");
  const Output updates = placeholder(graph, DType::Float, {}, "updates");
  const Output added = scatter("ScatterAdd", v, indices, updates);
  const Output subtracted = scatter("ScatterSub", v, indices, updates);
  const Output updated = scatter("ScatterUpdate", v, indices, updates);
  GraphSession session(graph, {.kernels = {kernels::scatter(), kernels::state()}});
  session.run(v.initializer);
  const Tensor before = session.run(v);
  const FeedDict twice{{indices, Tensor::of<std::int32_t>({2, 0, 2})},
                       {updates, Tensor::of<float>({10, 10, 20, 20, 30, 30}, {3, 2})}};
  EXPECT_EQ(session.run(added, twice), Tensor::of<float>({21, 22, 3, 4, 45, 46}, {3, 2}));
  EXPECT_EQ(before, Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  EXPECT_EQ(session.run(subtracted, twice), before);
  EXPECT_EQ(session.run(updated, twice), Tensor::of<float>({20, 20, 3, 4, 30, 30}, {3, 2}));
  EXPECT_EQ(session.run(updated, {{indices, Tensor(std::int32_t{1})}, {updates, Tensor(7.0F)}}),
            Tensor::of<float>({20, 20, 7, 7, 30, 30}, {3, 2}));
}

TEST(ScatterKernels, RefuseRowsThatAreNotThereBeforeAnythingChanges) {
  Graph graph;
  const Variable v = make_variable("v", constant(graph, Tensor::of<float>({1, 2, 3}, {3, 1})));
  const Output indices = placeholder(graph, DType::Int64, {}, "indices");
  const Output updates = placeholder(graph, DType::Float, {}, "updates");
  const Output added = scatter("ScatterAdd", v, indices, updates);
  GraphSession session(graph, {.kernels = {kernels::scatter(), kernels::state()}});
  session.run(v.initializer);
  for (const std::int64_t wrong : {-1, 3}) {
    EXPECT_THROW(session.run(added, {{indices, Tensor::of<std::int64_t>({0, wrong})}, {updates, Tensor(1.0F)}}),
                 InvalidArgumentError);
  }
  EXPECT_THROW(session.run(added, {{indices, Tensor::of<std::int64_t>({0, 1})}, {updates, Tensor::of<float>({1, 2})}}),
               InvalidArgumentError);
  EXPECT_EQ(session.run(v), Tensor::of<float>({1, 2, 3}, {3, 1}));
}

}  // namespace
}  // namespace trainhook
