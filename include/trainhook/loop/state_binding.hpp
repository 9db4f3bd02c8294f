// SPDX-License-Identifier: Apache-2.0
/// @file
/// StateBinding: state of a LoopSession other than variables, such as generators, counters and user objects.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/loop/aggregate_members.hpp>

namespace trainhook {

struct PhiloxState;

/// Types with a `result_type` and stream operators, such as generators and distributions of `<random>`.
template <class T>
concept StreamedState = std::copyable<T> && requires(std::ostream& out, std::istream& in, const T& saved, T& loaded) {
  typename T::result_type;
  out << saved;
  in >> loaded;
};

namespace detail {

template <class T>
[[nodiscard]] constexpr bool holds_addresses();

template <class List>
inline constexpr bool kAnyHoldsAddresses = false;
template <template <class...> class List, class... Item>
inline constexpr bool kAnyHoldsAddresses<List<Item...>> = (holds_addresses<Item>() || ...);

/// One of several types, as std::variant is.
template <class T>
concept VariantValue = requires(const T& item) {
  item.index();
  item.valueless_by_exception();
};

/// Whether a value of this type is an address, or a view, an iterator, or has one of them in it as far as the type
/// shows: nothing that another process could use.
template <class T>
[[nodiscard]] constexpr bool holds_addresses() {
  using Item = std::remove_all_extents_t<T>;
  if constexpr (std::is_pointer_v<Item> || std::is_member_pointer_v<Item> || std::is_null_pointer_v<Item>) {
    return true;
  } else if constexpr (requires(const Item& item) { item.begin(); }) {  // std::array is an aggregate, views are not
    if constexpr (std::is_aggregate_v<Item>) return holds_addresses<typename Item::value_type>();
    return true;
  } else if constexpr (requires(const Item& item) { item.has_value(); }) {
    return holds_addresses<typename Item::value_type>();
  } else if constexpr (VariantValue<Item>) {
    return kAnyHoldsAddresses<Item>;
  } else {
    return kAnyHoldsAddresses<MembersOf<Item>> || requires(const Item& item) { *item; } || requires(const Item& item) {
      typename Item::type;
      item.get();
    };
  }
}

}  // namespace detail

/// Objects whose bytes are their value; no addresses, no views and no functions. Only an aggregate without a base and
/// with up to 16 members can be looked into: what members of other classes point to is not saved, and after a restart
/// they point nowhere.
template <class T>
concept PlainState = std::is_trivially_copyable_v<T> && !detail::holds_addresses<T>() && !std::is_empty_v<T> &&
                     !std::is_const_v<T> && !requires { &T::operator(); };

namespace detail {

/// A generator of random numbers, as `std::uniform_random_bit_generator` of <random>, or the state of one.
template <class T>
concept RandomGenerator = std::same_as<T, PhiloxState> || requires(T& generator) {
  typename T::result_type;
  { generator() } -> std::same_as<typename T::result_type>;
  (T::min)();
  (T::max)();
};

/// One piece of state. `prepare` checks a value of the right dtype and shape and returns a function that loads it,
/// which must not outlive the binding and must not throw unless `may_fail` is set.
struct StateBinding {
  std::string name{};
  StateKind kind = StateKind::Auxiliary;
  DType dtype = DType::Invalid;
  PartialShape shape{};
  std::function<Tensor()> save{};
  std::function<std::function<Tensor()>()> snapshot{};  // optional: see ExternalVariable
  std::function<std::function<void()>(const Tensor&)> prepare{};
  std::function<void()> reset{};  // for state that each session starts fresh; otherwise empty
  bool may_fail = false;
  bool is_generator = false;
  std::uint64_t last_load = 0;  ///< the number of the load that set its value
  std::int64_t place = 0;       ///< among all that the loop registered
};

/// The text that `write` writes, in the classic locale, as a string tensor.
/// @throws ResourceExhaustedError if the stream failed, for example because there was no memory for all of it.
[[nodiscard]] TRAINHOOK_DECL Tensor written_text(const std::string& name, FunctionRef<void(std::ostream&)> write);

/// @throws DataLossError if `read` does not consume the whole text. What `read` throws is passed on; a log line names
/// the state.
TRAINHOOK_DECL void read_text(const std::string& name, const std::string& text, FunctionRef<void(std::istream&)> read);

template <StreamedState T>
[[nodiscard]] Tensor save_streamed(const std::string& name, const T& object) {
  return written_text(name, [&object](std::ostream& out) { out << object; });
}

/// Consecutive numbers in the text of a random engine that have the same limits.
struct EngineNumbers {
  std::uint64_t count = 1;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  bool is_place = false;  ///< the index of the next word, which some standard libraries write and others do not
};

// Recognises engines and adaptors of <random>, which is expensive to include, by their constants.
template <class T>
concept LinearCongruentialEngine = requires {
  T::multiplier;
  T::increment;
  T::modulus;
};
template <class T>
concept MersenneTwisterEngine = requires {
  T::word_size;
  T::state_size;
  T::mask_bits;
  T::tempering_u;
};
template <class T>
concept SubtractWithCarryEngine = requires {
  T::word_size;
  T::short_lag;
  T::long_lag;
};
template <class T>
concept EngineAdaptor = requires(const T& adaptor) { (adaptor.base().max)(); };

/// The numbers in the text of an engine.
struct EngineText {
  std::array<EngineNumbers, 8> numbers{};
  std::size_t size = 0;

