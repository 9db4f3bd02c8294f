// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensors: values, sharing, and what they cost.
#include <trainhook/core/tensor.hpp>

#include <allocations.hpp>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

namespace trainhook {
namespace {

const void* place(const Tensor& tensor) { return tensor.bytes().data(); }

TEST(Tensor, WithoutAValueIsWhatAnOperationGives) {
  const Tensor nothing;
  EXPECT_FALSE(nothing.has_value());
  EXPECT_EQ(nothing.dtype(), DType::Invalid);
  EXPECT_EQ(nothing.num_elements(), 0);
  EXPECT_EQ(nothing, Tensor());
}

TEST(Tensor, OfADTypeAndShapeIsZero) {
  const Tensor zeros(DType::Int32, {2, 3});
  EXPECT_EQ(zeros, Tensor::of<std::int32_t>({0, 0, 0, 0, 0, 0}, {2, 3}));
  EXPECT_EQ(zeros.byte_size(), 24u);
  EXPECT_EQ(zeros.to_string(), "int32[2,3] [[0 0 0] [0 0 0]]");
  EXPECT_THROW(Tensor(DType::Invalid, {2}), InvalidArgumentError);
}

TEST(Tensor, OfValuesNeedsAShapeWithAsMany) {
  EXPECT_EQ(Tensor::of<float>({1, 2, 3}).shape(), Shape{3});
  EXPECT_THROW((void)Tensor::of<float>({1, 2, 3}, {2, 2}), InvalidArgumentError);
}

TEST(Tensor, ReadsAsItsOwnTypeOnly) {
  const Tensor tensor = Tensor::of<float>({1, 2});
  EXPECT_EQ(tensor.data<float>()[1], 2.0f);
  EXPECT_THROW((void)tensor.data<double>(), InvalidArgumentError);
  EXPECT_THROW((void)tensor.scalar<float>(), InvalidArgumentError);
  EXPECT_EQ(Tensor::of<float>({5}).scalar<float>(), 5.0f);
}

TEST(Tensor, BuffersAreAlignedForVectorUnits) {
  const Tensor tensor(DType::Float, {5});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place(tensor)) % 64, 0u);
}

TEST(Tensor, ScalarsLiveInTheHandleAndAllocateNothing) {
  const support::AllocationCount count;
  Tensor loss(0.25f);
  Tensor copy = loss;
  copy = Tensor(std::complex<double>(1, 2));
  copy = std::move(loss);
  copy.mutable_data<float>()[0] = 0.5f;
  Tensor step(DType::Int64, {});
  step.overwrite_data<std::int64_t>()[0] = 7;
  const bool same = step == Tensor(std::int64_t{7});
  EXPECT_EQ(count.so_far(), 0u);
  EXPECT_TRUE(same);
  EXPECT_EQ(copy.scalar<float>(), 0.5f);
}

TEST(Tensor, CopyingAllocatesNothingWhateverTheSize) {
  const Tensor large(DType::Float, {1000});
  const support::AllocationCount count;
  const Tensor copy = large;
  EXPECT_EQ(count.so_far(), 0u);
  EXPECT_EQ(place(copy), place(large));
}

TEST(Tensor, WritingThroughASharedHandleLeavesTheOthersAlone) {
  Tensor weights = Tensor::of<float>({1, 2, 3});
  const Tensor snapshot = weights;
  weights.mutable_data<float>()[0] = 9;
  EXPECT_EQ(snapshot, Tensor::of<float>({1, 2, 3}));
  EXPECT_EQ(weights, Tensor::of<float>({9, 2, 3}));
}

TEST(Tensor, WritingThroughTheOnlyHandleStaysInPlace) {
  Tensor weights = Tensor::of<float>({1, 2, 3});
  const void* before = place(weights);
  weights.mutable_data<float>()[0] = 9;
  EXPECT_EQ(place(weights), before);
  { const Tensor passing = weights; }
  weights.mutable_data<float>()[0] = 10;
  EXPECT_EQ(place(weights), before);
}

TEST(Tensor, OverwritingASharedHandleSwapsTheBufferAndKeepsTheOthersValue) {
  Tensor weights = Tensor::of<float>({1, 2});
  const Tensor snapshot = weights;
  std::ranges::fill(weights.overwrite_data<float>(), 4.0f);
  EXPECT_EQ(snapshot, Tensor::of<float>({1, 2}));
  EXPECT_EQ(weights, Tensor::of<float>({4, 4}));
  EXPECT_NE(place(weights), place(snapshot));
}

