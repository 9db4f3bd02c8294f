// SPDX-License-Identifier: Apache-2.0
/// @file
/// StateForm: what the type of a state shows of itself, which is saved beside the bytes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/loop/aggregate_members.hpp>
#include <trainhook/loop/state_binding.hpp>

namespace trainhook::detail {

/// Shows whether there is a `visit_state`.
struct AnyVisitor {
  template <class Member>
  void operator()(std::string_view /*name*/, Member& /*member*/) const {}
};

/// A struct with a function `visit_state(visit, object)` beside it, which calls `visit("name", member)` for each member
/// that is state: always for the same ones, in the same order.
template <class T>
concept VisitedState = requires(T& object, const AnyVisitor& visit) { visit_state(visit, object); };

template <class T, class Owner>
[[nodiscard]] std::type_identity<Owner> owner_of(T Owner::* /*member*/) {
  return {};
}
template <class T, class Owner>
[[nodiscard]] constexpr bool adds_members_to(std::type_identity<Owner> /*owner*/) {
  return !standard_name<Owner>().empty() && sizeof(T) != sizeof(Owner);
}

/// Whether a class derives from a container or optional of the standard library, and has members of its own, which
/// would be lost.
template <class T>
[[nodiscard]] constexpr bool adds_members() {
  if constexpr (requires { owner_of(&T::max_size); }) return adds_members_to<T>(decltype(owner_of(&T::max_size))());
  if constexpr (requires { owner_of(&T::has_value); }) return adds_members_to<T>(decltype(owner_of(&T::has_value))());
  return false;
}

/// A container that is filled from its beginning to its end. An unordered one might iterate in another order then.
template <class T>
concept FilledContainer = requires(T& container) {
  container.size();
  container.clear();
  container.insert(container.end(), *container.begin());
} && !requires { typename T::hasher; } && !adds_members<T>();

template <class T>
struct ItemType {
  using Type = typename T::value_type;
};
template <class T>
  requires requires { typename T::mapped_type; }
struct ItemType<T> {
  using Type = std::pair<typename T::key_type, typename T::mapped_type>;
};
/// What a container holds; for a map a pair whose key can be changed.
template <FilledContainer T>
using ItemOf = typename ItemType<T>::Type;

/// A container whose elements become a tensor.
template <class T>
concept ElementContainer = FilledContainer<T> && TensorElement<ItemOf<T>>;

template <class T>
concept OptionalValue = requires(T& object) {
  object.has_value();
  object.reset();
  object.emplace();
  object.emplace(*object);
} && !adds_members<T>();

template <class T>
concept TupleLike = requires(T& object) {
  std::tuple_size<T>::value;
  std::get<0>(object);
};

/// Whether an array, optional or tuple holds structs with a `visit_state`: then its bytes are not its state.
template <class T>
[[nodiscard]] constexpr bool has_visited_parts() {
  if constexpr (VisitedState<T>) {
    return true;
  } else if constexpr (std::is_array_v<T>) {
    return has_visited_parts<std::remove_extent_t<T>>();
  } else if constexpr (OptionalValue<T>) {
    return has_visited_parts<typename T::value_type>();
  } else if constexpr (TupleLike<T>) {
    return []<std::size_t... Part>(std::index_sequence<Part...>) {
      return (has_visited_parts<std::tuple_element_t<Part, T>>() || ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    return false;
  }
}

/// An object whose bytes are its state.
template <class T>
concept RawState = PlainState<T> && !has_visited_parts<T>();

template <class T>
inline constexpr char kTypeMark = 0;

/// Writes the kinds and sizes of what a type holds, in order: `[(string, float64)]` of a map from strings to doubles,
/// `{heat: float64, marks: [bool]}` of a struct with a visit_state, `{float32, int32} in 8 bytes` of another one.
/// It is the same with all compilers and standard libraries. It is the visitor of structs, too.
struct StateForm {
  std::string& text;
  const StateForm* outer = nullptr;  ///< of the struct around this one
  const char* type = nullptr;        ///< the mark of the struct

  template <class Member>
  void operator()(std::string_view name, Member& /*member*/) const {
    text.append(name).append(": ");
    item<Member>();
  }

  template <class T>
  void of() const {
    if constexpr (VisitedState<T>) {
      visited<T>();
    } else if constexpr (TensorElement<T>) {
      text += dtype_name(dtype_of<T>);
    } else if constexpr (StreamedState<T>) {
      streamed<T>();
    } else if constexpr (std::is_array_v<T>) {
      array<std::remove_extent_t<T>>(std::extent_v<T>);
    } else if constexpr (TupleLike<T> && requires { typename T::value_type; }) {
      array<typename T::value_type>(std::tuple_size_v<T>);
    } else if constexpr (FilledContainer<T>) {
      array<ItemOf<T>>(0);
    } else if constexpr (OptionalValue<T>) {
      text += "optional ";
      of<typename T::value_type>();
    } else if constexpr (TupleLike<T>) {
      text += '(';
      [this]<std::size_t... Part>(std::index_sequence<Part...>) {
        (this->template item<std::tuple_element_t<Part, T>>(), ...);
      }(std::make_index_sequence<std::tuple_size_v<T>>());
      close(')');
    } else {
      plain<T>();
    }
  }

 private:
  template <class T>
  void plain() const {
    if constexpr (std::is_enum_v<T>) {
      of<std::underlying_type_t<T>>();
    } else if constexpr (std::same_as<T, char>) {  // has a sign on some processors
      text += "char";
    } else if constexpr (std::is_arithmetic_v<T>) {
      number(std::is_floating_point_v<T> ? "float" : std::is_signed_v<T> ? "int" : "uint", sizeof(T));
    } else if constexpr (VariantValue<T>) {
      text += "variant ";
      listed_in(std::type_identity<T>());
    } else if constexpr (requires {
                           typename T::rep;
                           T::period::num;
                         }) {  // of std::chrono
      constants(requires { typename T::clock; } ? "time" : "duration", {T::period::num, T::period::den});
      part<typename T::rep>();
    } else if constexpr (std::is_aggregate_v<T> && !std::same_as<MembersOf<T>, MemberList<>>) {
      listed_in(std::type_identity<MembersOf<T>>());
      in_bytes(sizeof(T), 0);
    } else {
      text += "object";
      in_bytes(sizeof(T), alignof(T));
    }
  }

  template <class T>
  void visited() const {
    for (const StateForm* around = this; around != nullptr; around = around->outer) {
      if (around->type == &kTypeMark<T>) return (void)text.append("{...}");  // a struct of itself
    }
    text += '{';
    if constexpr (std::default_initializable<T>) {
      try {
        T object{};
        visit_state(StateForm{text, this, &kTypeMark<T>}, object);
      } catch (...) {}  // it refuses an empty object: what it has shown until then is its form
    }
    close('}');
  }

  template <class T>
  void streamed() const {
    const std::string_view name = standard_name<T>().empty() ? "text" : standard_name<T>();
    if constexpr (LinearCongruentialEngine<T>) {
      constants(name, {T::multiplier, T::increment, T::modulus});
    } else if constexpr (RandomGenerator<T>) {
      constants(name, {static_cast<std::uint64_t>((T::max)())});
      if constexpr (EngineAdaptor<T>) part<std::remove_cvref_t<decltype(std::declval<const T&>().base())>>();
    } else {
      text += name;
      part<typename T::result_type>();
    }
  }

  template <class Part>
  void part() const {
    text += " of ";
    of<Part>();
  }

  template <class Item>
  void item() const {
    of<std::remove_cv_t<Item>>();
    text += ", ";
  }

  template <template <class...> class List, class... Item>
  void listed_in(std::type_identity<List<Item...>> /*types*/) const {
    text += '{';
    (item<Item>(), ...);
    close('}');
  }

  template <class Item>
  void array(std::size_t size) const {
    text += '[';
    of<Item>();
    end_of_array(size);
  }

  TRAINHOOK_DECL void close(char bracket) const;
  TRAINHOOK_DECL void end_of_array(std::size_t size) const;
  TRAINHOOK_DECL void number(std::string_view kind, std::size_t size) const;
  TRAINHOOK_DECL void in_bytes(std::size_t size, std::size_t alignment) const;
  TRAINHOOK_DECL void constants(std::string_view name, std::initializer_list<std::uint64_t> values) const;
};

template <class T>
[[nodiscard]] std::string form_of() {
  std::string text;
  StateForm{text}.of<T>();
  return text;
}

/// The value of a state in a checkpoint: one row with the form of its type, and a text.
[[nodiscard]] TRAINHOOK_DECL Tensor text_with_form(const std::string& form, std::string_view text);
/// The same with the bytes of an object: one row of bytes, with a zero between form and object.
[[nodiscard]] TRAINHOOK_DECL Tensor bytes_with_form(const std::string& form, std::span<const std::byte> object);

/// What these saved. The value of a version before 0.3 has no form.
/// @throws InvalidArgumentError with both forms if the value has another one.
[[nodiscard]] TRAINHOOK_DECL const std::string& text_of_form(const std::string& name, const std::string& form,
                                                             const Tensor& value);
[[nodiscard]] TRAINHOOK_DECL std::span<const std::byte> bytes_of_form(const std::string& name, const std::string& form,
                                                                      std::size_t size, const Tensor& value);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/loop/impl/state_form.ipp>
#endif
