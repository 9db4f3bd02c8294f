// SPDX-License-Identifier: Apache-2.0
/// @file
/// MapFunction and FilterFunction, the functions of `Dataset::map` and `Dataset::filter`.
#pragma once

#include <functional>

#include <trainhook/data/element.hpp>

namespace trainhook {

using MapFunction = std::function<Element(Element element)>;
using FilterFunction = std::function<bool(const Element& element)>;

}  // namespace trainhook
