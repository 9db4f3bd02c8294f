// SPDX-License-Identifier: Apache-2.0
// The commands about what is in checkpoints: every tensor shown, compared, averaged.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/checkpoint/tensor_bundle.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/posix_file_system.hpp>

#include "commands.hpp"
#include "report.hpp"

namespace th = trainhook;

namespace {

/// IEEE 754 binary16 of a number, rounded to the nearest; ties to even.
th::Half to_half(double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::abs(value);
  if (std::isnan(value)) return {0x7e00};
  if (size >= 65520) return {static_cast<std::uint16_t>(sign | 0x7c00)};
  int exponent = 0;
  static_cast<void>(std::frexp(size, &exponent));
  exponent = size > 0 ? (std::max)(exponent, -13) : -13;  // below are the subnormal numbers
  const double mantissa = std::nearbyint(std::ldexp(size, 11 - exponent));
  return {static_cast<std::uint16_t>(sign + (exponent + 13) * 1024 + static_cast<int>(mantissa))};
}

th::BFloat16 to_bfloat16(double value) {
  if (std::isnan(value)) return {0x7fc0};
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

template <class T>
double element_of(const th::Tensor& tensor, std::size_t i) {
  const T value = tensor.data<T>()[i];
  if constexpr (std::is_same_v<T, th::Half> || std::is_same_v<T, th::BFloat16>) {
    return double{th::to_float(value)};
  } else {
    return static_cast<double>(value);
  }
}

using ElementOf = double (*)(const th::Tensor&, std::size_t);

/// What reads an element of a tensor of this dtype; null if the elements are not real numbers.
ElementOf reader_of(th::DType dtype) {
  using enum th::DType;
  switch (dtype) {
    case Float: return element_of<float>;
    case Double: return element_of<double>;
    case Half: return element_of<th::Half>;
    case BFloat16: return element_of<th::BFloat16>;
    case Int8: return element_of<std::int8_t>;
    case Int16: return element_of<std::int16_t>;
    case Int32: return element_of<std::int32_t>;
    case Int64: return element_of<std::int64_t>;
    case UInt8: return element_of<std::uint8_t>;
    case UInt16: return element_of<std::uint16_t>;
    case UInt32: return element_of<std::uint32_t>;
    case UInt64: return element_of<std::uint64_t>;
    case Bool: return element_of<bool>;
    default: return nullptr;
  }
}

/// Of the finite elements; the others are counted.
struct Statistics {
  explicit Statistics(const th::Tensor& tensor) {
    const ElementOf element = reader_of(tensor.dtype());
    for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.num_elements()); ++i) {
      const double value = element(tensor, i);
      if (std::isfinite(value)) {
        min = (std::min)(min, value);
        max = (std::max)(max, value);
        sum += value;
        ++finite;
      } else {
        ++(std::isnan(value) ? nan : inf);
      }
    }
  }

  double min = std::numeric_limits<double>::infinity();
  double max = -min;
  double sum = 0;
  std::int64_t finite = 0, nan = 0, inf = 0;
};

/// The row of one tensor; if it cannot be read, a red one and a note.
Report::Row row_of(const th::BundleReader& reader, const std::string& name, const th::BundleEntry& entry,
                   std::vector<std::string>& notes) {
  Report::Row row{{name, Cell(th::dtype_name(entry.dtype)), entry.shape.to_string(), count(entry.shape.num_elements()),
                   bytes(bytes_of(entry)), Cell(), Cell(), Cell(), Cell(), Cell()}};
  if (entry.unsupported) {
    if (entry.unsupported->shape != entry.shape.to_string()) row.cells[3] = Cell();
    row.cells[1] = entry.unsupported->dtype;
    row.cells[2] = entry.unsupported->shape;
    return row;
  }
  try {
    const th::Tensor tensor = reader.get_tensor(name);
    if (!th::is_floating(entry.dtype)) return row;
    const Statistics numbers(tensor);
    if (numbers.finite > 0) {
      row.cells[5] = real(numbers.min);
      row.cells[6] = real(numbers.max);
      row.cells[7] = real(numbers.sum / static_cast<double>(numbers.finite));
    }
    row.cells[8] = count(numbers.nan);
    row.cells[9] = count(numbers.inf);
    if (numbers.nan + numbers.inf > 0) row.style = kBad;
  } catch (const th::Error& error) {
    row.style = kBad;
    notes.emplace_back(error.what());
  }
  return row;
}

}  // namespace

