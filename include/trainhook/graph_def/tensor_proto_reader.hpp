// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads TensorProto and TensorShapeProto messages, and checks everything in them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

/// Limits the memory that the constants of one file take beyond the file's size, for example by zeros of a large shape,
/// to the largest size of a protobuf.
class FillBudget {
 public:
  /// @throws DataLossError, naming `what`, if the budget is used up.
  TRAINHOOK_DECL void take(std::uint64_t bytes, std::string_view what);

 private:
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 31U;
  std::uint64_t left_ = kBytes;
};

/// Converts a DataType; a reference dtype counts as the dtype it refers to. @throws UnimplementedError, naming `what`,
/// for a dtype that this library lacks.
[[nodiscard]] TRAINHOOK_DECL DType read_dtype(std::uint64_t number, std::string_view what);

[[nodiscard]] TRAINHOOK_DECL PartialShape read_shape(WireReader reader, std::string_view what);

/// Reads one TensorProto: first its fields, then the tensor.
class TensorProtoReader {
 public:
  TensorProtoReader(std::string_view what, FillBudget& budget) : what_(what), budget_(budget) {}

  [[nodiscard]] TRAINHOOK_DECL Tensor read(WireReader reader);

 private:
  template <class T>
  void append(T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    reals_.append(bytes, sizeof value);
  }

  [[noreturn]] TRAINHOOK_DECL void fail(std::string_view problem) const;
  [[nodiscard]] TRAINHOOK_DECL Tensor make();

  /// Fills a tensor with the elements in `reals_`, then repeats the last one, or zero if there is none.
  [[nodiscard]] TRAINHOOK_DECL Tensor filled(DType dtype, std::uint64_t wanted);

  [[nodiscard]] TRAINHOOK_DECL Tensor of_strings(std::int64_t count);
  TRAINHOOK_DECL void convert_integers(DType dtype);

  static constexpr std::uint64_t kMostRepeatedStrings = 1U << 20U;

  std::string_view what_;
  FillBudget& budget_;
  std::uint64_t dtype_ = 0;
  PartialShape shape_{Shape{}};
  std::string_view content_{};
  std::string reals_{};  // the elements stored as numbers, in memory form
  std::vector<std::int64_t> integers_{};
  std::vector<std::string> strings_{};
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/tensor_proto_reader.ipp>
#endif
