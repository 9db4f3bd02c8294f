// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/exchange/npy.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
inline constexpr std::size_t kNpyAlignment = 64;

struct NpyDType {
  std::string_view descr;
  DType dtype;
};

inline constexpr std::array kNpyDTypes{
    NpyDType{"|b1", DType::Bool},      NpyDType{"|i1", DType::Int8},        NpyDType{"|u1", DType::UInt8},
    NpyDType{"<i2", DType::Int16},     NpyDType{"<u2", DType::UInt16},      NpyDType{"<i4", DType::Int32},
    NpyDType{"<u4", DType::UInt32},    NpyDType{"<i8", DType::Int64},       NpyDType{"<u8", DType::UInt64},
    NpyDType{"<f2", DType::Half},      NpyDType{"<f4", DType::Float},       NpyDType{"<f8", DType::Double},
    NpyDType{"<c8", DType::Complex64}, NpyDType{"<c16", DType::Complex128},
};

/// The three values of a header, which is a dictionary of Python's.
class NpyHeader {
 public:
  NpyHeader(std::string_view text, const std::string& path) : rest_(text), path_(path) {
    demand('{');
    while (!take('}')) {
      const std::string_view name = quoted();
      demand(':');
      if (name == "descr" && descr_.empty()) {
        descr_ = take_descr();
      } else if (name == "fortran_order" && !is_fortran_) {
        is_fortran_ = take_truth();
      } else if (name == "shape" && !shape_) {
        shape_ = take_shape();
      } else {
        throw damaged(fmt::format("its header has '{}', or has it twice", utf8_prefix(name, 100)));
      }
      if (!take(',') && peek() != '}') throw damaged("its header lacks a comma");
    }
    if (peek() != '\0') throw damaged("something follows the dictionary in its header");
    if (descr_.empty() || !is_fortran_ || !shape_) throw damaged("its header lacks descr, fortran_order or shape");
  }

  [[nodiscard]] bool is_fortran() const noexcept { return *is_fortran_; }
  [[nodiscard]] const Shape& shape() const noexcept { return *shape_; }
  [[nodiscard]] DType dtype() const {
    const auto found = std::ranges::find(kNpyDTypes, descr_, &NpyDType::descr);
    if (found != kNpyDTypes.end()) return found->dtype;
    const std::string little = fmt::format("<{}", descr_.substr((std::min)(descr_.size(), std::size_t{1})));
    const bool is_big = descr_.starts_with('>') && std::ranges::count(kNpyDTypes, little, &NpyDType::descr) > 0;
    throw UnimplementedError(
        "{} has elements '{}', which tensors lack; write it again in Python: numpy.save(path, array.astype('{}'))",
        path_, utf8_prefix(descr_, 100), is_big ? little : "<f4");
  }
  [[nodiscard]] DataLossError damaged(std::string_view problem) const {
    return DataLossError("{} is damaged or no file of NumPy: {}; write it again", path_, problem);
  }

 private:
  /// The next character that is not a space; NUL at the end.
  char peek() {
    rest_.remove_prefix((std::min)(rest_.find_first_not_of(" \n"), rest_.size()));
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool take(char wanted) {
    if (peek() != wanted || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void demand(char wanted) {
    if (!take(wanted)) throw damaged(fmt::format("its header lacks a '{}'", wanted));
  }
  bool take_word(std::string_view word) {
    static_cast<void>(peek());
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') throw damaged("its header has no quotes where a text should be");
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) throw damaged("its header has a text without an end");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::string_view take_descr() {
    if (peek() != '[') return quoted();
    throw UnimplementedError(
        "{} has elements of several fields, which tensors lack; write one field in Python: "
        "numpy.save(path, array['name'])",
        path_);
  }
  bool take_truth() {
    if (take_word("True")) return true;
    if (!take_word("False")) throw damaged("fortran_order is neither True nor False");
    return false;
  }
  Shape take_shape() {
    std::vector<std::int64_t> dims;
    demand('(');
    while (!take(')')) {
      dims.push_back(take_number());
      if (dims.size() > kMaxRank) {
        throw UnimplementedError("{} has more than {} dimensions; reshape it in Python", path_, kMaxRank);
      }
      if (!take(',') && peek() != ')') throw damaged("its shape lacks a comma");
    }
    try {
      return Shape(std::span<const std::int64_t>(dims));
    } catch (const InvalidArgumentError&) { throw damaged("its shape has more elements than 63 bits count"); }
  }
  std::int64_t take_number() {
    std::int64_t number = 0;
    if (peek() < '0' || peek() > '9') throw damaged("its shape has something that is no number");
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; rest_.remove_prefix(1)) {
      if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, rest_.front() - '0', &number))
        throw damaged("its shape has a number of more than 63 bits");
    }
    static_cast<void>(take('L'));  // as Python 2 wrote it
    return number;
  }

  std::string_view rest_;
  const std::string& path_;
  std::string_view descr_;
  std::optional<bool> is_fortran_;
  std::optional<Shape> shape_;
};