std::uint64_t bytes_of(const th::BundleEntry& entry) {
  return entry.dtype == th::DType::String || entry.dtype == th::DType::Invalid
             ? entry.size
             : static_cast<std::uint64_t>(entry.shape.num_elements()) * th::dtype_size(entry.dtype);
}

int show(const std::string& prefix_or_directory, const std::string& tensor, bool as_json) {
  if (!tensor.empty()) {
    fmt::print("{}\n", th::load_variable(prefix_or_directory, tensor));
    return kFine;
  }
  const th::BundleReader reader = th::load_checkpoint(prefix_or_directory);
  Report report{.facts = {{"checkpoint", reader.prefix()}},
                .rows_key = "tensors",
                .columns = {{"tensor", "name"},
                            {"dtype", "dtype"},
                            {"shape", "shape"},
                            {"count", "count"},
                            {"size", "bytes"},
                            {"min", "min"},
                            {"max", "max"},
                            {"mean", "mean"},
                            {"NaN", "nan"},
                            {"inf", "inf"}}};
  std::uint64_t total = 0;
  for (const auto& [name, entry] : reader.entries()) {
    total += bytes_of(entry);
    report.rows.push_back(row_of(reader, name, entry, report.notes));
  }
  report.heading = fmt::format("{}: {}, {}", reader.prefix(), counted(report.rows.size(), "tensor"), bytes(total).text);
  print(report, as_json);
  return report.notes.empty() ? kFine : kDamagedOrDifferent;
}

namespace {

struct Difference {
  std::string result{};  // "equal", or in what they differ
  Cell largest{};        // |a - b|
  Cell elements{};       // how many have other bits
};

Difference difference(const th::Tensor& a, const th::Tensor& b) {
  if (a.dtype() != b.dtype()) return {fmt::format("dtype {}, {}", a.dtype(), b.dtype())};
  if (a.shape() != b.shape()) return {fmt::format("shape {}, {}", a.shape(), b.shape())};
  if (a == b) return {"equal"};
  const ElementOf element = reader_of(a.dtype());
  if (element == nullptr) return {"different"};
  const std::size_t size = th::dtype_size(a.dtype());
  double largest = 0;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.num_elements()); ++i) {
    if (std::ranges::equal(a.bytes().subspan(i * size, size), b.bytes().subspan(i * size, size))) continue;
    ++elements;
    const double x = element(a, i), y = element(b, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;  // 0 and -0; two kinds of NaN
    const double distance = std::abs(x - y);
    if (std::isnan(distance) || distance > largest) largest = distance;
  }
  return {"different", real(largest), count(elements)};
}

constexpr const char* kNotCompared = "not compared";

/// Of a tensor that both have.
Difference difference(const th::BundleReader& a, const th::BundleReader& b, const std::string& name) {
  const th::BundleEntry &in_a = a.entry(name), &in_b = b.entry(name);
  if (!in_a.unsupported && !in_b.unsupported) return difference(a.get_tensor(name), b.get_tensor(name));
  const auto text = [](const th::BundleEntry& entry) {
    if (entry.unsupported) return entry.unsupported->dtype + entry.unsupported->shape;
    return fmt::format("{}{}", entry.dtype, entry.shape);
  };
  if (text(in_a) != text(in_b)) return {fmt::format("{}, {}", text(in_a), text(in_b))};
  return {fmt::format("{}: {}", kNotCompared, text(in_a))};
}

/// The names of all tensors of some checkpoints.
std::set<std::string> names_in(const std::vector<th::BundleReader>& readers) {
  std::set<std::string> names;
  for (const th::BundleReader& reader : readers)
    for (const auto& [name, entry] : reader.entries()) names.insert(name);
  return names;
}

}  // namespace

