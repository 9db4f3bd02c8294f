// SPDX-License-Identifier: Apache-2.0
/// @file
/// Kernels of random ops, with counter-based generators whose positions are part of the session's state.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>

#include <trainhook/core/random.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>
#include <trainhook/io/random_number.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// The generator of one node; saved as three integers: seed, stream and position. In a job, they are the same on all
/// ranks, except for ops that redraw rejected numbers; the rank only decides which numbers are drawn.
class GeneratorState final : public NodeState {
 public:
  GeneratorState(const Node& node, std::uint64_t session_seed)
      : name_("_trainhook/random/" + node.name()), generator_(initial(node, session_seed)) {}

  [[nodiscard]] std::optional<StateSpec> spec() const override {
    return StateSpec{
        .name = name_, .kind = StateKind::Auxiliary, .dtype = DType::Int64, .shape = Shape{3}, .is_generator = true};
  }
  [[nodiscard]] Tensor save() override {
    const std::scoped_lock lock(mutex_);
    const PhiloxState& state = generator_.state();
    return Tensor::of<std::int64_t>({static_cast<std::int64_t>(state.seed), static_cast<std::int64_t>(state.stream),
                                     static_cast<std::int64_t>(state.position)});
  }
  [[nodiscard]] std::function<void()> prepare_load(const Tensor& value) override {
    if (value.dtype() != DType::Int64 || value.shape() != Shape{3})
      throw InvalidArgumentError("'{}' is int64[3] and cannot take {}", name_, value);
    const std::span<const std::int64_t> words = value.data<std::int64_t>();
    const PhiloxState state{static_cast<std::uint64_t>(words[0]), static_cast<std::uint64_t>(words[1]),
                            static_cast<std::uint64_t>(words[2])};
    return [this, state] {
      const std::scoped_lock lock(mutex_);
      generator_.set_state(state);
    };
  }

  void draw_share(int number, int count) override {
    const std::scoped_lock lock(mutex_);
    share_ = static_cast<std::uint64_t>(number);
    num_shares_ = static_cast<std::uint64_t>(count);
  }

  /// Calls `draw` with the generator locked, so that numbers of one run are contiguous in the stream. Each rank has its
  /// own streams.
  template <class Draw>
  void draw(const Draw& draw) {
    const std::scoped_lock lock(mutex_);
    if (share_ == 0) return draw(generator_);
    const PhiloxState start = generator_.state();
    PhiloxGenerator own({derive_seed(start.seed, share_), start.stream, start.position});
    draw(own);
    generator_.discard(own.state().position - start.position);
  }

  /// Fills `values` with this rank's part of the numbers that one process would draw for all ranks, if all have as many
  /// rows.
  template <class Distribution, class T>
  void draw_rows(std::span<T> values) {
    const std::scoped_lock lock(mutex_);
    const PhiloxState start = generator_.state();
    Distribution::fill(generator_, values, share_ * values.size());
    const std::uint64_t words = Distribution::template words<T>(num_shares_ * values.size());
    generator_.set_state({start.seed, start.stream, start.position + words});
  }

 private:
  static PhiloxState initial(const Node& node, std::uint64_t session_seed) {
    const std::int64_t seed = node.attr<std::int64_t>("seed");
    const std::int64_t seed2 = node.attr<std::int64_t>("seed2");
    if (seed != 0 || seed2 != 0) return {static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(seed2), 0};
    if (session_seed != 0) return {derive_seed(session_seed, node.id()), 0, 0};
    return {random_number(), 0, 0};
  }

  std::string name_;
  std::mutex mutex_;
  PhiloxGenerator generator_;
  std::uint64_t share_ = 0;
  std::uint64_t num_shares_ = 1;
};

inline std::unique_ptr<NodeState> make_generator(const Node& node, std::uint64_t session_seed) {
  return std::make_unique<GeneratorState>(node, session_seed);
}

// `words<T>(n)` returns how many 32-bit words n numbers take. `fill` draws the numbers after the first `skipped` ones.
struct Uniform {
  template <class T>
  static constexpr std::uint64_t words(std::uint64_t numbers) {
    return numbers * (sizeof(T) / sizeof(std::uint32_t));
  }
  template <class T>
  static void fill(PhiloxGenerator& generator, std::span<T> values, std::uint64_t skipped) {
    generator.discard(words<T>(skipped));
    generator.fill_uniform(values);
  }
};
struct Normal {
  template <class T>
  static constexpr std::uint64_t words(std::uint64_t numbers) {
    return Uniform::words<T>(numbers + numbers % 2);  // they are drawn in pairs
  }
  template <class T>
  static void fill(PhiloxGenerator& generator, std::span<T> values, std::uint64_t skipped) {
    generator.discard(words<T>(skipped - skipped % 2));
    if (skipped % 2 == 1 && !values.empty()) {
      std::array<T, 2> pair{};
      generator.fill_normal(std::span<T>(pair));
      values.front() = pair[1];
      values = values.subspan(1);
    }
    generator.fill_normal(values);
  }
};

template <class Draw>
Kernel make_random(const Node& node, const Draw& draw) {
  return kernel_for(FloatingTypes{}, node, "dtype", [&draw]<class T>() {
    return Kernel([draw](KernelContext& context) {
      draw(context.state<GeneratorState>(), context.output<T>(0, shape_of_ints(ints_of(context.input(0)))));
    });
  });
}