/// Elements whose first index moves fastest, in row-major order.
inline void to_row_major(const Shape& shape, std::size_t size, std::span<const std::byte> from,
                         std::span<std::byte> to) {
  std::array<std::size_t, kMaxRank> index{};
  std::array<std::size_t, kMaxRank> strides{};
  std::size_t stride = size;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    strides[axis] = stride;
    stride *= static_cast<std::size_t>(shape[axis]);
  }
  std::size_t offset = 0;
  for (std::size_t at = 0; at < to.size(); at += size) {
    std::memcpy(to.data() + at, from.data() + offset, size);
    for (std::size_t axis = shape.rank(); axis > 0; --axis) {
      offset += strides[axis - 1];
      if (++index[axis - 1] < static_cast<std::size_t>(shape[axis - 1])) break;
      offset -= index[axis - 1] * strides[axis - 1];
      index[axis - 1] = 0;
    }
  }
}

inline bool is_npy(std::string_view beginning) { return beginning.starts_with(kNpyMagic); }

}  // namespace trainhook::detail

namespace trainhook {

void write_npy(FileSystem& file_system, const std::string& path, const Tensor& tensor) {
  const auto found = std::ranges::find(detail::kNpyDTypes, tensor.dtype(), &detail::NpyDType::dtype);
  if (found == detail::kNpyDTypes.end()) {
    throw InvalidArgumentError("write_npy: {}: the tensor is {}, which NumPy lacks; write a safetensors file", path,
                               tensor.dtype());
  }
  const Shape& shape = tensor.shape();
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", found->descr);
  for (std::size_t axis = 0; axis < shape.rank(); ++axis)
    header += fmt::format("{}{}{}", axis == 0 ? "" : " ", shape[axis], axis + 1 < shape.rank() || axis == 0 ? "," : "");
  header += "), }";
  const std::size_t before = detail::kNpyMagic.size() + 4;  // with a length of two bytes: the header is short
  const std::size_t longest = 21;                           // NumPy leaves room for the first dimension to grow
  if (shape.rank() > 0) header.append(longest - (std::min)(longest, fmt::formatted_size("{}", shape[0])), ' ');
  header.append(detail::kNpyAlignment - (before + header.size() + 1) % detail::kNpyAlignment, ' ');
  header += '\n';
  const std::string start = fmt::format("{}{}{}{}{}", detail::kNpyMagic, '\1', '\0', static_cast<char>(header.size()),
                                        static_cast<char>(header.size() >> 8));
  write_file_atomically(
      file_system, path,
      [&](WritableFile& file) {
        file.append(start + header);
        file.append(tensor.bytes());
      },
      detail::is_npy);
}

Tensor read_npy(FileSystem& file_system, const std::string& path) {
  constexpr std::uint32_t kMostHeader = 65536;
  const std::unique_ptr<ReadableFile> file = file_system.open_readable(path);
  const std::uint64_t size = file->size();
  std::array<unsigned char, 12> start{};
  const std::span<std::byte> there =
      std::as_writable_bytes(std::span(start)).first((std::min<std::size_t>)(start.size(), size));
  file->read_at(0, there);
  const bool is_first = start[6] == 1;
  if (std::memcmp(start.data(), detail::kNpyMagic.data(), detail::kNpyMagic.size()) != 0 || start[6] < 1 ||
      start[6] > 3)
    throw DataLossError("{} is no file of NumPy of version 1 to 3", path);
  const std::size_t before = is_first ? 10 : 12;
  std::uint32_t length = start[8] | static_cast<std::uint32_t>(start[9]) << 8;
  if (!is_first) length |= static_cast<std::uint32_t>(start[10]) << 16 | static_cast<std::uint32_t>(start[11]) << 24;
  if (length > kMostHeader || size < before + length) {
    throw DataLossError("{} is damaged: its header would have {} bytes of {}, and {} at most are read", path, length,
                        size, kMostHeader);
  }
  std::string text(length, '\0');
  file->read_at(before, std::as_writable_bytes(std::span(text)));
  const detail::NpyHeader header(text, path);
  const DType dtype = header.dtype();
  const std::uint64_t data = before + length;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(header.shape().num_elements()), dtype_size(dtype), &bytes) ||
      bytes != size - data)
    throw header.damaged(fmt::format("{}{} does not have {} bytes", dtype, header.shape(), size - data));
  Tensor tensor = Tensor::uninitialized(dtype, header.shape());
  file->read_at(data, tensor.overwrite_bytes());
  if (dtype == DType::Bool &&
      std::ranges::any_of(std::as_const(tensor).bytes(), [](std::byte byte) { return byte > std::byte{1}; }))
    throw header.damaged("it has booleans that are neither 0 nor 1");
  if (!header.is_fortran() || header.shape().rank() < 2) return tensor;
  Tensor row_major = Tensor::uninitialized(dtype, header.shape());
  detail::to_row_major(header.shape(), dtype_size(dtype), std::as_const(tensor).bytes(), row_major.overwrite_bytes());
  return row_major;
}

}  // namespace trainhook
