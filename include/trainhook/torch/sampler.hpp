// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sampler: the indices of batches, epoch after epoch, with a position that is saved.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <ATen/core/ivalue.h>  // before others of LibTorch 1.13, for clang
#include <torch/types.h>

#include <trainhook/core/linkage.hpp>
#include <trainhook/loop/loop_session.hpp>

namespace trainhook::libtorch {

struct SamplerOptions {
  std::int64_t batch = 1;
  bool shuffle = true;     ///< each epoch in an order of its own
  std::uint64_t seed = 0;  ///< of those orders
  bool drop_last = false;  ///< leaves the rest of an epoch out that fills no batch
};

namespace detail {

/// The batches of a data set, epoch after epoch, and a position among them. Copies go on by themselves.
class BatchOrder {
 public:
  /// The epoch, and how many of its examples were handed out.
  struct Position {
    std::int64_t epoch = 0;
    std::int64_t taken = 0;
    friend bool operator==(const Position&, const Position&) = default;
  };

  TRAINHOOK_DECL BatchOrder(std::int64_t size, const SamplerOptions& options);

  /// The indices of the next batch. Valid until the next call.
  TRAINHOOK_DECL const std::vector<std::int64_t>& next();

  [[nodiscard]] Position position() const noexcept { return position_; }

  /// @throws DataLossError, naming `name`, for a position that this data set does not have.
  TRAINHOOK_DECL void check(Position position, std::string_view name) const;
  TRAINHOOK_DECL void go_to(Position position);

  /// Which epoch the next batch belongs to, from 0 on.
  [[nodiscard]] std::int64_t epoch() const noexcept { return position_.epoch + (is_over() ? 1 : 0); }

 private:
  [[nodiscard]] bool is_over() const noexcept {
    return size_ - position_.taken < (options_.drop_last ? options_.batch : 1);
  }

  std::int64_t size_;
  SamplerOptions options_;
  Position position_;
  std::vector<std::int64_t> order_;
  std::vector<std::int64_t> batch_;
};

/// Makes the position of a new order the state `name` of a loop.
/// @throws InvalidArgumentError if `size` or `options.batch` is not positive, or no batch is ever full.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<BatchOrder> add_batch_order(LoopSession& loop, std::string_view name,
                                                                         std::int64_t size,
                                                                         const SamplerOptions& options);

}  // namespace detail

/// Hands out the indices of a data set in batches, without an end. Its position is the loop's state: it counts what was
/// handed out, so a resumed loop gets the batch that an uninterrupted one would. Take a batch inside of the step; a
/// recovery then takes it again. The order of an epoch depends on seed and epoch alone. Not thread-safe.
class Sampler {
 public:
  /// @param size the number of examples
  /// @throws InvalidArgumentError if `size` or `batch` is not positive, or no batch is ever full.
  Sampler(LoopSession& loop, std::string_view name, std::int64_t size, const SamplerOptions& options = {})
      : order_(detail::add_batch_order(loop, name, size, options)) {}

  /// The indices of the next batch, an int64 tensor.
  [[nodiscard]] TRAINHOOK_DECL ::torch::Tensor next();

  /// The same as numbers. Valid until the next call.
  [[nodiscard]] const std::vector<std::int64_t>& next_indices() { return order_->next(); }

  /// Which epoch the next batch belongs to, from 0 on.
  [[nodiscard]] std::int64_t epoch() const noexcept { return order_->epoch(); }

 private:
  std::shared_ptr<detail::BatchOrder> order_;  // the loop refers to it, too
};

}  // namespace trainhook::libtorch

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/torch/impl/sampler.ipp>
#endif
