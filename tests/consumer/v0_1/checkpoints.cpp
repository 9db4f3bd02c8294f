// SPDX-License-Identifier: Apache-2.0
/// @file
/// Program checkpoints of the README of version 0.1.0.
#include <fmt/core.h>
#include <trainhook/checkpoint/tensor_bundle.hpp>
namespace th = trainhook;

int main() {
  th::BundleWriter writer("checkpoints/model.ckpt-100", {.overwrite = true});
  writer.add("weights", th::Tensor::of<float>({1, 2, 3, 4}, {2, 2}));
  writer.finish();  // durable when it returns; nothing exists before

  th::CheckpointReader reader("checkpoints/model.ckpt-100");  // also reads what TensorFlow wrote
  const th::Tensor weights = reader.get_tensor("weights");    // verifies the checksum, or throws DataLossError
  fmt::print("{}\n", weights);
}
