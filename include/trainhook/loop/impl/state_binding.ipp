// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of state_binding.hpp.
#pragma once

#include <trainhook/loop/state_binding.hpp>

#include <locale>
#include <sstream>

namespace trainhook::detail {

TRAINHOOK_DECL Tensor written_text(FunctionRef<void(std::ostream&)> write) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  write(out);
  return Tensor(std::string_view(out.view()));
}

TRAINHOOK_DECL void read_text(const std::string& name, const std::string& text, FunctionRef<void(std::istream&)> read) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  read(in);
  if (in.fail() || !(in >> std::ws).eof())
    throw DataLossError("the saved state '{}' is not what its type writes", name);
}

TRAINHOOK_DECL const std::string& text_of(const Tensor& value) { return value.data<std::string>()[0]; }

}  // namespace trainhook::detail
