// SPDX-License-Identifier: Apache-2.0
/// @file
/// The table of a model's variables.
#include <trainhook/model/model_summary.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/layers.hpp>

namespace trainhook {
namespace {

TEST(ModelSummary, IsATableWithATotal) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {-1, 784}, "x");
  dense(dense(x, 128, "hidden"), 10, "logits");
  EXPECT_EQ(model_summary(graph),
            "variable       shape      elements  dtype\n"
            "hidden/kernel  [784,128]   100 352  float32\n"
            "hidden/bias    [128]           128  float32\n"
            "logits/kernel  [128,10]      1 280  float32\n"
            "logits/bias    [10]             10  float32\n"
            "total                      101 770\n");
}

TEST(ModelSummary, CountsWhatIsNotTrained) {
  Graph graph;
  get_or_create_global_step(graph);
  batch_normalization(placeholder(graph, DType::Double, {-1, 3}, "x"), "bn");
  EXPECT_EQ(model_summary(graph),
            "variable  shape  elements  dtype\n"
            "bn/gamma  [3]           3  float64\n"
            "bn/beta   [3]           3  float64\n"
            "total                   6\n"
            "not trained: 3 variables, 7 elements\n");
}

TEST(ModelSummary, OfAnEmptyGraphHasATotalOfZero) {
  EXPECT_EQ(model_summary(Graph()), "variable  shape  elements  dtype\ntotal                   0\n");
}

}  // namespace
}  // namespace trainhook
