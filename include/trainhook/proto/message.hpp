// SPDX-License-Identifier: Apache-2.0
/// @file
/// Protobuf messages as structs: one table of fields per struct is used to write it, to read it, and for its text form.
///
///     struct Point {
///       std::int32_t x = 0;
///       std::int32_t y = 0;
///     };
///     template <>
///     inline constexpr auto kFields<Point> = std::tuple(field(1, "x", &Point::x), field(2, "y", &Point::y));
///
/// The type of a member determines how its field is written:
///
/// | member                                | field                                                                  |
/// |---------------------------------------|------------------------------------------------------------------------|
/// | integer, bool, enum                   | varint; left out if it is zero                                         |
/// | `Fixed32`, float, double              | four or eight bytes; left out if it is zero                            |
/// | `std::string`, `std::string_view`     | string, bytes, or the bytes of a message; left out if it is empty      |
/// | `Serialized<M>`                       | the same, the bytes of a message M, whose text form shows its fields   |
/// | a struct with a table                 | nested message; always written                                         |
/// | `std::optional` of these              | written if it has a value, zero or not: e.g. members of a oneof        |
/// | a container with `push_back` of these | repeated; numbers are packed                                           |
/// | `std::variant` of these               | a oneof, with an `alternative<I>` for each field and monostate as first  |
///
/// Fields are written in the order of the table, which is the order of their numbers, so the bytes equal TensorFlow's.
/// A `std::string_view` member points into the bytes that were read.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <trainhook/core/coding.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

/// The names of an enum's values in the text form.
struct ValueNames {
  std::string_view (*name_of)(std::uint64_t value);  ///< empty for a value without a name, which is printed as a number
  std::optional<std::uint64_t> (*value_of)(std::string_view name);
};

/// A field of message `M`, whose value is of type `T`.
template <class M, class T>
struct Field {
  std::uint32_t number;   ///< in files: never renumber
  std::string_view name;  ///< in the text form
  T M::*member;
  const ValueNames* names;  ///< of an enum; none: its values are numbers in the text form
};

template <class M, class T>
[[nodiscard]] constexpr Field<M, T> field(std::uint32_t number, std::string_view name, T M::*member,
                                          const ValueNames* names = nullptr) {
  return {number, name, member, names};
}

/// A field that is the alternative `I` of a oneof.
template <class M, class V, std::size_t I>
struct Alternative {
  std::uint32_t number;
  std::string_view name;
  V M::*member;
  const ValueNames* names;
};

template <std::size_t I, class M, class V>
[[nodiscard]] constexpr Alternative<M, V, I> alternative(std::uint32_t number, std::string_view name, V M::*member,
                                                         const ValueNames* names = nullptr) {
  return {number, name, member, names};
}

/// The fields of message `M`, a tuple of `Field` and `Alternative`. Specialised beside each struct.
template <class M>
inline constexpr std::tuple<> kFields{};

/// The number of a member's field. Does not compile for a member that is not in the table.
template <class M, class T>
[[nodiscard]] consteval std::uint32_t field_number(T M::*member) {
  std::uint32_t number = 0;
  const auto compare = [&](const auto& field) {
    if constexpr (std::is_same_v<decltype(field.member), T M::*>) {
      if (field.member == member) number = field.number;
    }
  };
  std::apply([&](const auto&... fields) { (compare(fields), ...); }, kFields<M>);
  if (number == 0) throw "the member is not in the table";
  return number;
}

/// The value of a `fixed32` field; a `std::uint32_t` member would be a varint.
struct Fixed32 {
  std::uint32_t value = 0;
  friend bool operator==(Fixed32, Fixed32) = default;
};

/// The bytes of a message `M` that is written and read apart.
template <class M>
struct Serialized : std::string_view {
  using Message = M;
  Serialized() = default;
  explicit Serialized(std::string_view bytes) : std::string_view(bytes) {}
};

template <class T>
concept ProtoMessage = !std::is_same_v<std::remove_cvref_t<decltype(kFields<T>)>, std::tuple<>>;
template <class T>
concept ProtoNumber = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Fixed32>;
template <class T>
concept ProtoBytes = std::is_same_v<T, std::string> || std::is_base_of_v<std::string_view, T>;
template <class T>
concept ProtoRepeated = !ProtoBytes<T> && requires(T& values) { values.push_back(*values.begin()); };

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

