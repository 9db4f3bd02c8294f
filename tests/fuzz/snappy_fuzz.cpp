// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes Snappy by itself, where every byte is one of the format's.
#include "fuzz.hpp"

#include <trainhook/io/tables.hpp>

#include "hex.hpp"

namespace th = trainhook;

void fuzz::read(Input input) {
  const auto text = th::detail::unpack_snappy(input.rest());
  if (text && text->size() / 22 > input.rest().size()) throw th::InternalError("more text than any input makes");
}

std::vector<std::string> fuzz::seeds() {
  return {th::support::bytes("24 1c 6162636465666768 5e0800 0c 7461696c"), th::support::bytes("0b 08 616263 1103"),
          th::support::bytes("0b 08 616263 1f03000000")};
}
