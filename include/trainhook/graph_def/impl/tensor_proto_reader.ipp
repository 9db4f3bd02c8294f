// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of tensor_proto_reader.hpp.
#pragma once

#include <trainhook/graph_def/tensor_proto_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

#include <fmt/core.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph_def/message_schema.hpp>
#include <trainhook/proto/tensor_shape_proto.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL void FillBudget::take(std::uint64_t bytes, std::string_view what) {
  if (bytes > left_) {
    throw DataLossError("{} is damaged or of another format: its constants repeat one value over more than {} bytes",
                        what, kBytes);
  }
  left_ -= bytes;
}

TRAINHOOK_DECL DType read_dtype(std::uint64_t number, std::string_view what) {
  const std::uint64_t plain = number > 100 ? number - 100 : number;
  if (plain < 256 && find_dtype(static_cast<DType>(plain)) != nullptr) return static_cast<DType>(plain);
  const auto other = std::ranges::find(kOtherDTypes, plain, &OtherDType::number);
  if (other != kOtherDTypes.end()) throw UnimplementedError("{}: no tensor here can hold {}", what, other->name);
  throw UnimplementedError("{}: dtype number {} is not known here", what, number);
}

TRAINHOOK_DECL PartialShape read_shape(WireReader reader, std::string_view what) {
  std::vector<std::int64_t> dims;
  bool unknown_rank = false;
  while (reader.next()) {
    if (reader.tag() == 2) {
      const std::int64_t size = read_shape_dim(reader.get_message());
      if (size < kUnknownDim)
        throw DataLossError("{} is damaged or of another format: a shape has the dimension {}", what, size);
      dims.push_back(size);
    } else if (reader.tag() == 3) {
      unknown_rank = reader.get_bool();
    } else {
      reader.skip();
    }
  }
  if (unknown_rank) return {};
  if (dims.size() > kMaxRank)
    throw UnimplementedError("{}: a shape has {} dimensions; at most {} can be held", what, dims.size(), kMaxRank);
  return PartialShape(std::span<const std::int64_t>(dims));
}

TRAINHOOK_DECL Tensor TensorProtoReader::read(WireReader reader) {
  while (reader.next()) {
    switch (reader.tag()) {
      case 1: dtype_ = reader.get_uint64(); break;
      case 2: shape_ = read_shape(reader.get_message(), what_); break;
      case 4: content_ = reader.get_bytes(); break;
      case 5: reader.for_each<float>([&](float value) { append(value); }); break;
      case 6: reader.for_each<double>([&](double value) { append(value); }); break;
      case 8: strings_.push_back(reader.get_string()); break;
      case 9: reader.for_each<float>([&](float value) { append(value); }); break;
      case 12: reader.for_each<double>([&](double value) { append(value); }); break;
      case 7:
      case 10:
      case 11:
      case 13:
      case 16:
      case 17: reader.for_each<std::int64_t>([&](std::int64_t value) { integers_.push_back(value); }); break;
      default: reader.skip();
    }
  }
  return make();
}

TRAINHOOK_DECL void TensorProtoReader::fail(std::string_view problem) const {
  throw DataLossError("{} is damaged or of another format: {}", what_, problem);
}

TRAINHOOK_DECL Tensor TensorProtoReader::make() {
  const DType dtype = read_dtype(dtype_, what_);
  if (!shape_.is_fully_known()) fail("a constant's shape is not fully known");
  std::int64_t count = 0;
  try {
    count = shape_.known().num_elements();
  } catch (const InvalidArgumentError&) { fail("a constant has more elements than 63 bits count"); }
  if (dtype == DType::String) return of_strings(count);
  std::uint64_t wanted = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(count), dtype_size(dtype), &wanted))
    fail("a constant is too large");
  if (!content_.empty()) {
    if (content_.size() != wanted)
      fail(fmt::format("a constant {}{} has {} bytes of content", dtype, shape_, content_.size()));
    Tensor tensor = Tensor::uninitialized(dtype, shape_.known());
    std::memcpy(tensor.overwrite_bytes().data(), content_.data(), content_.size());
    return tensor;
  }
  if (!integers_.empty()) convert_integers(dtype);
  return filled(dtype, wanted);
}

TRAINHOOK_DECL Tensor TensorProtoReader::filled(DType dtype, std::uint64_t wanted) {
  if (reals_.size() % dtype_size(dtype) != 0 || reals_.size() > wanted) {
    fail(fmt::format("a constant {}{} has too many values, or a part of one", dtype, shape_));
  }
  budget_.take(wanted - reals_.size(), what_);
  Tensor tensor(dtype, shape_.known());
  if (reals_.empty() || wanted == 0) return tensor;
  const std::span<std::byte> bytes = tensor.overwrite_bytes();
  std::memcpy(bytes.data(), reals_.data(), reals_.size());
  const std::size_t element = dtype_size(dtype);
  for (std::size_t at = reals_.size(); at < bytes.size(); at += element)
    std::memcpy(&bytes[at], &bytes[at - element], element);
  return tensor;
}

TRAINHOOK_DECL Tensor TensorProtoReader::of_strings(std::int64_t count) {
  if (static_cast<std::uint64_t>(count) < strings_.size()) fail("a constant has more strings than elements");
  budget_.take((static_cast<std::uint64_t>(count) - strings_.size()) / 32, what_);
  if (static_cast<std::uint64_t>(count) - strings_.size() > kMostRepeatedStrings)
    fail("a constant repeats a string too often");
  Tensor tensor(DType::String, shape_.known());
  const std::span<std::string> elements = tensor.overwrite_data<std::string>();
  for (std::size_t i = 0; i < elements.size() && !strings_.empty(); ++i)
    elements[i] = strings_[std::min(i, strings_.size() - 1)];
  return tensor;
}

TRAINHOOK_DECL void TensorProtoReader::convert_integers(DType dtype) {
  const auto convert = [&]<class T>(T) {
    for (const std::int64_t value : integers_) append(static_cast<T>(value));
  };
  switch (dtype) {
    case DType::Int32: return convert(std::int32_t{});
    case DType::Int16: return convert(std::int16_t{});
    case DType::Int8: return convert(std::int8_t{});
    case DType::UInt8: return convert(std::uint8_t{});
    case DType::Half:
    case DType::BFloat16:
    case DType::UInt16: return convert(std::uint16_t{});
    case DType::Int64: return convert(std::int64_t{});
    case DType::UInt32: return convert(std::uint32_t{});
    case DType::UInt64: return convert(std::uint64_t{});
    case DType::Bool:
      for (const std::int64_t value : integers_) append(std::uint8_t{value != 0});
      return;
    default: fail(fmt::format("a constant of {} is given as integers", dtype));
  }
}

}  // namespace trainhook::detail
