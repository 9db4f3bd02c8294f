// SPDX-License-Identifier: Apache-2.0
/// @file
/// Interleaving: a function makes a dataset of every element, and several of these datasets take turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/data/element.hpp>

namespace trainhook::detail {

struct InterleaveCall {
  std::function<NodePtr(const Element& element)> function;
  ElementSpec spec;
  std::size_t cycle_length;
  std::int64_t block_length;
};

class InterleaveNode final : public DatasetNode {
 public:
  TRAINHOOK_DECL InterleaveNode(NodePtr input, std::function<NodePtr(const Element&)> function, const ElementSpec& spec,
                                std::int64_t cycle_length, std::int64_t block_length);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] TRAINHOOK_DECL std::int64_t cardinality() const override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ElementStream> elements(const Pass& pass) const override;

 private:
  std::shared_ptr<const InterleaveCall> call_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/interleave.ipp>
#endif