TEST(Tensor, ASnapshotReadOnAnotherThreadNeverSeesLaterWrites) {
  Tensor weights(DType::Int64, {4096});
  for (std::int64_t round = 1; round <= 50; ++round) {
    std::ranges::fill(weights.mutable_data<std::int64_t>(), round);
    std::jthread saver([snapshot = weights, round] {
      EXPECT_TRUE(
          std::ranges::all_of(snapshot.data<std::int64_t>(), [round](std::int64_t value) { return value == round; }));
    });
    for (std::int64_t& value : weights.mutable_data<std::int64_t>()) value = -1;
  }
}

TEST(Tensor, ResetKeepsABufferThatIsLargeEnough) {
  Tensor tensor(DType::Float, {32, 10});
  const void* before = place(tensor);
  const support::AllocationCount count;
  tensor.reset_to(DType::Float, {16, 10});
  tensor.reset_to(DType::Int32, {2});
  tensor.reset_to(DType::Float, {});  // a scalar lives in the handle meanwhile
  tensor.reset_to(DType::Double, {160});
  EXPECT_EQ(count.so_far(), 0u);
  EXPECT_EQ(place(tensor), before);
  EXPECT_EQ(tensor.shape(), Shape{160});
}

TEST(Tensor, ResetOfASharedOrTooSmallBufferTakesAnother) {
  Tensor tensor = Tensor::of<float>({1, 2});
  const Tensor snapshot = tensor;
  tensor.reset_to(DType::Float, {2});
  EXPECT_NE(place(tensor), place(snapshot));
  tensor.reset_to(DType::Float, {1000});
  tensor.overwrite_data<float>()[999] = 1;
  EXPECT_EQ(snapshot, Tensor::of<float>({1, 2}));
}

TEST(Tensor, ResetGoesToStringsAndBack) {
  Tensor tensor(DType::Float, {100});
  tensor.reset_to(DType::String, {2});
  tensor.overwrite_data<std::string>()[1] = "two";
  EXPECT_EQ(tensor, Tensor::of<std::string>({"", "two"}));
  tensor.reset_to(DType::Float, {2});
  EXPECT_EQ(tensor.byte_size(), 8u);
}

TEST(Tensor, IsEqualByItsBits) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Tensor(nan), Tensor(nan));
  EXPECT_FALSE(Tensor(0.0f) == Tensor(-0.0f));
  EXPECT_FALSE(Tensor(1.0f) == Tensor(1.0));
  EXPECT_FALSE(Tensor::of<float>({1}) == Tensor(1.0f));
  EXPECT_EQ(Tensor(DType::Float, {0}), Tensor(DType::Float, {0}));
}

TEST(Tensor, StringsAreSharedAndCopiedLikeNumbers) {
  Tensor names = Tensor::of<std::string>({"a", "b"});
  const Tensor snapshot = names;
  names.mutable_data<std::string>()[0] = "c";
  EXPECT_EQ(snapshot, Tensor::of<std::string>({"a", "b"}));
  EXPECT_EQ(names, Tensor::of<std::string>({"c", "b"}));
  EXPECT_EQ(Tensor("word").scalar<std::string>(), "word");
  EXPECT_THROW((void)names.bytes(), InvalidArgumentError);
}

TEST(Tensor, ReshapesWithoutCopying) {
  const Tensor tensor = Tensor::of<float>({1, 2, 3, 4});
  const Tensor matrix = tensor.reshaped({2, 2});
  EXPECT_EQ(place(matrix), place(tensor));
  EXPECT_EQ(matrix, Tensor::of<float>({1, 2, 3, 4}, {2, 2}));
  EXPECT_THROW((void)tensor.reshaped({3}), InvalidArgumentError);
}

TEST(Tensor, ReshapesBetweenAScalarAndASingleElement) {
  EXPECT_EQ(Tensor(3.0f).reshaped({1}), Tensor::of<float>({3}));
  EXPECT_EQ(Tensor::of<float>({3}).reshaped({}), Tensor(3.0f));
  EXPECT_EQ(Tensor("word").reshaped({1, 1}).reshaped({}).scalar<std::string>(), "word");
}

TEST(Tensor, OfMoreBytesThanMemoryCanBeThrows) {
  constexpr std::int64_t kMany = std::int64_t{1} << 61;  // as doubles, 2^64 bytes
  EXPECT_THROW((void)Tensor::uninitialized(DType::Double, {kMany}), ResourceExhaustedError);
  EXPECT_THROW((void)Tensor::uninitialized(DType::UInt8, {kMany}), ResourceExhaustedError);
  EXPECT_THROW((void)Tensor::uninitialized(DType::String, {kMany}), ResourceExhaustedError);
  Tensor tensor(DType::Double, {4});
  EXPECT_THROW(tensor.reset_to(DType::Double, {kMany}), ResourceExhaustedError);
  EXPECT_EQ(tensor, Tensor(DType::Double, {4}));
}

