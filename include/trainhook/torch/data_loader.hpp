// SPDX-License-Identifier: Apache-2.0
/// @file
/// DataLoader: batches that LibTorch's DataLoader reads, with a position that is saved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>  // before others of LibTorch 1.13, for clang
#include <torch/data/dataloader.h>
#include <torch/data/samplers/base.h>

#include <trainhook/core/error.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/torch/sampler.hpp>

namespace trainhook::libtorch {

namespace detail {

/// Gives the workers of a DataLoader their batches, ahead of the loop and without an end.
class AheadSampler final : public ::torch::data::samplers::Sampler<> {
 public:
  using OptionalSize = std::remove_cvref_t<decltype(std::declval<::torch::data::DataLoaderOptions&>().max_jobs())>;
  using OptionalBatch = decltype(std::declval<::torch::data::samplers::Sampler<>&>().next(std::size_t{}));

  explicit AheadSampler(BatchOrder order) : order_(std::move(order)) {}

  void reset(OptionalSize /*size*/ = {}) override {}
  OptionalBatch next(std::size_t /*batch*/) override {
    const std::vector<std::int64_t>& indices = order_.next();
    return std::vector<std::size_t>(indices.begin(), indices.end());
  }
  void save(::torch::serialize::OutputArchive& /*archive*/) const override {}
  void load(::torch::serialize::InputArchive& /*archive*/) override {}

 private:
  BatchOrder order_;
};

}  // namespace detail

/// Batches of a data set, epoch after epoch, read by LibTorch's DataLoader and its worker threads. Its position is the
/// loop's state, and counts what `next` has returned, not what workers have read ahead: a resumed loop gets the batch
/// that an uninterrupted one would. A data set that draws random numbers in a worker gets other ones. Take a batch
/// inside of the step. Not thread-safe.
/// @tparam Dataset a stateless data set of LibTorch, such as `dataset.map(torch::data::transforms::Stack<>())`
template <class Dataset>
class DataLoader {
 public:
  using Batch = typename Dataset::BatchType;

  /// @param options the workers and what they read ahead; size and order of batches are those of `order`
  /// @throws InvalidArgumentError if the data set does not tell its size, or as Sampler.
  DataLoader(LoopSession& loop, std::string_view name, Dataset dataset, const SamplerOptions& order = {},
             ::torch::data::DataLoaderOptions options = {})
      : dataset_(std::move(dataset)), options_(options) {
    options_.batch_size(static_cast<std::size_t>(order.batch)).enforce_ordering(true).drop_last(false);
    const auto size = dataset_.size();
    if (!size) throw InvalidArgumentError("'{}': the data set does not tell its size, which its order needs", name);
    taken_ = detail::add_batch_order(loop, name, static_cast<std::int64_t>(*size), order);
  }

  /// The next batch. If reading it throws, so does this, and the next call reads the same batch again.
  [[nodiscard]] Batch next() {
    try {
      if (loader_ == nullptr || taken_->position() != position_) start();
      if (!std::exchange(is_first_, false)) ++*batches_;
      Batch batch = std::move(**batches_);
      (void)taken_->next();
      position_ = taken_->position();
      return batch;
    } catch (...) {
      loader_.reset();
      throw;
    }
  }

  /// Which epoch the next batch belongs to, from 0 on.
  [[nodiscard]] std::int64_t epoch() const noexcept { return taken_->epoch(); }

 private:
  using Loader = ::torch::data::StatelessDataLoader<Dataset, detail::AheadSampler>;

  void start() {  // at first, and where a restore has moved the position
    loader_.reset();
    loader_ = std::make_unique<Loader>(dataset_, detail::AheadSampler(*taken_), options_);
    batches_.emplace(loader_->begin());
    is_first_ = true;
    position_ = taken_->position();
  }

  Dataset dataset_;
  ::torch::data::DataLoaderOptions options_;
  std::shared_ptr<detail::BatchOrder> taken_;  // the loop refers to it, too
  detail::BatchOrder::Position position_;      // of `batches_`
  std::unique_ptr<Loader> loader_;
  std::optional<::torch::data::Iterator<Batch>> batches_;
  bool is_first_ = true;
};

}  // namespace trainhook::libtorch
