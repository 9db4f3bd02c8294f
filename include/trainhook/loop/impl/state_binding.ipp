// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/loop/state_binding.hpp>

#include <algorithm>
#include <charconv>
#include <locale>
#include <sstream>
#include <system_error>

namespace trainhook::detail {

Tensor written_text(const std::string& name, FunctionRef<void(std::ostream&)> write) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  call_of_user("operator<< of state", name, [&] { write(out); });
  if (out.fail())  // operator<< of an engine swallows the exception
    throw ResourceExhaustedError("the state '{}' could not be written as text; there was perhaps too little memory",
                                 name);
  return Tensor(std::string_view(out.view()));
}

void read_text(const std::string& name, const std::string& text, FunctionRef<void(std::istream&)> read) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  call_of_user("operator>> of state", name, [&] { read(in); });
  if (in.fail() || !(in >> std::ws).eof())
    throw DataLossError("the saved state '{}' is not what its type writes", name);
}

/// Takes the next word off a text.
inline std::string_view next_word(std::string_view& text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  text.remove_prefix((std::min)(text.find_first_not_of(kSpace), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kSpace));
  text.remove_prefix(word.size());
  return word;
}

void check_engine_text(const std::string& name, std::string_view text, std::string_view written,
                       std::span<const EngineNumbers> numbers) {
  std::uint64_t words = 0;
  while (!next_word(written).empty()) ++words;
  std::uint64_t counted = 0;
  std::uint64_t places = 0;
  for (const EngineNumbers& some : numbers) (some.is_place ? places : counted) += some.count;
  if (words != counted && words != counted + places) return;  // a type that only looks like a standard engine
  for (const EngineNumbers& some : numbers) {
    if (some.is_place && words == counted) continue;
    for (std::uint64_t i = 0; i < some.count; ++i) {
      const std::string_view word = next_word(text);
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (error != std::errc() || end != word.data() + word.size() || number < some.least || number > some.most) {
        throw DataLossError("the saved state '{}' is damaged: it has '{}' in place of a number from {} to {}", name,
                            word, some.least, some.most);
      }
    }
  }
}

const std::string& text_of(const Tensor& value) { return value.data<std::string>()[0]; }

}  // namespace trainhook::detail