int diff(const std::string& a, const std::string& b, bool as_json) {
  std::vector<th::BundleReader> both;
  for (const std::string& path : {a, b}) both.push_back(th::load_checkpoint(path));
  Report report{
      .facts = {{"a", both[0].prefix()}, {"b", both[1].prefix()}},
      .rows_key = "tensors",
      .columns = {
          {"tensor", "name"}, {"result", "result"}, {"max |A - B|", "max_difference"}, {"elements", "elements"}}};
  std::size_t different = 0, not_compared = 0;
  for (const std::string& name : names_in(both)) {
    Difference found{!both[1].has_tensor(name) ? "only in A" : "only in B"};
    if (both[0].has_tensor(name) && both[1].has_tensor(name)) found = difference(both[0], both[1], name);
    const bool is_equal = found.result == "equal";
    if (!is_equal) ++(found.result.starts_with(kNotCompared) ? not_compared : different);
    report.rows.push_back({{name, found.result, found.largest, found.elements}, is_equal ? fmt::text_style() : kBad});
  }
  report.facts.emplace_back("equal", truth(different + not_compared == 0));
  if (not_compared > 0)
    report.notes.push_back(
        fmt::format("{} not compared, because trainhook cannot hold them", counted(not_compared, "tensor")));
  report.heading = fmt::format("A {}\nB {}\n{} of {} tensors differ", both[0].prefix(), both[1].prefix(), different,
                               report.rows.size());
  print(report, as_json);
  if (different > 0) return kDamagedOrDifferent;
  return not_compared == 0 ? kFine : kNoAnswer;
}

namespace {

/// The mean over all checkpoints of one tensor, element by element.
th::Tensor mean_of(const std::vector<th::BundleReader>& readers, const std::string& name) {
  const th::BundleEntry& wanted = readers.back().entry(name);
  std::vector<double> sums(static_cast<std::size_t>(wanted.shape.num_elements()));
  for (const th::BundleReader& reader : readers) {
    const th::Tensor tensor = reader.get_tensor(name);
    if (tensor.dtype() != wanted.dtype || tensor.shape() != wanted.shape) {
      throw th::InvalidArgumentError("tensor {} is {}{} in {} and {}{} in {}; average checkpoints of one model", name,
                                     tensor.dtype(), tensor.shape(), reader.prefix(), wanted.dtype, wanted.shape,
                                     readers.back().prefix());
    }
    const ElementOf element = reader_of(wanted.dtype);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += element(tensor, i);
  }
  th::Tensor mean = th::Tensor::uninitialized(wanted.dtype, wanted.shape);
  const auto fill = [&]<class T>(std::span<T> elements, auto convert) {
    for (std::size_t i = 0; i < sums.size(); ++i) elements[i] = convert(sums[i] / static_cast<double>(readers.size()));
  };
  if (wanted.dtype == th::DType::Half) {
    fill(mean.overwrite_data<th::Half>(), to_half);
  } else if (wanted.dtype == th::DType::BFloat16) {
    fill(mean.overwrite_data<th::BFloat16>(), to_bfloat16);
  } else if (wanted.dtype == th::DType::Double) {
    fill(mean.overwrite_data<double>(), [](double value) { return value; });
  } else {
    fill(mean.overwrite_data<float>(), [](double value) { return static_cast<float>(value); });
  }
  return mean;
}

}  // namespace

int average(const std::string& out, const std::vector<std::string>& inputs) {
  std::vector<th::BundleReader> readers;
  for (const std::string& input : inputs) readers.push_back(th::load_checkpoint(input));
  th::BundleWriter writer(out);
  std::size_t averaged = 0;
  const std::set<std::string> names = names_in(readers);
  for (const std::string& name : names) {
    const bool is_mean = th::is_floating(readers.back().entry(name).dtype);
    writer.add(name, is_mean ? mean_of(readers, name) : readers.back().get_tensor(name));
    averaged += is_mean ? 1 : 0;
  }
  writer.finish();
  fmt::print("{}: {} with the mean of {}, {} from {}\n", out, counted(averaged, "tensor"),
             counted(readers.size(), "checkpoint"), names.size() - averaged, readers.back().prefix());
  return kFine;
}
