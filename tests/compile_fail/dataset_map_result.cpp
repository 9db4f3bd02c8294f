// SPDX-License-Identifier: Apache-2.0
/// @file
/// A function of `map` returns a whole element.
// WRONG: the function of map takes an Element and returns one
#include <trainhook/data/dataset.hpp>

namespace th = trainhook;

th::Dataset make(const th::Dataset& data) {
#ifdef WRONG
  return data.map([](const th::Element& element) { return element[0]; });
#else
  return data.map([](const th::Element& element) { return th::Element{element[0]}; });
#endif
}
