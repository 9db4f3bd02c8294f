// SPDX-License-Identifier: Apache-2.0
/// @file
/// A function of `filter` returns a bool.
// WRONG: the function of filter takes an Element and returns a bool
#include <trainhook/data/dataset.hpp>

namespace th = trainhook;

th::Dataset make(const th::Dataset& data) {
#ifdef WRONG
  return data.filter([](const th::Element& element) { return element[0]; });
#else
  return data.filter([](const th::Element& element) { return element[0].scalar<bool>(); });
#endif
}
