// SPDX-License-Identifier: Apache-2.0
/// @file
/// LoopState: what a LoopSession saves and loads without functions, containers and structs among it.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/loop/state_binding.hpp>
#include <trainhook/loop/state_form.hpp>

namespace trainhook {

namespace detail {

/// Whether a StateArchive takes a `T`.
template <class T>
[[nodiscard]] constexpr bool is_archived() {
  if constexpr (VisitedState<T> || StreamedState<T> || TensorElement<T> || RawState<T>) {
    return true;
  } else if constexpr (FilledContainer<T>) {
    if constexpr (std::same_as<ItemOf<T>, T>) {  // a container of itself
      return false;
    } else {
      return std::semiregular<ItemOf<T>> && is_archived<ItemOf<T>>();
    }
  } else if constexpr (OptionalValue<T>) {
    return is_archived<typename T::value_type>();
  } else if constexpr (TupleLike<T>) {
    return []<std::size_t... Part>(std::index_sequence<Part...>) {
      return (is_archived<std::tuple_element_t<Part, T>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    return false;
  }
}

}  // namespace detail

/// State that a LoopSession can save and load without functions.
template <class T>
concept LoopState = !std::is_const_v<T> && detail::is_archived<T>();

namespace detail {

/// Writes objects as bytes, or reads them: strings and containers after their size, optional values after a bool. It is
/// the visitor of structs, too. @throws DataLossError if the bytes are not those of the object's type.
struct StateArchive {
  const std::string& name;         ///< of the state
  std::string* written = nullptr;  ///< null: objects are read
  std::string_view* to_read = nullptr;
  int depth = 0;

  template <class T>
  void operator()(std::string_view member, T& object) const {
    static_assert(is_archived<T>(),
                  "visit_state passes a member that is no state: leave it out, or write a visit_state for its type");
    if constexpr (VisitedState<T>) {
      const StateArchive inner = deeper();
      visit_state(inner, object);
    } else if constexpr (std::same_as<T, std::string>) {
      object.resize(size(object.size()));
      bytes(object.data(), object.size());
    } else if constexpr (StreamedState<T>) {
      std::string text = written != nullptr ? text_of(save_streamed(name, object)) : std::string();
      (*this)(member, text);
      if (written == nullptr) object = load_streamed(name, object, text);
    } else if constexpr (FilledContainer<T>) {
      const std::uint64_t count = size(object.size());
      const auto pass = [&](ItemOf<T> item) {  // a copy, because keys are constant, and bits are no objects
        (*this)(member, item);
        return item;
      };
      if (written != nullptr) {
        for (const auto& item : object) (void)pass(item);
      } else {
        std::uint64_t i = 0;
        if constexpr (requires { object.front() = ItemOf<T>(), object.erase(object.begin(), object.end()); } &&
                      std::is_lvalue_reference_v<decltype(*object.begin())>) {  // members that are no state stay
          auto item = object.begin();
          for (; i < count && item != object.end(); ++i, ++item) (*this)(member, *item);
          object.erase(item, object.end());
        } else {
          object.clear();
        }
        for (; i < count; ++i) object.insert(object.end(), pass(ItemOf<T>()));
        demand(object.size() == count);  // a key may be there twice
      }
    } else if constexpr (OptionalValue<T>) {
      bool has_value = object.has_value();
      (*this)(member, has_value);
      if (!has_value) return object.reset();
      if (!object.has_value()) object.emplace();
      (*this)(member, *object);
    } else if constexpr (TupleLike<T>) {
      std::apply([&](auto&... part) { ((*this)(member, part), ...); }, object);
    } else if constexpr (std::same_as<T, bool>) {
      std::uint8_t byte{object};
      bytes(&byte, 1);
      demand(byte <= 1);
      object = byte == 1;
    } else {
      bytes(&object, sizeof(T));
    }
  }

  TRAINHOOK_DECL void demand(bool what_is_written) const;

 private:
  [[nodiscard]] TRAINHOOK_DECL StateArchive deeper() const;
  [[nodiscard]] TRAINHOOK_DECL std::size_t size(std::size_t own) const;
  TRAINHOOK_DECL void bytes(void* object, std::size_t size) const;
};

/// @throws DataLossError if `read` does not consume all bytes. What `read` throws is passed on.
TRAINHOOK_DECL void read_archive(const std::string& name, std::string_view bytes,
                                 FunctionRef<void(const StateArchive&)> read);

/// Whether two keys have the same bits, as far as their type shows.
template <class Key>
[[nodiscard]] bool is_same_key(const Key& a, const Key& b) {
  if constexpr (std::same_as<Key, std::string>) {
    return a == b;
  } else {
    return RawState<Key> && std::memcmp(&a, &b, sizeof(Key)) == 0;
  }
}

/// A container whose items can be set where they are.
template <class T>
concept PlacedItems = FilledContainer<T> && !VisitedState<T> && !StreamedState<T> &&
                      (
                          requires { typename T::mapped_type; } || !requires { typename T::key_type; });

/// Whether there are as many items, with the same keys.
template <PlacedItems T>
[[nodiscard]] bool has_same_places(const T& object, const T& loaded) {
  if constexpr (requires { typename T::mapped_type; }) {
    return std::ranges::equal(object, loaded,
                              [](const auto& a, const auto& b) { return is_same_key(a.first, b.first); });
  } else {
    return object.size() == loaded.size();
  }
}

/// Sets the object in place: what has a place in both keeps its address.
template <class T>
void set_in_place(T& object, T& loaded) {
  if constexpr (PlacedItems<T>) {
    if (!has_same_places(object, loaded)) return void(object = std::move(loaded));
    auto from = loaded.begin();
    for (auto&& item : object) {
      if constexpr (requires { typename T::mapped_type; }) {
        set_in_place(item.second, from->second);
      } else if constexpr (requires { set_in_place(item, *from); }) {
        set_in_place(item, *from);
      } else {
        item = *from;  // of std::vector<bool>
      }
      ++from;
    }
  } else if constexpr (OptionalValue<T> && !RawState<T>) {
    if (!object.has_value() || !loaded.has_value()) return void(object = std::move(loaded));
    set_in_place(*object, *loaded);
  } else if constexpr (TupleLike<T> && !RawState<T>) {
    [&]<std::size_t... Part>(std::index_sequence<Part...>) {
      (set_in_place(std::get<Part>(object), std::get<Part>(loaded)), ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else {
    object = std::move(loaded);
  }
}

/// A function that sets the object.
template <class T>
[[nodiscard]] std::function<void()> set_to(T& object, T loaded) {
  return [&object, loaded = std::move(loaded)]() mutable { set_in_place(object, loaded); };
}

template <LoopState T>
[[nodiscard]] StateBinding state_of(std::string name, T& object) {
  StateBinding binding{.name = name, .dtype = DType::String, .shape = Shape{}, .is_generator = RandomGenerator<T>};
  if constexpr (StreamedState<T>) {
    binding.shape = PartialShape();
    binding.save = [name, form = form_of<T>(), &object] {
      return text_with_form(form, text_of(save_streamed(name, object)));
    };
    binding.prepare = [name, form = form_of<T>(), &object](const Tensor& value) {
      return set_to(object, load_streamed(name, object, text_of_form(name, form, value)));
    };
  } else if constexpr (TensorElement<T>) {
    binding.dtype = dtype_of<T>;
    binding.save = [&object] { return Tensor(object); };
    binding.prepare = [&object](const Tensor& value) { return set_to(object, value.scalar<T>()); };
  } else if constexpr (RawState<T>) {
    binding.dtype = DType::UInt8;
    binding.shape = PartialShape();
    binding.save = [form = form_of<T>(), &object] {
      return bytes_with_form(form, std::as_bytes(std::span(&object, 1)));
    };
    binding.prepare = [name, form = form_of<T>(), &object](const Tensor& value) -> std::function<void()> {
      const std::span<const std::byte> bytes = bytes_of_form(name, form, sizeof(T), value);
      return [&object, value, bytes] { std::memcpy(static_cast<void*>(&object), bytes.data(), sizeof(T)); };
    };
  } else if constexpr (ElementContainer<T>) {
    using Element = ItemOf<T>;
    binding.dtype = dtype_of<Element>;
    binding.shape = PartialShape{kUnknownDim};
    binding.save = [&object] {
      Tensor saved = Tensor::uninitialized(dtype_of<Element>, Shape{static_cast<std::int64_t>(object.size())});
      std::copy(object.begin(), object.end(), saved.overwrite_data<Element>().begin());
      return saved;
    };
    binding.prepare = [name, &object](const Tensor& value) {
      T loaded = object;
      loaded.clear();
      for (const Element& element : value.data<Element>()) loaded.insert(loaded.end(), element);
      StateArchive{.name = name}.demand(loaded.size() ==
                                        value.data<Element>().size());  // of a set, not if one is twice
      return set_to(object, std::move(loaded));
    };
  } else {
    if constexpr (FilledContainer<T>) binding.is_generator = RandomGenerator<ItemOf<T>>;
    binding.shape = PartialShape();
    binding.save = [name, form = form_of<T>(), &object] {
      std::string text;
      call_of_user("visit_state of state", name, [&] { StateArchive{.name = name, .written = &text}(name, object); });
      return text_with_form(form, text);
    };
    binding.prepare = [name, form = form_of<T>(), &object](const Tensor& value) {
      T loaded = object;
      read_archive(name, text_of_form(name, form, value), [&](const StateArchive& archive) { archive(name, loaded); });
      return set_to(object, std::move(loaded));
    };
  }
  return binding;
}

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/loop/impl/loop_state.ipp>
#endif