TEST(Tensor, AnUpdateOfAnUnsharedTensorIsInPlace) {
  Tensor tensor = Tensor::of<float>({1, 2, 3, 4, 5});
  const float* memory = tensor.data<float>().data();
  const auto update = tensor.update_data<float>();
  EXPECT_EQ(update.from.data(), memory);
  EXPECT_EQ(update.to.data(), memory);
}

TEST(Tensor, AnUpdateOfASharedTensorReadsTheOldElementsAndWritesItsOwn) {
  Tensor tensor = Tensor::of<float>({1, 2, 3, 4, 5});
  const Tensor snapshot = tensor;
  {
    const auto update = tensor.update_data<float>();
    for (std::size_t i = 0; i < update.to.size(); ++i) update.to[i] = 2 * update.from[i];
  }
  EXPECT_EQ(tensor, Tensor::of<float>({2, 4, 6, 8, 10}));
  EXPECT_EQ(snapshot, Tensor::of<float>({1, 2, 3, 4, 5}));
}

TEST(Tensor, AnUpdateReadsTheOldElementsAlsoWhenTheOtherHandleGoes) {
  Tensor tensor = Tensor::of<float>({1, 2, 3, 4, 5});
  Tensor other = tensor;
  const auto update = tensor.update_data<float>();
  other = Tensor();
  for (std::size_t i = 0; i < update.to.size(); ++i) update.to[i] = update.from[i] + 1;
  EXPECT_EQ(tensor, Tensor::of<float>({2, 3, 4, 5, 6}));
}

TEST(TensorText, HasDtypeShapeAndElements) {
  EXPECT_EQ(fmt::format("{}", Tensor::of<float>({1, 2, 3, 4}, {2, 2})), "float32[2,2] [[1 2] [3 4]]");
  EXPECT_EQ(fmt::format("{}", Tensor(std::int64_t{7})), "int64[] 7");
  EXPECT_EQ(fmt::format("{}", Tensor(DType::Float, {2, 0})), "float32[2,0] [[] []]");
  EXPECT_EQ(fmt::format("{}", Tensor()), "no value");
}

TEST(TensorText, NumbersAreTheirShortestDigits) {
  EXPECT_EQ(Tensor(-0.024F).to_string(), "float32[] -0.024");
  EXPECT_EQ(Tensor(-0.024).to_string(), "float64[] -0.024");
  EXPECT_EQ(Tensor(std::uint8_t{200}).to_string(), "uint8[] 200");
  EXPECT_EQ(Tensor(std::int8_t{65}).to_string(), "int8[] 65");
  EXPECT_EQ(Tensor(true).to_string(), "bool[] true");
  EXPECT_EQ(Tensor(Half{0xc500}).to_string(), "float16[] -5");
  EXPECT_EQ(Tensor(BFloat16{0x4049}).to_string(), "bfloat16[] 3.140625");
  EXPECT_EQ(Tensor(std::complex<float>(1, -2)).to_string(), "complex64[] 1-2j");
  EXPECT_EQ(Tensor(std::complex<double>(1, 2)).to_string(), "complex128[] 1+2j");
}

TEST(TensorText, StringsAreQuotedEscapedAndCut) {
  EXPECT_EQ(Tensor::of<std::string>({"a", "b\n"}).to_string(), "string[2] [\"a\" \"b\\n\"]");
  EXPECT_EQ(Tensor(std::string(41, 'x')).to_string(), "string[] \"" + std::string(40, 'x') + "\"...");
}

TEST(TensorText, LargeTensorsAreElidedInTheMiddle) {
  Tensor vector(DType::Int32, {1000});
  std::iota(vector.mutable_data<std::int32_t>().begin(), vector.mutable_data<std::int32_t>().end(), 0);
  EXPECT_EQ(vector.to_string(), "int32[1000] [0 1 2 ... 997 998 999]");
  EXPECT_EQ(vector.reshaped({100, 10}).to_string(),
            "int32[100,10] [[0 1 ... 8 9] [10 11 ... 18 19] ... [980 981 ... 988 989] [990 991 ... 998 999]]");
  EXPECT_EQ(vector.reshaped({2, 500}).to_string(), "int32[2,500] [[0 1 ... 498 499] [500 501 ... 998 999]]");
  EXPECT_EQ(vector.reshaped({10, 10, 10}).to_string(),
            "int32[10,10,10] [[[0 ... 9] ... [90 ... 99]] ... [[900 ... 909] ... [990 ... 999]]]");
}

TEST(Tensor, AnUpdateOfAScalarIsInPlace) {
  Tensor scalar(2.0F);
  const Tensor copy = scalar;
  scalar.update_data<float>().to[0] = 3;
  EXPECT_EQ(scalar.scalar<float>(), 3);
  EXPECT_EQ(copy.scalar<float>(), 2);
  EXPECT_THROW(static_cast<void>(scalar.update_data<double>()), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
