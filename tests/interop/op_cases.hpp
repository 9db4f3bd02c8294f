// SPDX-License-Identifier: Apache-2.0
/// @file
/// A case for each op type: a small graph around it, for every dtype, with random inputs.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/compat/ops.hpp>
#include <trainhook/model.hpp>
#include <trainhook/trainhook.hpp>

namespace op_cases {

namespace th = trainhook;

/// How the results of a case are compared.
enum class Mode {
  Values,      ///< the same numbers in one run
  Steps,       ///< the same numbers when `init` and then each output is run by itself
  Drawn,       ///< random numbers: dtype, shape and distribution
  Summary,     ///< serialized summaries
  ImportOnly,  ///< TensorFlow takes the graph
};

/// The graph of a case while it is built.
class Case {
 public:
  Case(th::Graph& in_graph, th::DType of_dtype, std::mt19937_64& random)
      : graph(in_graph), dtype(of_dtype), random_(random) {}

  /// A placeholder of the case's dtype, fed with random values from [low, high]; integers are rounded.
  th::Output in(const th::Shape& shape, double low = -2, double high = 2) { return in_as(dtype, shape, low, high); }
  th::Output in_as(th::DType type, const th::Shape& shape, double low = -2, double high = 2) {
    const th::Output x = th::placeholder(graph, type, shape, "in");
    feeds.push_back({x, random_tensor(type, shape, low, high)});
    return x;
  }
  /// The same with some NaNs, infinities and zeros, and numbers that are, or nearly are, too small for a full mantissa.
  th::Output extreme(const th::Shape& shape, double low = -2, double high = 2) {
    const th::Output x = in(shape, low, high);
    is_smooth = false;
    const auto strew = [&]<class T>(std::span<T> elements) {
      using Limits = std::numeric_limits<T>;
      const T least = (Limits::min)();
      const std::array<T, 10> extremes{
          Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), 0,        least, -least,
          least / 2,           -least / 2,         least * T{1.5},      least * 3};
      for (T& element : elements) {
        if (random_() % 4 == 0) element = extremes[random_() % extremes.size()];
      }
    };
    if (dtype == th::DType::Float) strew(feeds.back().value.mutable_data<float>());
    if (dtype == th::DType::Double) strew(feeds.back().value.mutable_data<double>());
    return x;
  }
  void out(th::Output output) { outputs.push_back(output); }
  void out(const std::vector<th::Output>& several) { outputs.insert(outputs.end(), several.begin(), several.end()); }

  /// A node as its op type's definition has it, for ops without a builder.
  std::vector<th::Output> raw(std::string_view type, std::vector<th::Output> inputs, th::Attrs attrs) {
    const th::Operation op =
        graph.add(*th::find_op_def(type), {.inputs = std::move(inputs), .attrs = std::move(attrs)});
    const std::size_t count = op.node().outputs().size();
    std::vector<th::Output> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(op.output(i));
    return result;
  }
  th::Output ints(const std::vector<std::int64_t>& values) { return th::detail::constant_ints(graph, values, "ints"); }

  /// A variable whose initial value is random.
  th::Variable variable(const th::Shape& shape, double low = -2, double high = 2) {
    const th::Output value = th::constant(graph, random_tensor(dtype, shape, low, high), "initial");
    return th::make_variable("v", value);
  }

  th::Tensor random_tensor(th::DType type, const th::Shape& shape, double low, double high) {
    th::Tensor tensor(type, shape);
    const auto fill = [&]<class T>(T, const auto& convert) {
      std::uniform_real_distribution<double> draw(low, high);
      for (T& element : tensor.overwrite_data<T>()) element = convert(draw(random_));
    };
    const auto round = [&]<class T>(T zero) {
      const bool is_signed = std::is_signed_v<T>;
      fill(zero, [&](double x) { return static_cast<T>(std::lround(is_signed || x >= 0 ? x : -x)); });
    };
    switch (type) {
      case th::DType::Float: fill(float{}, [](double x) { return static_cast<float>(x); }); break;
      case th::DType::Double: fill(double{}, [](double x) { return x; }); break;
      case th::DType::Int8: round(std::int8_t{}); break;
      case th::DType::Int16: round(std::int16_t{}); break;
      case th::DType::Int32: round(std::int32_t{}); break;
      case th::DType::Int64: round(std::int64_t{}); break;
      case th::DType::UInt8: round(std::uint8_t{}); break;
      case th::DType::UInt16: round(std::uint16_t{}); break;
      case th::DType::UInt32: round(std::uint32_t{}); break;
      case th::DType::UInt64: round(std::uint64_t{}); break;
      case th::DType::Bool: fill(bool{}, [&](double x) { return x > (low + high) / 2; }); break;
      case th::DType::String: fill(std::string{}, [](double x) { return fmt::format("s{}", std::lround(x)); }); break;
      case th::DType::Complex64:
        fill(std::complex<float>{}, [&](double x) { return std::complex<float>(static_cast<float>(x), 1.5F); });
        break;
      case th::DType::Complex128:
        fill(std::complex<double>{}, [&](double x) { return std::complex<double>(x, 1.5); });
        break;
      case th::DType::BFloat16:
      case th::DType::Half: {  // small powers of two, whose bits are easy to write
        const std::uint16_t one = type == th::DType::Half ? 0x3c00 : 0x3f80;
        const int shift = type == th::DType::Half ? 10 : 7;
        const auto bits = [&](double x) {
          return static_cast<std::uint16_t>(one + (std::lround(std::abs(x)) % 3 << shift));
        };
        if (type == th::DType::Half) {
          fill(th::Half{}, [&](double x) { return th::Half{bits(x)}; });
        } else {
          fill(th::BFloat16{}, [&](double x) { return th::BFloat16{bits(x)}; });
        }
        break;
      }
      case th::DType::Invalid: break;
    }
    return tensor;
  }

  th::Graph& graph;
  th::DType dtype;
  std::vector<th::Feed> feeds{};
  std::vector<th::Output> outputs{};
  th::Operation init{};
  bool is_smooth = true;  ///< else finite differences say nothing

 private:
  std::mt19937_64& random_;
};

/// The case of one op type.
struct CaseDef {
  std::string op{};
  std::function<void(Case&)> build{};
  Mode mode = Mode::Values;
  bool every_dtype = true;  ///< else float32, for dtypes that the op fixes itself
};

/// Adds what ops make of NaN, infinities, and numbers that are too small for a full mantissa.
void add_extremes(std::vector<CaseDef>& cases);

/// Adds the ops of variables, generators, iterators, queues and summaries.
void add_stateful_ops(std::vector<CaseDef>& cases);

/// Adds the ops that imported models use.
void add_model_ops(std::vector<CaseDef>& cases);

/// Adds the ops that the models of tutorials/ need.
void add_tutorial_ops(std::vector<CaseDef>& cases);

/// All cases, one or more for each op type.
std::vector<CaseDef> all_cases();

}  // namespace op_cases
