// SPDX-License-Identifier: Apache-2.0
/// @file
/// TensorProto and TensorShapeProto against bytes and text that TensorFlow 2.15 gives.
#include <trainhook/model/graph_def/tensor_proto.hpp>

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <trainhook/proto/message_text.hpp>

namespace trainhook {
namespace {

using namespace std::string_view_literals;

std::string bytes_of(const Tensor& tensor) { return detail::message_bytes(detail::tensor_message(tensor)); }
std::string text_of(const Tensor& tensor) { return detail::message_text(detail::tensor_message(tensor)); }

TEST(TensorProto, ScalarIsOneElementOfItsField) {
  EXPECT_EQ(text_of(Tensor(0.5F)), "dtype: DT_FLOAT\ntensor_shape {\n}\nfloat_val: 0.5\n");
  EXPECT_EQ(bytes_of(Tensor(0.5F)), "\x08\x01\x12\x00\x2a\x04\x00\x00\x00\x3f"sv);
  EXPECT_EQ(text_of(Tensor(std::int64_t{-2})), "dtype: DT_INT64\ntensor_shape {\n}\nint64_val: -2\n");
  EXPECT_EQ(text_of(Tensor(true)), "dtype: DT_BOOL\ntensor_shape {\n}\nbool_val: true\n");
  EXPECT_EQ(bytes_of(Tensor(false)), "\x08\x0a\x12\x00\x5a\x01\x00"sv) << "a packed zero is written";
  EXPECT_EQ(text_of(Tensor(std::complex<float>(1, 2))),
            "dtype: DT_COMPLEX64\ntensor_shape {\n}\nscomplex_val: 1.0\nscomplex_val: 2.0\n");
}

TEST(TensorProto, TextHasUnsignedNumbersAsSuch) {
  EXPECT_EQ(text_of(Tensor(std::uint64_t{0xffffffffffffffff})),
            "dtype: DT_UINT64\ntensor_shape {\n}\nuint64_val: 18446744073709551615\n");
}

TEST(TensorProto, HalvesGoAsTheirBits) {
  EXPECT_EQ(text_of(Tensor(Half{0x3c00})), "dtype: DT_HALF\ntensor_shape {\n}\nhalf_val: 15360\n");
  EXPECT_EQ(text_of(Tensor(BFloat16{0x3f80})), "dtype: DT_BFLOAT16\ntensor_shape {\n}\nhalf_val: 16256\n");
}

TEST(TensorProto, EqualElementsTakeOne) {
  EXPECT_EQ(bytes_of(Tensor(DType::Float, {1000, 1000})),
            "\x08\x01\x12\x0a\x12\x03\x08\xe8\x07\x12\x03\x08\xe8\x07\x2a\x04\x00\x00\x00\x00"sv);
}

TEST(TensorProto, ZerosNeedNoTensor) {
  for (const DType dtype : {DType::Float, DType::Int64, DType::Bool, DType::Half, DType::Complex64, DType::String}) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{2, 3}})
      EXPECT_EQ(detail::message_bytes(detail::zeros_message(dtype, shape)), bytes_of(Tensor(dtype, shape)));
  }
}

TEST(TensorProto, OtherElementsGoAsTheyLieInMemory) {
  EXPECT_EQ(bytes_of(Tensor::of<std::int16_t>({1, 2})), "\x08\x05\x12\x04\x12\x02\x08\x02\x22\x04\x01\x00\x02\x00"sv);
}

TEST(TensorProto, NegativeZeroIsNotZero) {
  EXPECT_EQ(text_of(Tensor::of<float>({0.0F, -0.0F})).find("float_val"), std::string::npos);
}

TEST(TensorProto, StringsGoOneByOneAndNoElementsAsNone) {
  EXPECT_EQ(text_of(Tensor::of<std::string>({"a", "", "\xc3\xa9"})),
            "dtype: DT_STRING\ntensor_shape {\n  dim {\n    size: 3\n  }\n}\nstring_val: \"a\"\nstring_val: "
            "\"\"\nstring_val: \"\\303\\251\"\n");
  EXPECT_EQ(text_of(Tensor(DType::Float, {0})), "dtype: DT_FLOAT\ntensor_shape {\n  dim {\n  }\n}\n");
}

TEST(TensorShapeProto, KnowsUnknownDimensionsAndRanks) {
  const auto text = [](const PartialShape& shape) { return detail::message_text(detail::shape_message(shape)); };
  EXPECT_EQ(text({-1, 0}), "dim {\n  size: -1\n}\ndim {\n}\n");
  EXPECT_EQ(text(PartialShape()), "unknown_rank: true\n");
  EXPECT_EQ(text(Shape{}), "");
}

}  // namespace
}  // namespace trainhook
