// SPDX-License-Identifier: Apache-2.0
/// @file
/// Equations of labels, and their shapes and gradients.
#include <trainhook/compat/ops/einsum.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/compat/ops.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/gradients.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

Output einsum(const std::string& equation, const std::vector<Output>& inputs) {
  return detail::add_op(*find_op_def("Einsum"), {}, inputs, {{"equation", equation}});
}

TEST(EinsumOps, EquationsHaveInputsAndAResult) {
  const detail::EinsumEquation equation("bij,bjk->bik");
  EXPECT_EQ(equation.inputs, (std::vector<std::string>{"bij", "bjk"}));
  EXPECT_EQ(equation.output, "bik");
  EXPECT_TRUE(detail::EinsumEquation("...i->i...").has_ellipsis);
  for (const char* text : {"ij", "ij->k", "i1->i", "i,j,k->ijk"})
    testing::expect_error({text}, [&] { static_cast<void>(detail::EinsumEquation(text)); });
}

TEST(EinsumOps, ShapesAndGradientsFollowTheLabels) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {-1, 3, 4}, "x");
  const Output y = placeholder(graph, DType::Float, {2, 4, 5}, "y");
  const Output z = einsum("bij,bjk->bki", {x, y});
  EXPECT_EQ(z.shape(), PartialShape({2, 5, 3}));
  const std::vector<Output> slopes = gradients(z, {x, y});
  EXPECT_EQ(slopes[0].node().attr<std::string>("equation"), "bki,bjk->bij");
  EXPECT_EQ(slopes[1].node().attr<std::string>("equation"), "bki,bij->bjk");
  testing::expect_error({"'j' is both 3 and 5"}, [&] {
    einsum("bj,j->b", {placeholder(graph, DType::Float, {2, 3}), placeholder(graph, DType::Float, {5})});
  });
  EXPECT_THROW(static_cast<void>(gradients(einsum("bij->b", {x}), {x})), UnimplementedError);
}

}  // namespace
}  // namespace trainhook
