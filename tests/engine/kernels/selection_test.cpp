// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, what picks elements.
#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/engine/kernels/broadcast.hpp>

#include "run_op.hpp"

namespace trainhook {
namespace {

Tensor ints(std::initializer_list<std::int32_t> values) { return Tensor::of<std::int32_t>(values); }
Tensor axis(std::int32_t value) { return Tensor(value); }

Tensor run(const std::string& type, const std::vector<Tensor>& inputs, const Attrs& attrs = {}) {
  return test::run_op(kernels::selection(), type, inputs, attrs,
                      type.starts_with("Select") ? inputs[1].dtype() : inputs[0].dtype());
}

const Tensor& matrix() {
  static const Tensor tensor = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  return tensor;
}

TEST(SelectionKernels, SelectElementsRowsOrAll) {
  const Tensor other(DType::Float, Shape{2, 3});
  EXPECT_EQ(run("Select", {Tensor(true), matrix(), other}), matrix());
  EXPECT_EQ(run("Select", {Tensor::of<bool>({false, true}), matrix(), other}),
            Tensor::of<float>({0, 0, 0, 4, 5, 6}, {2, 3}));
  EXPECT_EQ(run("Select", {Tensor::of<bool>({true, false, true, false, true, false}, {2, 3}), matrix(), other}),
            Tensor::of<float>({1, 0, 3, 0, 5, 0}, {2, 3}));
  EXPECT_THROW(run("Select", {Tensor::of<bool>({true, false, true}), matrix(), other}), InvalidArgumentError);
  EXPECT_THROW(run("Select", {Tensor(true), matrix(), Tensor(0.0F)}), InvalidArgumentError);
}

TEST(SelectionKernels, Gather) {
  const auto gather = [](const Tensor& indices, std::int32_t at) {
    return run("GatherV2", {matrix(), indices, axis(at)},
               {{"batch_dims", std::int64_t{0}}, {"Tindices", indices.dtype()}});
  };
  EXPECT_EQ(gather(ints({1, 0, 1}), 0), Tensor::of<float>({4, 5, 6, 1, 2, 3, 4, 5, 6}, {3, 3}));
  EXPECT_EQ(gather(Tensor(std::int64_t{2}), 1), Tensor::of<float>({3, 6}));
  try {
    gather(ints({0, 2}), 0);
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("indices[1] = 2 is not in [0, 2)"), std::string::npos) << error.what();
  }
}

TEST(SelectionKernels, GatherNdFollowsVectorsOfIndices) {
  const auto gather = [](const Tensor& indices) {
    return run("GatherNd", {matrix(), indices}, {{"Tindices", indices.dtype()}});
  };
  EXPECT_EQ(gather(Tensor::of<std::int32_t>({1, 0, 0, 2}, {2, 2})), Tensor::of<float>({4, 3}));
  EXPECT_EQ(gather(Tensor::of<std::int64_t>({1}, {1, 1})), Tensor::of<float>({4, 5, 6}, {1, 3}));
  EXPECT_EQ(gather(Tensor(DType::Int32, Shape{1, 0})), Tensor::of<float>({1, 2, 3, 4, 5, 6}, {1, 2, 3}));
  EXPECT_THROW(gather(Tensor::of<std::int32_t>({0, 3}, {1, 2})), InvalidArgumentError);
  EXPECT_THROW(gather(Tensor::of<std::int32_t>({0, 0, 0}, {1, 3})), InvalidArgumentError);
}

TEST(SelectionKernels, ScatterNdAddsWhatIsForOnePlace) {
  const auto scatter = [](const Tensor& indices, const Tensor& updates) {
    return test::run_op(kernels::selection(), "ScatterNd", {indices, updates, ints({2, 3})},
                        {{"T", DType::Float}, {"Tindices", DType::Int32}}, DType::Float);
  };
  EXPECT_EQ(scatter(Tensor::of<std::int32_t>({1, 2, 0, 0, 1, 2}, {3, 2}), Tensor::of<float>({5, 6, 7})),
            Tensor::of<float>({6, 0, 0, 0, 0, 12}, {2, 3}));
  EXPECT_EQ(scatter(Tensor::of<std::int32_t>({1}, {1, 1}), Tensor::of<float>({5, 6, 7}, {1, 3})),
            Tensor::of<float>({0, 0, 0, 5, 6, 7}, {2, 3}));
  EXPECT_THROW(scatter(Tensor::of<std::int32_t>({2}, {1, 1}), Tensor::of<float>({5, 6, 7}, {1, 3})),
               InvalidArgumentError);
  EXPECT_THROW(scatter(Tensor::of<std::int32_t>({1}, {1, 1}), Tensor::of<float>({5, 6})), InvalidArgumentError);
}

TEST(SelectionKernels, WhereFindsWhatIsNotZero) {
  const auto where = [](const Tensor& x) {
    return test::run_op(kernels::selection(), "Where", {x}, {{"T", x.dtype()}}, DType::Int64);
  };
  EXPECT_EQ(where(Tensor::of<bool>({false, true, true, false}, {2, 2})),
            Tensor::of<std::int64_t>({0, 1, 1, 0}, {2, 2}));
  EXPECT_EQ(where(Tensor::of<float>({0, -2})), Tensor::of<std::int64_t>({1}, {1, 1}));
  EXPECT_EQ(where(Tensor(true)).shape(), (Shape{1, 0}));
}

TEST(SelectionKernels, SegmentSumLeavesSegmentsWithoutRowsZero) {
  const Attrs attrs{{"T", DType::Float}, {"Tindices", DType::Int32}};
  EXPECT_EQ(run("SegmentSum", {matrix(), ints({1, 1})}, attrs), Tensor::of<float>({0, 0, 0, 5, 7, 9}, {2, 3}));
  EXPECT_THROW(run("SegmentSum", {matrix(), ints({1, 0})}, attrs), InvalidArgumentError);
  EXPECT_THROW(run("SegmentSum", {matrix(), ints({-1, 0})}, attrs), InvalidArgumentError);
  EXPECT_THROW(run("SegmentSum", {matrix(), ints({0})}, attrs), InvalidArgumentError);
}

TEST(SelectionKernels, AddUpSegments) {
  const Attrs attrs{{"T", DType::Float}, {"Tindices", DType::Int32}};
  EXPECT_EQ(run("UnsortedSegmentSum", {matrix(), ints({2, 2}), axis(3)}, attrs),
            Tensor::of<float>({0, 0, 0, 0, 0, 0, 5, 7, 9}, {3, 3}));
  EXPECT_EQ(run("UnsortedSegmentSum", {matrix(), ints({0, -1}), axis(1)}, attrs), Tensor::of<float>({1, 2, 3}, {1, 3}));
  EXPECT_THROW(run("UnsortedSegmentSum", {matrix(), ints({0, 1}), axis(1)}, attrs), InvalidArgumentError);
}

TEST(SelectionKernels, ChooseAsNumPyBroadcasts) {
  const Shape shapes[] = {{2, 3, 5}, {3, 5}, {5}, {1}, {2, 1, 1}, {3, 1}, {2, 1, 5}, {}};
  const auto numbers = [](const Shape& shape, std::int32_t first) {
    Tensor tensor(DType::Int32, shape);
    std::ranges::generate(tensor.overwrite_data<std::int32_t>(), [&] { return first++; });
    return tensor;
  };
  for (const Shape& a : shapes) {
    for (const Shape& b : shapes) {
      for (const Shape& c : shapes) {
        const Tensor yes = numbers(b, 1);
        const Tensor no = numbers(c, 100);
        Tensor condition(DType::Bool, a);
        bool next = false;
        std::ranges::generate(condition.overwrite_data<bool>(), [&] { return next = !next; });
        const Tensor found = run("SelectV2", {condition, yes, no});
        const Shape shape = detail::broadcast_shapes(a, detail::broadcast_shapes(b, c));
        ASSERT_EQ(found.shape(), shape);
        for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
          const auto at = [&](const Shape& of) {
            return static_cast<std::size_t>(detail::offset_of(i, shape, detail::broadcast_strides(of, shape)));
          };
          ASSERT_EQ(found.data<std::int32_t>()[static_cast<std::size_t>(i)],
                    condition.data<bool>()[at(a)] ? yes.data<std::int32_t>()[at(b)] : no.data<std::int32_t>()[at(c)])
              << fmt::format("{} {} {}", a, b, c);
        }
      }
    }
  }
}

TEST(SelectionKernels, ChooseBetweenTwo) {
  EXPECT_EQ(run("SelectV2", {Tensor::of<bool>({true, false, true}), matrix(), Tensor(0.0F)}),
            Tensor::of<float>({1, 0, 3, 4, 0, 6}, {2, 3}));
  EXPECT_EQ(run("SelectV2", {Tensor(false), matrix(), matrix()}), matrix());
  const Tensor mixed = Tensor::of<bool>({true, false, false, true, true, false}, {2, 3});
  EXPECT_EQ(run("SelectV2", {mixed, matrix(), Tensor(0.0F)}), Tensor::of<float>({1, 0, 0, 4, 5, 0}, {2, 3}));
  EXPECT_EQ(run("SelectV2", {Tensor(true), Tensor(7.0F), Tensor::of<float>({1, 2})}), Tensor::of<float>({7, 7}));
}

}  // namespace
}  // namespace trainhook
