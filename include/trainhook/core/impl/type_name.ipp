// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/type_name.hpp>

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace trainhook::detail {

std::string short_type_name(const std::string& name) {
  std::size_t end = name.size();
  int depth = 0;  // of the brackets to the right, whose colons are those of an argument
  for (std::size_t i = name.size(); i > 0; --i) {
    const char c = name[i - 1];
    if (c == '>' || c == ')') ++depth;
    if (c == '<' || c == '(') --depth;
    if (c == '<' && depth == 0) end = i - 1;
    if (c == ':' && depth == 0) return name.substr(i, end - i);
  }
  return name.substr(0, end);
}

std::string short_type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                         std::free);
  return short_type_name(std::string(status == 0 ? demangled.get() : type.name()));
}

}  // namespace trainhook::detail
