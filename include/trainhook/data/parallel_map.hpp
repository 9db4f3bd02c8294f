// SPDX-License-Identifier: Apache-2.0
/// @file
/// Map on several threads, which keeps the order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/functional.hpp>

namespace trainhook::detail {

class ParallelMapNode final : public DatasetNode {
 public:
  TRAINHOOK_DECL ParallelMapNode(NodePtr input, MapFunction function, const ElementSpec& spec,
                                 std::int64_t num_parallel_calls);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] std::int64_t cardinality() const override { return inputs()[0]->cardinality(); }
  [[nodiscard]] bool can_advance() const override { return inputs()[0]->can_advance(); }
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ElementStream> elements(const Pass& pass) const override;

 private:
  std::shared_ptr<const MapCall> call_;
  std::size_t threads_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/parallel_map.ipp>
#endif
