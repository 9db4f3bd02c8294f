// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sampler: the indices of batches, epoch after epoch, with a position that is saved.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

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

/// Hands out the indices of a data set in batches, without an end. Its position is the loop's state: it counts what was
/// handed out, so a resumed loop gets the batch that an uninterrupted one would. Take a batch inside of the step; a
/// recovery then takes it again. The order of an epoch depends on seed and epoch alone. Not thread-safe.
class Sampler {
 public:
  /// @param size the number of examples
  /// @throws InvalidArgumentError if `size` or `batch` is not positive, or no batch is ever full.
  TRAINHOOK_DECL Sampler(LoopSession& loop, std::string_view name, std::int64_t size,
                         const SamplerOptions& options = {});

  /// The indices of the next batch, an int64 tensor.
  [[nodiscard]] TRAINHOOK_DECL ::torch::Tensor next();

  /// The same as numbers. Valid until the next call.
  [[nodiscard]] TRAINHOOK_DECL const std::vector<std::int64_t>& next_indices();

  /// Which epoch the next batch belongs to, from 0 on.
  [[nodiscard]] TRAINHOOK_DECL std::int64_t epoch() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;  // the loop refers to it, too
};

}  // namespace trainhook::libtorch

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/torch/impl/sampler.ipp>
#endif