/// An alternative of a variant, with the interface of an optional.
template <class V, std::size_t I>
class AlternativeRef {
 public:
  explicit AlternativeRef(V& variant) : variant_(variant) {}
  [[nodiscard]] explicit operator bool() const noexcept { return variant_.index() == I; }
  [[nodiscard]] auto& operator*() const { return std::get<I>(variant_); }
  [[nodiscard]] auto& emplace() const { return variant_.template emplace<I>(); }
  void reset() const {
    if (*this) variant_.template emplace<0>();
  }

 private:
  V& variant_;
};
template <class V, std::size_t I>
inline constexpr bool kIsOptional<AlternativeRef<V, I>> = true;

template <ProtoRepeated T>
using ProtoElement = typename std::iterator_traits<decltype(std::declval<const T&>().begin())>::value_type;

template <class M, class N, class T>
[[nodiscard]] auto& member_of(M& message, const Field<N, T>& field) {
  return message.*field.member;
}
template <class M, class N, class V, std::size_t I>
[[nodiscard]] auto member_of(M& message, const Alternative<N, V, I>& field) {
  return AlternativeRef<std::remove_reference_t<decltype(message.*field.member)>, I>(message.*field.member);
}

/// Calls `action(member, number)` for each field of the message.
template <class M, class Action>
void for_each_member(M& message, const Action& action) {
  const auto visit = [&](const auto& field) {
    auto&& member = member_of(message, field);
    action(member, field.number);
  };
  std::apply([&](const auto&... fields) { (visit(fields), ...); }, kFields<std::remove_const_t<M>>);
}

// --- Writing -------------------------------------------------------------------------------------------------------

template <class T>
[[nodiscard]] constexpr std::uint32_t wire_type() {
  if constexpr (std::is_same_v<T, Fixed32> || std::is_same_v<T, float>) return 5;
  if constexpr (std::is_same_v<T, double>) return 1;
  return ProtoNumber<T> ? 0 : 2;
}

