// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes the text forms of slices.
#include "fuzz.hpp"

#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/core/shape.hpp>

namespace th = trainhook;

void fuzz::read(Input input) {
  const th::TensorSlice slice = th::TensorSlice::parse(input.rest());
  static_cast<void>(slice.within(th::Shape{4, 6}));
  static_cast<void>(th::TensorSlice::parse(slice.to_string()));
}

std::vector<std::string> fuzz::seeds() { return {"-:-", "0,2:1,5", "-:0,3", "9223372036854775807,1"}; }
