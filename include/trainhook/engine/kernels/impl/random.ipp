// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of random.hpp.
#pragma once

#include <trainhook/engine/kernels/random.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>

#include <trainhook/core/random.hpp>
#include <trainhook/engine/kernels/dispatch.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// The generator of one node; saved as three integers: seed, stream and position.
class GeneratorState final : public NodeState {
 public:
  GeneratorState(const Node& node, std::uint64_t session_seed)
      : name_("_trainhook/random/" + node.name()), generator_(initial(node, session_seed)) {}

  [[nodiscard]] std::optional<StateSpec> spec() const override {
    return StateSpec{.name = name_, .kind = StateKind::Auxiliary, .dtype = DType::Int64, .shape = Shape{3}};
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

  /// Draws with the generator to itself; numbers of one run come from one stretch of the stream.
  template <class Draw>
  void draw(const Draw& draw) {
    const std::scoped_lock lock(mutex_);
    draw(generator_);
  }

 private:
  static PhiloxState initial(const Node& node, std::uint64_t session_seed) {
    const std::int64_t seed = node.attr<std::int64_t>("seed");
    const std::int64_t seed2 = node.attr<std::int64_t>("seed2");
    if (seed != 0 || seed2 != 0) return {static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(seed2), 0};
    if (session_seed != 0) return {derive_seed(session_seed, node.id()), 0, 0};
    std::random_device device;
    return {static_cast<std::uint64_t>(device()) << 32U | device(), 0, 0};
  }

  std::string name_;
  std::mutex mutex_;
  PhiloxGenerator generator_;
};

inline std::unique_ptr<NodeState> make_generator(const Node& node, std::uint64_t session_seed) {
  return std::make_unique<GeneratorState>(node, session_seed);
}

struct Uniform {
  template <class T>
  static void fill(PhiloxGenerator& generator, std::span<T> values) {
    generator.fill_uniform(values);
  }
};
struct Normal {
  template <class T>
  static void fill(PhiloxGenerator& generator, std::span<T> values) {
    generator.fill_normal(values);
  }
};
struct TruncatedNormal {
  template <class T>
  static void fill(PhiloxGenerator& generator, std::span<T> values) {
    generator.fill_truncated_normal(values);
  }
};

template <class Distribution>
Kernel make_random(const Node& node) {
  return kernel_for(FloatingTypes{}, node, "dtype", []<class T>() {
    return Kernel(+[](KernelContext& context) {
      const std::span<T> values = context.output<T>(0, shape_of_ints(ints_of(context.input(0))));
      context.state<GeneratorState>().draw(
          [&](PhiloxGenerator& generator) { Distribution::template fill<T>(generator, values); });
    });
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

inline constexpr std::array kRandom{
    KernelDef{.type = "RandomUniform", .make = make_random<Uniform>, .stateful = true, .make_state = make_generator},
    KernelDef{
        .type = "RandomStandardNormal", .make = make_random<Normal>, .stateful = true, .make_state = make_generator},
    KernelDef{.type = "TruncatedNormal",
              .make = make_random<TruncatedNormal>,
              .stateful = true,
              .make_state = make_generator},
    KernelDef{
        .type = "RandomUniformInt", .make = make_random_uniform_int, .stateful = true, .make_state = make_generator},
};

}  // namespace detail

TRAINHOOK_DECL KernelGroup random() noexcept { return detail::kRandom; }

}  // namespace trainhook::kernels
