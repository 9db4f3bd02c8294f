// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels that put elements elsewhere.
#include <trainhook/compat/kernels.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

Tensor run(const std::string& type, const std::vector<Tensor>& inputs, Attrs attrs = {}) {
  attrs.emplace("T", inputs[0].dtype());
  return test::run_op(kernels::rearrange(), type, inputs, attrs, inputs[0].dtype());
}
Tensor row(const std::vector<float>& values) {
  return Tensor::copy_of(std::span<const float>(values), Shape{1, static_cast<std::int64_t>(values.size()), 1});
}

TEST(RearrangeKernels, BlocksBecomeRowsOfTheBatchAndComeBack) {
  const Tensor block = Tensor::of<std::int32_t>({2});
  const Tensor around = Tensor::of<std::int32_t>({1, 2}, {1, 2});
  const Tensor batched = run("SpaceToBatchND", {row({1, 2, 3}), block, around});
  EXPECT_EQ(batched, Tensor::of<float>({0, 2, 0, 1, 3, 0}, {2, 3, 1}));
  EXPECT_EQ(run("BatchToSpaceND", {batched, block, around}), row({1, 2, 3}));
  EXPECT_THROW(static_cast<void>(run("SpaceToBatchND", {row({1, 2}), block, around})), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(run("BatchToSpaceND", {row({1, 2}), block, around})), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(run("SpaceToBatchND", {row({1}), Tensor::of<std::int32_t>({0}), around})),
               InvalidArgumentError);
}

constexpr std::int64_t kHuge = INT64_MAX / 2 + 1;

