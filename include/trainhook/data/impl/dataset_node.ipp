// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/dataset_node.hpp>

#include <algorithm>

#include <trainhook/core/random.hpp>

namespace trainhook::detail {

Pass Pass::input(std::uint64_t number) const noexcept { return {epoch, entropy, derive_seed(path, number), shadow}; }

Pass Pass::repetition(std::uint64_t number) const noexcept {
  return {epoch == 0 ? number : derive_seed(epoch, number), entropy, derive_seed(path, 0), shadow};
}

DatasetNode::DatasetNode(std::vector<NodePtr> inputs, ElementSpec spec)
    : inputs_(std::move(inputs)), spec_(std::move(spec)) {}

bool DatasetNode::needs_entropy() const {
  for (const NodePtr& input : inputs_) {
    if (input->needs_entropy()) return true;
  }
  return false;
}

void DatasetNode::add_external_state(std::vector<std::string>& found) const {
  for (const NodePtr& input : inputs_) input->add_external_state(found);
}

void DatasetNode::add_sources(std::vector<SourceDigest>& found) const {
  for (const NodePtr& input : inputs_) input->add_sources(found);
}

bool DatasetNode::allows_changed_sources() const {
  return std::ranges::any_of(inputs_, [](const NodePtr& input) { return input->allows_changed_sources(); });
}

void describe_pipeline(const DatasetNode& node, std::vector<std::string>& stages) {
  for (const NodePtr& input : node.inputs()) describe_pipeline(*input, stages);
  if (std::string stage = node.describe(); !stage.empty()) stages.push_back(std::move(stage));
}

std::vector<SourceDigest> sources_of(const DatasetNode& node) {
  std::vector<SourceDigest> sources;
  node.add_sources(sources);
  return sources;
}

RowStream::RowStream(std::shared_ptr<const RowSource> rows, std::unique_ptr<IndexStream> indices)
    : rows_(std::move(rows)), indices_(std::move(indices)) {}

bool RowStream::next(Element& element) {
  std::int64_t index = 0;
  if (!indices_->next(index)) return false;
  rows_->read(index, element);
  return true;
}

}  // namespace trainhook::detail
