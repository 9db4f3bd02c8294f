// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of sampler.hpp.
#pragma once

#include <trainhook/torch/sampler.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include <torch/torch.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/random.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/loop/state_binding.hpp>

namespace trainhook::libtorch {

struct Sampler::State {
  State(std::int64_t examples, const SamplerOptions& given) : size(examples), options(given) {}

  // Goes to the first batch of an epoch.
  void begin(std::int64_t number) {
    epoch = number;
    taken = 0;
    if (order.empty() || options.shuffle) {
      order.resize(static_cast<std::size_t>(size));
      std::iota(order.begin(), order.end(), std::int64_t{0});
    }
    if (!options.shuffle) return;
    PhiloxGenerator random(options.seed, static_cast<std::uint64_t>(number));
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.uniform_below(i))]);
  }

  [[nodiscard]] bool is_over() const { return size - taken < (options.drop_last ? options.batch : 1); }

  std::int64_t size;
  SamplerOptions options;
  std::int64_t epoch = 0;
  std::int64_t taken = 0;  // of this epoch
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> batch;
};

Sampler::Sampler(LoopSession& loop, std::string_view name, std::int64_t size, const SamplerOptions& options)
    : state_(std::make_shared<State>(size, options)) {
  if (size < 1 || options.batch < 1 || (options.drop_last && options.batch > size))
    throw InvalidArgumentError(
        "Sampler '{}': batches of {} of {} examples; both must be positive, and without the rest "
        "of an epoch a batch must not be larger than it",
        name, options.batch, size);
  state_->begin(0);
  trainhook::detail::LoopAccess::add_state(
      loop, {.name = std::string(name),
             .dtype = DType::Int64,
             .shape = Shape{2},
             .save =
                 [state = state_] {
                   return Tensor::of<std::int64_t>({state->epoch, state->taken});
                 },
             .prepare = [state = state_, called = std::string(name)](const Tensor& value) -> std::function<void()> {
               const std::int64_t epoch = value.data<std::int64_t>()[0];
               const std::int64_t taken = value.data<std::int64_t>()[1];
               if (epoch < 0 || taken < 0 || taken > state->size)
                 throw DataLossError("'{}': the position {} of epoch {} is none of {} examples", called, taken, epoch,
                                     state->size);
               return [state, epoch, taken] {
                 state->begin(epoch);
                 state->taken = taken;
               };
             },
             .reset = [state = state_] { state->begin(0); },
             .may_fail = true});
}

const std::vector<std::int64_t>& Sampler::next_indices() {
  if (state_->is_over()) state_->begin(state_->epoch + 1);
  const std::int64_t count = (std::min)(state_->options.batch, state_->size - state_->taken);
  const auto first = state_->order.begin() + state_->taken;
  state_->batch.assign(first, first + count);
  state_->taken += count;
  return state_->batch;
}

::torch::Tensor Sampler::next() { return ::torch::tensor(next_indices(), ::torch::kLong); }

std::int64_t Sampler::epoch() const noexcept { return state_->is_over() ? state_->epoch + 1 : state_->epoch; }

}  // namespace trainhook::libtorch