TEST(RearrangeKernels, BordersAndBlocksBeyondSixtyThreeBitsAreErrors) {
  const Tensor one = Tensor::of<std::int64_t>({1});
  const Tensor huge = Tensor::of<std::int64_t>({kHuge});
  const Tensor none = Tensor::of<std::int64_t>({0, 0}, {1, 2});
  const Tensor wide = Tensor::of<std::int64_t>({kHuge, kHuge}, {1, 2});
  const Tensor x = row({1, 2, 3});
  for (const std::string type : {"SpaceToBatchND", "BatchToSpaceND"}) {
    EXPECT_THROW(static_cast<void>(run(type, {x, one, wide})), InvalidArgumentError) << type;
    EXPECT_THROW(static_cast<void>(run(type, {x, huge, none})), InvalidArgumentError) << type;
  }
  const Attrs mode{{"mode", std::string("SYMMETRIC")}};
  const Tensor vector = Tensor::of<float>({1, 2, 3});
  EXPECT_THROW(static_cast<void>(run("MirrorPad", {vector, wide}, mode)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(run("MirrorPadGrad", {vector, wide}, mode)), InvalidArgumentError);
}

TEST(RearrangeKernels, AnEmptyImageHasEmptyBlocksHoweverLarge) {
  const Tensor none = Tensor::of<std::int64_t>({0, 0}, {1, 2});
  const Tensor large = Tensor::of<std::int64_t>({std::int64_t{1} << 40});
  EXPECT_EQ(run("SpaceToBatchND", {Tensor(DType::Float, Shape{1, 0, 1}), large, none}).shape(),
            (Shape{std::int64_t{1} << 40, 0, 1}));
  EXPECT_EQ(run("BatchToSpaceND", {Tensor(DType::Float, Shape{0, 1, 1}), large, none}).shape(),
            (Shape{0, std::int64_t{1} << 40, 1}));
  const Attrs mode{{"mode", std::string("SYMMETRIC")}};
  const Tensor wide(DType::Float, Shape{0, std::int64_t{1} << 40});
  const Tensor borders = Tensor::of<std::int64_t>({0, 0, 1, 1}, {2, 2});
  const Tensor wider = run("MirrorPad", {wide, borders}, mode);
  EXPECT_EQ(wider.shape(), (Shape{0, (std::int64_t{1} << 40) + 2}));
  EXPECT_EQ(run("MirrorPadGrad", {wider, borders}, mode), wide);
  const Attrs depth{{"block_size", std::int64_t{2}}, {"data_format", std::string("NHWC")}};
  EXPECT_THROW(static_cast<void>(run("DepthToSpace", {Tensor(DType::Float, Shape{0, kHuge, 1, 1})}, depth)),
               InvalidArgumentError);
}

TEST(RearrangeKernels, DepthBecomesSpaceAndComesBack) {
  const Attrs attrs{{"block_size", std::int64_t{2}}, {"data_format", std::string("NHWC")}};
  const Tensor deep = Tensor::of<std::int32_t>({1, 2, 3, 4, 5, 6, 7, 8}, {1, 1, 2, 4});
  const Tensor wide = Tensor::of<std::int32_t>({1, 2, 5, 6, 3, 4, 7, 8}, {1, 2, 4, 1});
  EXPECT_EQ(run("DepthToSpace", {deep}, attrs), wide);
  EXPECT_EQ(run("SpaceToDepth", {wide}, attrs), deep);
  EXPECT_THROW(static_cast<void>(run("DepthToSpace", {wide}, attrs)), InvalidArgumentError);
}

TEST(RearrangeKernels, BordersMayBeFilledWithANumber) {
  const Tensor around = Tensor::of<std::int32_t>({1, 2}, {1, 2});
  EXPECT_EQ(run("PadV2", {Tensor::of<float>({1, 2}), around, Tensor(7.0F)}), Tensor::of<float>({7, 1, 2, 7, 7}));
  EXPECT_EQ(run("PadV2", {Tensor::of<std::string>({"a"}), around, Tensor("b")}),
            Tensor::of<std::string>({"b", "a", "b", "b"}));
  EXPECT_THROW(run("PadV2", {Tensor::of<float>({1, 2}), around, Tensor::of<float>({7})}), InvalidArgumentError);
  EXPECT_THROW(run("PadV2", {Tensor(1.0F), around, Tensor(7.0F)}), InvalidArgumentError);
}

TEST(RearrangeKernels, MirrorsAddUpInTheGradient) {
  const Tensor x = Tensor::of<float>({1, 2, 3});
  const Tensor around = Tensor::of<std::int64_t>({2, 1}, {1, 2});
  const Attrs reflect{{"mode", std::string("REFLECT")}};
  const Attrs symmetric{{"mode", std::string("SYMMETRIC")}};
  EXPECT_EQ(run("MirrorPad", {x, around}, reflect), Tensor::of<float>({3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(run("MirrorPad", {x, around}, symmetric), Tensor::of<float>({2, 1, 1, 2, 3, 3}));
  const Tensor gradient = Tensor::of<float>({1, 10, 100, 1000, 10000, 100000});
  EXPECT_EQ(run("MirrorPadGrad", {gradient, around}, reflect), Tensor::of<float>({100, 101010, 10001}));
  EXPECT_EQ(run("MirrorPadGrad", {gradient, around}, symmetric), Tensor::of<float>({110, 1001, 110000}));
  EXPECT_THROW(static_cast<void>(run("MirrorPad", {Tensor::of<float>({1, 2}), around}, reflect)), InvalidArgumentError);
}

TEST(RearrangeKernels, MirrorsOfRowsKeepWhatIsInThem) {
  const Attrs reflect{{"mode", std::string("REFLECT")}};
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  const Tensor around = Tensor::of<std::int32_t>({1, 0, 0, 1, 0, 0}, {3, 2});
  const Tensor padded = Tensor::of<float>({5, 6, 7, 8, 5, 6, 1, 2, 3, 4, 1, 2, 5, 6, 7, 8, 5, 6}, {3, 3, 2});
  EXPECT_EQ(run("MirrorPad", {x, around}, reflect), padded);
  EXPECT_EQ(run("MirrorPadGrad", {padded, around}, reflect),
            Tensor::of<float>({2, 4, 3, 4, 20, 24, 14, 16}, {2, 2, 2}));
  EXPECT_EQ(run("MirrorPad", {Tensor(7.0F), Tensor(DType::Int32, {0, 2})}, reflect), Tensor(7.0F));
}

TEST(RearrangeKernels, SequencesAreReversedAsFarAsTheirLengths) {
  const Attrs attrs{{"batch_dim", std::int64_t{0}}, {"seq_dim", std::int64_t{1}}};
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(run("ReverseSequence", {x, Tensor::of<std::int64_t>({2, 3})}, attrs),
            Tensor::of<float>({2, 1, 3, 6, 5, 4}, {2, 3}));
  EXPECT_EQ(run("ReverseSequence", {x, Tensor::of<std::int32_t>({0, 1})}, attrs), x);
  EXPECT_THROW(static_cast<void>(run("ReverseSequence", {x, Tensor::of<std::int64_t>({2, 4})}, attrs)),
               InvalidArgumentError);
}

TEST(RearrangeKernels, BandsKeepASideIfTheirNumberIsNegative) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
  const auto band = [&](std::int64_t lower, std::int64_t upper) {
    return run("MatrixBandPart", {x, Tensor(lower), Tensor(upper)});
  };
  EXPECT_EQ(band(-1, 0), Tensor::of<float>({1, 0, 0, 4, 5, 0, 7, 8, 9}, {3, 3}));
  EXPECT_EQ(band(0, 1), Tensor::of<float>({1, 2, 0, 0, 5, 6, 0, 0, 9}, {3, 3}));
  EXPECT_EQ(band(-1, -1), x);
  EXPECT_THROW(static_cast<void>(band(4, 0)), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
