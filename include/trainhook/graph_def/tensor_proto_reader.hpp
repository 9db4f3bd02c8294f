// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads TensorProto and TensorShapeProto from bytes that may be anything.
#pragma once

#include <algorithm>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <trainhook/core/tensor.hpp>
#include <trainhook/io/tensor_shape_proto.hpp>
#include <trainhook/io/wire.hpp>

namespace trainhook::detail {

/// How many bytes the constants of one file may take beyond those that stand in it, as zeros of a large shape do: what a protobuf may be.
class FillBudget {
 public:
  /// @throws DataLossError, naming `what`, when it is used up.
  void take(std::uint64_t bytes, std::string_view what) {
    if (bytes > left_) {
      throw DataLossError(what, " is damaged or of another format: its constants repeat one value over more than ", kBytes, " bytes");
    }
    left_ -= bytes;
  }

 private:
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 31U;
  std::uint64_t left_ = kBytes;
};

/// A DataType that this library holds, references counting as what they refer to. @throws UnimplementedError, naming `what`.
[[nodiscard]] inline DType read_dtype(std::uint64_t number, std::string_view what) {
  const std::uint64_t plain = number > 100 ? number - 100 : number;
  if (plain < 256 && find_dtype(static_cast<DType>(plain)) != nullptr) return static_cast<DType>(plain);
  throw UnimplementedError(what, ": dtype number ", number, " is not one that this library can hold");
}

[[nodiscard]] inline PartialShape read_shape(WireReader reader, std::string_view what) {
  std::vector<std::int64_t> dims;
  bool unknown_rank = false;
  while (reader.next()) {
    if (reader.tag() == 2) {
      const std::int64_t size = read_shape_dim(reader.get_message());
      if (size < kUnknownDim) throw DataLossError(what, " is damaged or of another format: a shape has the dimension ", size);
      dims.push_back(size);
    } else if (reader.tag() == 3) {
      unknown_rank = reader.get_bool();
    } else {
      reader.skip();
    }
  }
  if (unknown_rank) return {};
  if (dims.size() > kMaxRank)
    throw UnimplementedError(what, ": a shape has ", dims.size(), " dimensions; at most ", kMaxRank, " can be held");
  return PartialShape(std::span<const std::int64_t>(dims));
}

/// One TensorProto: its fields first, then the tensor they make.
class TensorProtoReader {
 public:
  TensorProtoReader(std::string_view what, FillBudget& budget) : what_(what), budget_(budget) {}

  [[nodiscard]] Tensor read(WireReader reader) {
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

 private:
  template <class T>
  void append(T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    reals_.append(bytes, sizeof value);
  }

  [[noreturn]] void fail(std::string_view problem) const { throw DataLossError(what_, " is damaged or of another format: ", problem); }

  [[nodiscard]] Tensor make() {
    const DType dtype = read_dtype(dtype_, what_);
    if (!shape_.is_fully_known()) fail("a constant's shape is not fully known");
    std::int64_t count = 1;
    for (const std::int64_t dim : shape_.dims()) {
      if (__builtin_mul_overflow(count, dim, &count)) fail("a constant has more elements than 63 bits count");
    }
    if (dtype == DType::String) return of_strings(count);
    std::uint64_t wanted = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(count), dtype_size(dtype), &wanted)) fail("a constant is too large");
    if (!content_.empty()) {
      if (content_.size() != wanted) fail(str_cat("a constant ", dtype_name(dtype), shape_, " has ", content_.size(), " bytes of content"));
      Tensor tensor = Tensor::uninitialized(dtype, shape_.known());
      std::memcpy(tensor.overwrite_bytes().data(), content_.data(), content_.size());
      return tensor;
    }
    if (!integers_.empty()) convert_integers(dtype);
    return filled(dtype, wanted);
  }

  /// `reals_` holds the first elements; the last of them stands for all that follow, zero where there is none.
  [[nodiscard]] Tensor filled(DType dtype, std::uint64_t wanted) {
    if (reals_.size() % dtype_size(dtype) != 0 || reals_.size() > wanted) {
      fail(str_cat("a constant ", dtype_name(dtype), shape_, " has too many values, or a part of one"));
    }
    budget_.take(wanted - reals_.size(), what_);
    Tensor tensor(dtype, shape_.known());
    if (reals_.empty() || wanted == 0) return tensor;
    const std::span<std::byte> bytes = tensor.overwrite_bytes();
    std::memcpy(bytes.data(), reals_.data(), reals_.size());
    const std::size_t element = dtype_size(dtype);
    for (std::size_t at = reals_.size(); at < bytes.size(); at += element) std::memcpy(&bytes[at], &bytes[at - element], element);
    return tensor;
  }

  [[nodiscard]] Tensor of_strings(std::int64_t count) {
    if (static_cast<std::uint64_t>(count) < strings_.size()) fail("a constant has more strings than elements");
    budget_.take((static_cast<std::uint64_t>(count) - strings_.size()) / 32, what_);
    if (static_cast<std::uint64_t>(count) - strings_.size() > kMostRepeatedStrings) fail("a constant repeats a string too often");
    Tensor tensor(DType::String, shape_.known());
    const std::span<std::string> elements = tensor.overwrite_data<std::string>();
    for (std::size_t i = 0; i < elements.size() && !strings_.empty(); ++i) elements[i] = strings_[std::min(i, strings_.size() - 1)];
    return tensor;
  }

  void convert_integers(DType dtype) {
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
      default: fail(str_cat("a constant of ", dtype_name(dtype), " is given as integers"));
    }
  }

  static constexpr std::uint64_t kMostRepeatedStrings = 1U << 20U;

  std::string_view what_;
  FillBudget& budget_;
  std::uint64_t dtype_ = 0;
  PartialShape shape_{Shape{}};
  std::string_view content_{};
  std::string reals_{};  // the elements that stand as numbers, as they lie in memory
  std::vector<std::int64_t> integers_{};
  std::vector<std::string> strings_{};
};

}  // namespace trainhook::detail
