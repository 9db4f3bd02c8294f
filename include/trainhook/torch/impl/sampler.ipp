// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/torch/sampler.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include <torch/utils.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/random.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/loop/state_binding.hpp>

namespace trainhook::libtorch::detail {

BatchOrder::BatchOrder(std::int64_t size, const SamplerOptions& options) : size_(size), options_(options) { go_to({}); }

const std::vector<std::int64_t>& BatchOrder::next() {
  if (is_over()) go_to({.epoch = position_.epoch + 1});
  const std::int64_t count = (std::min)(options_.batch, size_ - position_.taken);
  const auto first = order_.begin() + position_.taken;
  batch_.assign(first, first + count);
  position_.taken += count;
  return batch_;
}

void BatchOrder::check(Position position, std::string_view name) const {
  if (position.epoch >= 0 && position.epoch < (std::numeric_limits<std::int64_t>::max)() && position.taken >= 0 &&
      position.taken <= size_)
    return;
  throw DataLossError("'{}': the position {} of epoch {} is none of {} examples", name, position.taken, position.epoch,
                      size_);
}

void BatchOrder::go_to(Position position) {
  position_ = position;
  if (!order_.empty() && !options_.shuffle) return;
  order_.resize(static_cast<std::size_t>(size_));
  std::iota(order_.begin(), order_.end(), std::int64_t{0});
  if (!options_.shuffle) return;
  PhiloxGenerator random(options_.seed, static_cast<std::uint64_t>(position.epoch));
  for (std::size_t i = order_.size(); i > 1; --i)
    std::swap(order_[i - 1], order_[static_cast<std::size_t>(random.uniform_below(i))]);
}

std::shared_ptr<BatchOrder> add_batch_order(LoopSession& loop, std::string_view name, std::int64_t size,
                                            const SamplerOptions& options) {
  if (size < 1 || options.batch < 1 || (options.drop_last && options.batch > size))
    throw InvalidArgumentError(
        "'{}': batches of {} of {} examples; both must be positive, and without the rest of an epoch a batch must not "
        "be larger than it",
        name, options.batch, size);
  auto order = std::make_shared<BatchOrder>(size, options);
  trainhook::detail::LoopAccess::add_state(
      loop, {.name = std::string(name),
             .dtype = DType::Int64,
             .shape = Shape{2},
             .save =
                 [order] {
                   return Tensor::of<std::int64_t>({order->position().epoch, order->position().taken});
                 },
             .prepare = [order, called = std::string(name)](const Tensor& value) -> std::function<void()> {
               const auto saved = value.data<std::int64_t>();
               const BatchOrder::Position position{.epoch = saved[0], .taken = saved[1]};
               order->check(position, called);
               return [order, position] { order->go_to(position); };
             },
             .reset = [order] { order->go_to({}); },
             .may_fail = true});
  return order;
}

}  // namespace trainhook::libtorch::detail

namespace trainhook::libtorch {

::torch::Tensor Sampler::next() { return ::torch::tensor(next_indices(), ::torch::kLong); }

}  // namespace trainhook::libtorch