  constexpr void push_back(const EngineNumbers& some) { numbers.at(size++) = some; }
};

/// Appends the numbers in the text of a `T`; none if it is not an engine of the standard library.
template <class T>
constexpr void append_engine_numbers(EngineText& numbers) {
  if constexpr (LinearCongruentialEngine<T>) {
    numbers.push_back({.least = (T::min)(), .most = (T::max)()});
  } else if constexpr (MersenneTwisterEngine<T>) {
    numbers.push_back({.count = T::state_size, .most = (T::max)()});
    numbers.push_back({.most = T::state_size, .is_place = true});
  } else if constexpr (SubtractWithCarryEngine<T>) {
    numbers.push_back({.count = T::long_lag, .most = (T::max)()});
    numbers.push_back({.most = 1});  // the carry
    numbers.push_back({.most = T::long_lag - 1, .is_place = true});
  } else if constexpr (EngineAdaptor<T>) {
    using Base = std::remove_cvref_t<decltype(std::declval<const T&>().base())>;
    append_engine_numbers<Base>(numbers);
    if constexpr (requires { T::used_block; }) numbers.push_back({.most = T::used_block});
    if constexpr (requires { T::table_size; })
      numbers.push_back({.count = T::table_size + 1, .least = (Base::min)(), .most = (Base::max)()});
  }
}

/// Checks the text of an engine, because an engine with numbers out of their limits reads foreign memory or never
/// returns. `written` is text of the same type, which shows whether the text contains the place.
/// @throws DataLossError if a number is out of its limits.
TRAINHOOK_DECL void check_engine_text(const std::string& name, std::string_view text, std::string_view written,
                                      std::span<const EngineNumbers> numbers);

[[nodiscard]] TRAINHOOK_DECL const std::string& text_of(const Tensor& value);

template <StreamedState T>
[[nodiscard]] T load_streamed(const std::string& name, const T& like, const std::string& text) {
  T loaded = like;
  read_text(name, text, [&loaded](std::istream& in) { in >> loaded; });
  constexpr EngineText kText = [] {
    EngineText numbers;
    append_engine_numbers<T>(numbers);
    return numbers;
  }();
  if constexpr (kText.size > 0)
    check_engine_text(name, text, text_of(save_streamed(name, like)), std::span(kText.numbers).first(kText.size));
  return loaded;
}

template <class Save, class Load>
[[nodiscard]] StateBinding state_by(std::string name, Save save, Load load) {
  using Saved = std::remove_cvref_t<std::invoke_result_t<Save&>>;
  StateBinding binding{.name = name, .dtype = DType::String, .shape = Shape{}, .may_fail = true};
  if constexpr (std::same_as<Saved, Tensor>) {
    binding.save = [name, save = std::move(save)]() mutable {
      return call_of_user("the save function of state", name, save);
    };
    binding.dtype = binding.save().dtype();  // the only way to find out
    binding.shape = PartialShape();
  } else {
    binding.save = [name, save = std::move(save)]() mutable {
      return call_of_user("the save function of state", name, [&] { return Tensor(std::string_view(save())); });
    };
  }
  binding.prepare = [name, load = std::move(load)](const Tensor& value) mutable -> std::function<void()> {
    return [&name, &load, value] {
      if constexpr (std::same_as<Saved, Tensor>) {
        call_of_user("the load function of state", name, [&] { load(value); });
      } else {
        const std::string& text = text_of(value);
        call_of_user("the load function of state", name, [&] { load(text); });
      }
    };
  };
  return binding;
}

}  // namespace detail

/// A pair of functions that save and load a piece of state: `std::string()` with `void(const std::string&)`, or
/// `Tensor()` with `void(const Tensor&)`.
template <class Save, class Load>
concept StateFunctions =
    std::invocable<Save&> && (std::same_as<std::remove_cvref_t<std::invoke_result_t<Save&>>, Tensor>
                                  ? std::invocable<Load&, const Tensor&>
                                  : std::convertible_to<std::invoke_result_t<Save&>, std::string_view> &&
                                        std::invocable<Load&, const std::string&>);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/loop/impl/state_binding.ipp>
#endif
