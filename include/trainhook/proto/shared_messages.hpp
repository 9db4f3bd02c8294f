// SPDX-License-Identifier: Apache-2.0
/// @file
/// The messages that checkpoints, events and graphs share: VersionDef, TensorShapeProto and TensorProto; and the names
/// of dtypes in text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/proto/message.hpp>

namespace trainhook::detail {

struct VersionMessage {
  std::int32_t producer = 0;
  std::int32_t min_consumer = 0;
  std::vector<std::int32_t> bad_consumers{};
};
template <>
inline constexpr auto kFields<VersionMessage> =
    std::tuple(field(1, "producer", &VersionMessage::producer), field(2, "min_consumer", &VersionMessage::min_consumer),
               field(3, "bad_consumers", &VersionMessage::bad_consumers));

/// One dimension.
struct TensorDimMessage {
  std::int64_t size = 0;
};
template <>
inline constexpr auto kFields<TensorDimMessage> = std::tuple(field(1, "size", &TensorDimMessage::size));

struct TensorShapeMessage {
  std::vector<TensorDimMessage> dim{};
  bool unknown_rank = false;
};
template <>
inline constexpr auto kFields<TensorShapeMessage> =
    std::tuple(field(2, "dim", &TensorShapeMessage::dim), field(3, "unknown_rank", &TensorShapeMessage::unknown_rank));

[[nodiscard]] TRAINHOOK_DECL TensorShapeMessage shape_message(std::span<const std::int64_t> dims);

/// The sizes of all dimensions, including negative ones; empty for an unknown rank, too, as for a scalar.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::int64_t> dims_of(const TensorShapeMessage& shape);

/// A dtype of TensorFlow that this library lacks.
struct OtherDType {
  std::string_view name{};
  std::uint64_t number = 0;
};

inline constexpr std::array kOtherDTypes{
    OtherDType{"DT_QINT8", 11},
    OtherDType{"DT_QUINT8", 12},
    OtherDType{"DT_QINT32", 13},
    OtherDType{"DT_QINT16", 15},
    OtherDType{"DT_QUINT16", 16},
    OtherDType{"DT_RESOURCE", 20},
    OtherDType{"DT_VARIANT", 21},
    OtherDType{"DT_FLOAT8_E5M2", 24},
    OtherDType{"DT_FLOAT8_E4M3FN", 25},
    OtherDType{"DT_FLOAT8_E4M3FNUZ", 26},
    OtherDType{"DT_FLOAT8_E4M3B11FNUZ", 27},
    OtherDType{"DT_FLOAT8_E5M2FNUZ", 28},
    OtherDType{"DT_INT4", 29},
    OtherDType{"DT_UINT4", 30},
    OtherDType{"DT_INT2", 31},
    OtherDType{"DT_UINT2", 32},
};

/// The name of a DataType; empty for one that this library lacks.
[[nodiscard]] TRAINHOOK_DECL std::string_view data_type_name(std::uint64_t number);

/// TensorFlow's short name of any DataType: `float32`, `qint8`; of a number without one, `dtype 99`.
[[nodiscard]] TRAINHOOK_DECL std::string short_dtype_name(std::uint64_t number);

/// The number of a DataType; of a reference dtype, that of the dtype it refers to.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::uint64_t> data_type_of_name(std::string_view name);

inline constexpr ValueNames kDataTypeNames{.name_of = data_type_name, .value_of = data_type_of_name};

struct TensorMessage {
  std::uint64_t dtype = 0;  // a DType's number, or one that DType lacks
  TensorShapeMessage tensor_shape{};
  std::string_view tensor_content{};  // the elements as they lie in memory; or else, the first ones in a field below
  std::vector<float> float_val{};
  std::vector<double> double_val{};
  std::vector<std::int64_t> int_val{};
  std::vector<std::string_view> string_val{};
  std::vector<float> scomplex_val{};
  std::vector<std::int64_t> int64_val{};
  std::vector<bool> bool_val{};
  std::vector<double> dcomplex_val{};
  std::vector<std::int64_t> half_val{};  // the bits of Half and BFloat16
  std::vector<std::uint64_t> uint32_val{};
  std::vector<std::uint64_t> uint64_val{};
};
template <>
inline constexpr auto kFields<TensorMessage> = std::tuple(
    field(1, "dtype", &TensorMessage::dtype, &kDataTypeNames), field(2, "tensor_shape", &TensorMessage::tensor_shape),
    field(4, "tensor_content", &TensorMessage::tensor_content), field(5, "float_val", &TensorMessage::float_val),
    field(6, "double_val", &TensorMessage::double_val), field(7, "int_val", &TensorMessage::int_val),
    field(8, "string_val", &TensorMessage::string_val), field(9, "scomplex_val", &TensorMessage::scomplex_val),
    field(10, "int64_val", &TensorMessage::int64_val), field(11, "bool_val", &TensorMessage::bool_val),
    field(12, "dcomplex_val", &TensorMessage::dcomplex_val), field(13, "half_val", &TensorMessage::half_val),
    field(16, "uint32_val", &TensorMessage::uint32_val), field(17, "uint64_val", &TensorMessage::uint64_val));

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/proto/impl/shared_messages.ipp>
#endif