template <class Distribution>
Kernel make_random_rows(const Node& node) {
  return make_random(
      node, []<class T>(GeneratorState& state, std::span<T> values) { state.draw_rows<Distribution>(values); });
}

// The number of words depends on the numbers drawn, so a rank cannot know where its rows would begin.
inline Kernel make_truncated_normal(const Node& node) {
  return make_random(node, []<class T>(GeneratorState& state, std::span<T> values) {
    state.draw([values](PhiloxGenerator& generator) { generator.fill_truncated_normal(values); });
  });
}

inline Kernel make_random_uniform_int(const Node& node) {
  return kernel_for(IndexTypes{}, node, "Tout", []<class T>() {
    return Kernel(+[](KernelContext& context) {
      const T low = context.input(1).scalar<T>();
      const T high = context.input(2).scalar<T>();
      if (low >= high) throw InvalidArgumentError("Need minval < maxval, got {} >= {}", low, high);
      const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
      const std::span<T> values = context.output<T>(0, shape_of_ints(ints_of(context.input(0))));
      context.state<GeneratorState>().draw([&](PhiloxGenerator& generator) {
        for (T& value : values)
          value = static_cast<T>(static_cast<std::uint64_t>(low) + generator.uniform_below(range));
      });
    });
  });
}

/// The log-uniform distribution over [0, range). Source: TensorFlow's `LogUniformSampler`.
class LogUniform {
 public:
  explicit LogUniform(std::int64_t range) : range_(range), log_range_(std::log1p(static_cast<double>(range))) {}

  [[nodiscard]] std::int64_t draw(PhiloxGenerator& generator) const {
    const auto value = static_cast<std::int64_t>(std::exp(generator.uniform_double() * log_range_)) - 1;
    return value % range_;  // rounding may give the range itself
  }
  [[nodiscard]] double probability(std::int64_t value) const {
    const auto x = static_cast<double>(value);
    return std::log((x + 2) / (x + 1)) / log_range_;
  }

 private:
  std::int64_t range_;
  double log_range_;
};

/// Fills `values`, with distinct ones if `unique`, and returns the number of draws.
inline std::int64_t draw_candidates(const LogUniform& distribution, bool unique, PhiloxGenerator& generator,
                                    std::span<std::int64_t> values) {
  std::unordered_set<std::int64_t> seen;
  std::int64_t draws = 0;
  for (std::int64_t& value : values) {
    do {
      value = distribution.draw(generator);
      ++draws;
    } while (unique && !seen.insert(value).second);
  }
  return draws;
}

inline Kernel make_log_uniform_candidate_sampler(const Node& node) {
  const auto range = node.attr<std::int64_t>("range_max");
  const auto num_true = node.attr<std::int64_t>("num_true");
  const auto num_sampled = node.attr<std::int64_t>("num_sampled");
  const bool unique = node.attr<bool>("unique");
  if (unique && num_sampled > range) {
    throw InvalidArgumentError("{}: Sampler's range is too small: {} different candidates of {}", node.name(),
                               num_sampled, range);
  }
  return [=, distribution = LogUniform(range)](KernelContext& context) {
    const std::span<const std::int64_t> classes = context.data<std::int64_t>(0);
    if (context.shape(0).rank() != 2 || context.shape(0)[1] != num_true)
      throw InvalidArgumentError("true_classes is {}; it must have {} columns", context.shape(0), num_true);
    for (const std::int64_t value : classes) {
      if (value < 0 || value >= range) throw InvalidArgumentError("true class {} is not in [0, {})", value, range);
    }
    const std::span<std::int64_t> sampled = context.output<std::int64_t>(0, Shape{num_sampled});
    std::int64_t draws = 0;
    context.state<GeneratorState>().draw(
        [&](PhiloxGenerator& generator) { draws = draw_candidates(distribution, unique, generator, sampled); });
    const auto expected_count = [&](std::int64_t value) {
      const double p = distribution.probability(value);
      const double count = draws == num_sampled ? p * static_cast<double>(num_sampled)
                                                : -std::expm1(static_cast<double>(draws) * std::log1p(-p));
      return static_cast<float>(count);
    };
    std::ranges::transform(classes, context.output<float>(1, context.shape(0)).begin(), expected_count);
    std::ranges::transform(sampled, context.output<float>(2, Shape{num_sampled}).begin(), expected_count);
  };
}

inline constexpr std::array kRandom{
    KernelDef{.type = "LogUniformCandidateSampler",
              .make = make_log_uniform_candidate_sampler,
              .stateful = true,
              .make_state = make_generator},
    KernelDef{
        .type = "RandomUniform", .make = make_random_rows<Uniform>, .stateful = true, .make_state = make_generator},
    KernelDef{.type = "RandomStandardNormal",
              .make = make_random_rows<Normal>,
              .stateful = true,
              .make_state = make_generator},
    KernelDef{.type = "TruncatedNormal", .make = make_truncated_normal, .stateful = true, .make_state = make_generator},
    KernelDef{
        .type = "RandomUniformInt", .make = make_random_uniform_int, .stateful = true, .make_state = make_generator},
};

}  // namespace detail

KernelGroup random() noexcept { return detail::kRandom; }

}  // namespace trainhook::kernels
