// SPDX-License-Identifier: Apache-2.0
/// @file
/// Batching: gathers rows directly from a source that has them, and stacks elements otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/data/element.hpp>

namespace trainhook::detail {

struct BatchSize {
  std::int64_t size;
  bool drop_remainder;

  /// Returns the number of batches for `elements` elements.
  [[nodiscard]] TRAINHOOK_DECL std::int64_t batches(std::int64_t elements) const noexcept;
};

class BatchNode final : public DatasetNode {
 public:
  TRAINHOOK_DECL BatchNode(NodePtr input, BatchSize batch);
  [[nodiscard]] TRAINHOOK_DECL std::string describe() const override;
  [[nodiscard]] TRAINHOOK_DECL std::int64_t cardinality() const override;
  [[nodiscard]] std::shared_ptr<const RowSource> rows() const override { return rows_; }
  [[nodiscard]] bool is_source() const override { return rows_ != nullptr; }
  [[nodiscard]] bool can_advance() const override { return inputs()[0]->can_advance(); }
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<IndexStream> indices(const Pass&) const override;
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<ElementStream> elements(const Pass& pass) const override;

 private:
  TRAINHOOK_DECL static ElementSpec batched(const ElementSpec& spec, BatchSize batch);

  BatchSize batch_;
  std::shared_ptr<const RowSource> rows_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/batch.ipp>
#endif
