// SPDX-License-Identifier: Apache-2.0
/// @file
/// Files of exchange/ made by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <trainhook/core/coding.hpp>

namespace trainhook::support {

/// A safetensors file with this header and data; the length is that of the header.
inline std::string safetensors_file(std::string_view header, std::string_view data = {}) {
  std::string file;
  detail::append_fixed(file, std::uint64_t{header.size()});
  return file.append(header).append(data);
}

}  // namespace trainhook::support
