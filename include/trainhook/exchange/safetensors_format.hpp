// SPDX-License-Identifier: Apache-2.0
/// @file
/// The format of a safetensors file, Hugging Face's file of named tensors.
///
///     length:u64 header:json data
///
///     header   {"__metadata__": {name: text, ...},
///               name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}, then spaces
///
/// Numbers are little-endian, tensors row-major. Offsets count from the end of the header; the tensors cover the data
/// without holes. `length` is at most 100,000,000, and what this library writes is a multiple of 8, so that the data is
/// aligned. The order of the tensors is that of the reference implementation: large elements first, then by name.
///
/// Several files, shards, have an index beside them, in Hugging Face's form:
///
///     model.safetensors.index.json   {"metadata": {"total_size": bytes}, "weight_map": {name: file, ...}}
///     model-00001-of-00003.safetensors
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

/// Where a tensor is in a safetensors file.
struct SafetensorsEntry {
  DType dtype = DType::Invalid;  ///< Invalid for a dtype that this library lacks; `unsupported` names it
  Shape shape{};
  std::uint32_t shard = 0;    ///< the number of its file, if there are several
  std::uint64_t offset = 0;   ///< of its first byte, from the start of the file
  std::uint64_t size = 0;     ///< bytes
  std::string unsupported{};  ///< why this tensor cannot be read although the file is intact; empty if it can
};

namespace detail {

inline constexpr std::uint64_t kMostSafetensorsHeader = 100'000'000;
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";
inline constexpr std::string_view kSafetensorsIndex = ".index.json";

struct SafetensorsDType {
  std::string_view name;
  DType dtype;
  std::uint64_t bits;
};

/// Those that tensors have are in the order in which a file has them.
inline constexpr std::array kSafetensorsDTypes{
    SafetensorsDType{"U64", DType::UInt64, 64},
    SafetensorsDType{"I64", DType::Int64, 64},
    SafetensorsDType{"F64", DType::Double, 64},
    SafetensorsDType{"C64", DType::Complex64, 64},
    SafetensorsDType{"F32", DType::Float, 32},
    SafetensorsDType{"U32", DType::UInt32, 32},
    SafetensorsDType{"I32", DType::Int32, 32},
    SafetensorsDType{"BF16", DType::BFloat16, 16},
    SafetensorsDType{"F16", DType::Half, 16},
    SafetensorsDType{"U16", DType::UInt16, 16},
    SafetensorsDType{"I16", DType::Int16, 16},
    SafetensorsDType{"I8", DType::Int8, 8},
    SafetensorsDType{"U8", DType::UInt8, 8},
    SafetensorsDType{"BOOL", DType::Bool, 8},
    SafetensorsDType{"F8_E5M2FNUZ", DType::Invalid, 8},
    SafetensorsDType{"F8_E4M3FNUZ", DType::Invalid, 8},
    SafetensorsDType{"F8_E8M0", DType::Invalid, 8},
    SafetensorsDType{"F8_E4M3", DType::Invalid, 8},
    SafetensorsDType{"F8_E5M2", DType::Invalid, 8},
    SafetensorsDType{"F6_E3M2", DType::Invalid, 6},
    SafetensorsDType{"F6_E2M3", DType::Invalid, 6},
    SafetensorsDType{"F4", DType::Invalid, 4},
};

/// Null if no file can have it.
constexpr const SafetensorsDType* find_safetensors_dtype(DType dtype) noexcept {
  for (const SafetensorsDType& one : kSafetensorsDTypes) {
    if (one.dtype == dtype && dtype != DType::Invalid) return &one;
  }
  return nullptr;
}

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata{};
  std::map<std::string, SafetensorsEntry, std::less<>> entries{};
};

/// Checks everything but the elements. @throws DataLossError, naming file, tensor and field.
[[nodiscard]] TRAINHOOK_DECL SafetensorsHeader read_safetensors_header(const ReadableFile& file);

/// A tensor of a file that is to be written.
struct PlannedTensor {
  std::string name{};
  const SafetensorsDType* dtype = nullptr;
  Shape shape{};
  std::string from{};  ///< its name where it is read

  [[nodiscard]] std::uint64_t size() const noexcept {
    return static_cast<std::uint64_t>(shape.num_elements()) * (dtype->bits / 8);
  }
};

/// The bytes before the data, for tensors in the order of the file.
/// @throws InvalidArgumentError if the header is too large, or a name or metadata is not UTF-8.
[[nodiscard]] TRAINHOOK_DECL std::string encode_safetensors_header(std::span<const PlannedTensor> tensors,
                                                                   const std::map<std::string, std::string>& metadata);

/// Which file each tensor is in. @throws DataLossError, also for a file that is in another directory.
[[nodiscard]] TRAINHOOK_DECL std::map<std::string, std::string> read_safetensors_index(const ReadableFile& file);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/exchange/impl/safetensors_format.ipp>
#endif
