// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernel that reads checkpoints.
#pragma once

#include <trainhook/engine/kernels.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>

namespace trainhook::kernels {
namespace detail {

using namespace trainhook::detail;

/// Reads a tensor or a region of it: in `4 2 0,2:0,2`, the shape of the whole tensor comes before the region.
inline Tensor restored(const BundleReader& reader, const std::string& name, std::string_view shape_and_slice) {
  if (shape_and_slice.empty()) return reader.get_tensor(name);
  return reader.get_tensor(name, TensorSlice::parse(shape_and_slice.substr(shape_and_slice.rfind(' ') + 1)));
}

inline void restore_tensors(KernelContext& context) {
  const BundleReader reader(context.input(0).scalar<std::string>());
  const std::span<const std::string> names = context.data<std::string>(1);
  const std::span<const std::string> slices = context.data<std::string>(2);
  if (names.size() != context.num_outputs() || slices.size() != names.size()) {
    throw InvalidArgumentError("{} tensor_names and {} shape_and_slices do not go with {} dtypes", names.size(),
                               slices.size(), context.num_outputs());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    Tensor tensor = restored(reader, names[i], slices[i]);
    if (const DType wanted = context.node().outputs()[i].dtype; tensor.dtype() != wanted) {
      throw InvalidArgumentError("tensor '{}' of checkpoint {} is {}, where {} is expected", names[i], reader.prefix(),
                                 tensor.dtype(), wanted);
    }
    context.set_output(i, std::move(tensor));
  }
}

inline Kernel make_restore(const Node&) { return restore_tensors; }

inline constexpr std::array kRestore{KernelDef{.type = "RestoreV2", .make = make_restore, .stateful = true}};

}  // namespace detail

KernelGroup restore() noexcept { return detail::kRestore; }

}  // namespace trainhook::kernels
