// SPDX-License-Identifier: Apache-2.0
/// @file
/// Prefetch: a thread computes elements ahead of their use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset_node.hpp>

namespace trainhook::detail {

class PrefetchNode final : public DatasetNode {
 public:
  TRAINHOOK_DECL PrefetchNode(NodePtr input, std::int64_t buffer_size);
  /// Without the buffer size, so that it may change between runs.
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] std::int64_t cardinality() const override { return inputs()[0]->cardinality(); }
  [[nodiscard]] bool can_advance() const override { return inputs()[0]->can_advance(); }
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ElementStream> elements(const Pass& pass) const override;

 private:
  std::int64_t buffer_size_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/prefetch.ipp>
#endif