template <ProtoNumber T>
[[nodiscard]] constexpr std::uint64_t varint_of(T value) {
  if constexpr (std::is_enum_v<T>) {
    return varint_of(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));  // negative values take ten bytes
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

template <ProtoMessage M>
void append_message(std::string& bytes, const M& message);

/// Appends a value, without field number and length.
template <class T>
void append_payload(std::string& bytes, const T& value) {
  if constexpr (ProtoBytes<T>) {
    bytes.append(value);
  } else if constexpr (wire_type<T>() == 0) {
    append_varint(bytes, varint_of(value));
  } else if constexpr (std::is_same_v<T, Fixed32>) {
    append_fixed(bytes, value.value);
  } else if constexpr (wire_type<T>() == 5) {
    append_fixed(bytes, std::bit_cast<std::uint32_t>(value));
  } else {
    append_fixed(bytes, std::bit_cast<std::uint64_t>(value));
  }
}

/// Appends a field with a length, whose payload `append` appends to `bytes`.
template <class Append>
[[gnu::always_inline]] inline void append_nested(std::string& bytes, std::uint32_t number, const Append& append) {
  append_varint(bytes, number << 3 | wire_type<std::string>());
  const std::size_t begin = bytes.size();
  append();
  insert_length(bytes, begin);
}

/// Appends a value with its field number, even if it is zero or empty.
template <class T>
void append_element(std::string& bytes, std::uint32_t number, const T& value) {
  if constexpr (ProtoMessage<T>) {
    append_nested(bytes, number, [&] { append_message(bytes, value); });
  } else {
    append_varint(bytes, number << 3 | wire_type<T>());
    if constexpr (ProtoBytes<T>) append_varint(bytes, value.size());
    append_payload(bytes, value);
  }
}

/// True if the field is in the bytes of its message.
template <class T>
[[nodiscard]] bool is_written(const T& value) {
  if constexpr (kIsOptional<T>) {
    return static_cast<bool>(value);
  } else if constexpr (ProtoBytes<T> || ProtoRepeated<T>) {
    return value.begin() != value.end();
  } else if constexpr (ProtoMessage<T>) {
    return true;
  } else {
    return !(value == T{});
  }
}

template <class T>
void append_field(std::string& bytes, std::uint32_t number, const T& value) {
  if (!is_written(value)) return;
  if constexpr (kIsOptional<T>) {
    append_element(bytes, number, *value);
  } else if constexpr (!ProtoRepeated<T>) {
    append_element(bytes, number, value);
  } else if constexpr (!ProtoNumber<ProtoElement<T>>) {
    for (const auto& element : value) append_element(bytes, number, element);
  } else {
    append_nested(bytes, number, [&] {
      for (const ProtoElement<T>& element : value) append_payload(bytes, element);  // not auto: std::vector<bool>
    });
  }
}

/// Appends the message's bytes. Allocates only when `bytes` grows.
template <ProtoMessage M>
void append_message(std::string& bytes, const M& message) {
  for_each_member(message, [&](const auto& value, std::uint32_t number) { append_field(bytes, number, value); });
}

/// The message's bytes.
template <ProtoMessage M>
[[nodiscard]] std::string message_bytes(const M& message) {
  std::string bytes;
  append_message(bytes, message);
  return bytes;
}

// --- Reading -------------------------------------------------------------------------------------------------------

/// Sets all fields that are left out if they are zero to zero, whatever the struct's default is.
template <ProtoMessage M>
void clear_message(M& message) {
  for_each_member(message, [](auto& value, std::uint32_t) {
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (kIsOptional<T>) {
      value.reset();
    } else {
      value = T{};
    }
  });
}

template <ProtoMessage M>
void read_message(WireReader reader, M& message);

/// Reads the value of the reader's current field.
template <class T>
void read_field(WireReader& reader, T& value) {
  if constexpr (kIsOptional<T>) {
    read_field(reader, value.emplace());
  } else if constexpr (ProtoRepeated<T>) {
    using Element = ProtoElement<T>;
    if constexpr (std::is_arithmetic_v<Element>) {
      reader.for_each<Element>([&](Element element) { value.push_back(element); });
    } else if constexpr (std::is_enum_v<Element>) {
      reader.for_each<std::uint64_t>([&](std::uint64_t element) { value.push_back(static_cast<Element>(element)); });
    } else {
      Element element{};
      read_field(reader, element);
      value.push_back(std::move(element));
    }
  } else if constexpr (ProtoBytes<T>) {
    value = T(reader.get_bytes());
  } else if constexpr (ProtoMessage<T>) {
    read_message(reader.get_message(), value);
  } else if constexpr (std::is_same_v<T, Fixed32>) {
    value.value = reader.get_fixed32();
  } else if constexpr (std::is_same_v<T, float>) {
    value = reader.get_float();
  } else if constexpr (std::is_same_v<T, double>) {
    value = reader.get_double();
  } else if constexpr (std::is_same_v<T, bool>) {
    value = reader.get_bool();
  } else {
    value = static_cast<T>(reader.get_uint64());
  }
}

/// Reads the reader's current field; if it is not in the table, returns false and leaves it.
template <ProtoMessage M>
[[nodiscard]] bool read_known_field(WireReader& reader, M& message) {
  const auto read = [&](const auto& field) {
    if (reader.tag() != field.number) return false;
    auto&& member = member_of(message, field);
    read_field(reader, member);
    return true;
  };
  return std::apply([&](const auto&... fields) { return (read(fields) || ...); }, kFields<M>);
}

/// Reads or skips the reader's current field. For messages too large to hold all their fields at once.
template <ProtoMessage M>
void read_one_field(WireReader& reader, M& message) {
  if (!read_known_field(reader, message)) reader.skip();
}

/// Reads the fields of the table and skips all others. The last of a field counts; protobuf would merge messages.
/// @throws DataLossError if the bytes are not such a message.
template <ProtoMessage M>
void read_message(WireReader reader, M& message) {
  clear_message(message);
  while (reader.next())
    if (!read_known_field(reader, message)) reader.skip();
}

/// Reads the message in `bytes`; `what` names it in errors.
template <ProtoMessage M>
[[nodiscard]] M parse_message(std::string_view bytes, std::string_view what) {
  M message;
  read_message(WireReader(bytes, what), message);
  return message;
}

}  // namespace trainhook::detail
