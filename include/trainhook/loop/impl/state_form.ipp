// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/loop/state_form.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook::detail {

void StateForm::close(char bracket) const {
  if (text.ends_with(", ")) text.resize(text.size() - 2);
  text += bracket;
}

void StateForm::end_of_array(std::size_t size) const {
  if (size > 0) text += fmt::format(" x {}", size);
  text += ']';
}

void StateForm::number(std::string_view kind, std::size_t size) const { text += fmt::format("{}{}", kind, 8 * size); }

void StateForm::in_bytes(std::size_t size, std::size_t alignment) const {
  text += fmt::format(" in {} bytes", size);
  if (alignment > 0) text += fmt::format(" at multiples of {}", alignment);
}

void StateForm::constants(std::string_view name, std::initializer_list<std::uint64_t> values) const {
  text.append(name).append("(");
  for (const std::uint64_t value : values) text += fmt::format("{}, ", value);
  close(')');
}

Tensor text_with_form(const std::string& form, std::string_view text) {
  Tensor value = Tensor::uninitialized(DType::String, Shape{1, 2});
  const auto strings = value.overwrite_data<std::string>();
  strings[0] = form;
  strings[1] = text;
  return value;
}

Tensor bytes_with_form(const std::string& form, std::span<const std::byte> object) {
  Tensor value =
      Tensor::uninitialized(DType::UInt8, Shape{1, static_cast<std::int64_t>(form.size() + 1 + object.size())});
  const auto form_and_zero = std::as_bytes(std::span(form.c_str(), form.size() + 1));
  const auto end = std::ranges::copy(form_and_zero, value.overwrite_bytes().begin()).out;
  std::ranges::copy(object, end);
  return value;
}

[[noreturn]] inline void refuse_form(const std::string& name, std::string_view saved, std::string_view form) {
  throw InvalidArgumentError(
      "the state '{}' is {} in the checkpoint and {} in this program, and is not read as another type; "
      "give it the type that was saved, or another name",
      name, saved, form);
}

const std::string& text_of_form(const std::string& name, const std::string& form, const Tensor& value) {
  const auto strings = value.data<std::string>();
  if (value.shape().rank() == 0) return strings[0];
  if (value.shape() != Shape{1, 2}) refuse_form(name, fmt::format("string{}", value.shape()), form);
  if (strings[0] != form) refuse_form(name, strings[0], form);
  return strings[1];
}

std::span<const std::byte> bytes_of_form(const std::string& name, const std::string& form, std::size_t size,
                                         const Tensor& value) {
  std::span<const std::byte> object = value.bytes();
  if (value.shape().rank() == 2) {
    const auto zero = std::ranges::find(object, std::byte{});
    const auto length = static_cast<std::size_t>(zero - object.begin());
    const std::string_view saved(reinterpret_cast<const char*>(object.data()), length);
    if (zero == object.end() || saved != form) refuse_form(name, saved, form);
    object = object.subspan(length + 1);
  } else if (value.shape().rank() != 1) {
    refuse_form(name, fmt::format("uint8{}", value.shape()), form);
  }
  if (object.size() != size) refuse_form(name, fmt::format("{} bytes", object.size()), form);
  return object;
}

}  // namespace trainhook::detail
