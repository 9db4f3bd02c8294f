// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that rearrange, select and describe: reshape, transpose, concat, slice, gather, cast and their kin.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

/// The elements of `x` as another dtype. Where it has that dtype already, `x` itself. Source: `tf.cast`.
TRAINHOOK_DECL Output cast(Output x, DType dtype, std::string_view name = {});

/// The shape of `x` when the graph runs, as an int32 vector. Source: `tf.shape`.
TRAINHOOK_DECL Output shape(Output x, std::string_view name = {});

/// How many elements `x` has when the graph runs, as an int32 scalar. Source: `tf.size`.
TRAINHOOK_DECL Output size(Output x, std::string_view name = {});

/// How many dimensions `x` has when the graph runs, as an int32 scalar. Source: `tf.rank`.
TRAINHOOK_DECL Output rank(Output x, std::string_view name = {});

namespace detail {

/// How many integers there are from `start` on, `delta` apart, before `limit`; kUnknownDim where one does not come
/// there, or there are too many to be counted.
TRAINHOOK_DECL std::int64_t integers_in_range(std::int64_t start, std::int64_t limit, std::int64_t delta);

/// The shape of a range: known where it is of constant integers.
TRAINHOOK_DECL PartialShape range_shape(const Output& start, const Output& limit, const Output& delta);

}  // namespace detail

/// The numbers `start`, `start + delta`, ... before `limit`; three scalars of one dtype. Source: `tf.range`.
TRAINHOOK_DECL Output range(Output start, Output limit, Output delta, std::string_view name = {});

/// The elements of `x` under the shape that a tensor holds. Source: `tf.reshape`.
TRAINHOOK_DECL Output reshape(Output x, Output to, std::string_view name = {});

/// The elements of `x` under another shape, of which one dimension may be -1: whatever is left.
TRAINHOOK_DECL Output reshape(Output x, const std::vector<std::int64_t>& dims, std::string_view name = {});

/// Dimension `i` of the result is dimension `perm[i]` of `x`; without `perm` their order is reversed. Source:
/// `tf.transpose`.
TRAINHOOK_DECL Output transpose(Output x, std::vector<std::int64_t> perm = {}, std::string_view name = "transpose");

/// `values` joined along `axis`. Source: `tf.concat`.
TRAINHOOK_DECL Output concat(const std::vector<Output>& values, std::int64_t axis, std::string_view name = "concat");

/// `values`, all of one shape, along a new dimension `axis`. Source: `tf.stack`.
TRAINHOOK_DECL Output stack(const std::vector<Output>& values, std::int64_t axis = 0, std::string_view name = "stack");

/// `x` with a dimension of extent 1 inserted at `axis`. Source: `tf.expand_dims`.
TRAINHOOK_DECL Output expand_dims(Output x, std::int64_t axis, std::string_view name = "ExpandDims");

/// `x` without the dimensions `axis`, each of extent 1; without `axis`, without all such. Source: `tf.squeeze`.
TRAINHOOK_DECL Output squeeze(Output x, const std::vector<std::int64_t>& axis = {}, std::string_view name = {});

struct OneHotOptions {
  double on_value = 1;
  double off_value = 0;
  DType dtype = DType::Float;
  std::int64_t axis = -1;
};
/// A vector of `depth` elements in place of each index, all `off_value` but for the one it names. Source: `tf.one_hot`.
TRAINHOOK_DECL Output one_hot(Output indices, std::int64_t depth, const OneHotOptions& options = {},
                              std::string_view name = "one_hot");

/// The slices of `params` along `axis` that `indices` name. Source: `tf.gather`, and `tf.nn.embedding_lookup` of one
/// table.
TRAINHOOK_DECL Output gather(Output params, Output indices, std::int64_t axis = 0, std::string_view name = "GatherV2");
inline Output embedding_lookup(Output params, Output ids, std::string_view name = "embedding_lookup") {
  return gather(params, ids, 0, name);
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/array_ops.ipp>
#endif
