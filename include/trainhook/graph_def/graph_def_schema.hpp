// SPDX-License-Identifier: Apache-2.0
/// @file
/// The fields of GraphDef and MetaGraphDef that this library uses, with their names and numbers.
#pragma once

#include <trainhook/graph_def/message_schema.hpp>

namespace trainhook::detail {

inline constexpr FieldSchema kDimSchema[] = {{"size", 1, FieldKind::Integer}};
inline constexpr FieldSchema kShapeSchema[] = {nested("dim", 2, kDimSchema), {"unknown_rank", 3, FieldKind::Boolean}};

inline constexpr FieldSchema kTensorSchema[] = {
    {"dtype", 1, FieldKind::DataType},       nested("tensor_shape", 2, kShapeSchema),
    {"tensor_content", 4, FieldKind::Bytes}, {"float_val", 5, FieldKind::Float},
    {"double_val", 6, FieldKind::Double},    {"int_val", 7, FieldKind::Integer},
    {"string_val", 8, FieldKind::Bytes},     {"scomplex_val", 9, FieldKind::Float},
    {"int64_val", 10, FieldKind::Integer},   {"bool_val", 11, FieldKind::Boolean},
    {"dcomplex_val", 12, FieldKind::Double}, {"half_val", 13, FieldKind::Integer},
    {"uint32_val", 16, FieldKind::Unsigned}, {"uint64_val", 17, FieldKind::Unsigned},
};

inline constexpr FieldSchema kListSchema[] = {
    {"s", 2, FieldKind::Bytes},         {"i", 3, FieldKind::Integer},
    {"f", 4, FieldKind::Float},         {"b", 5, FieldKind::Boolean},
    {"type", 6, FieldKind::DataType},   nested("shape", 7, kShapeSchema),
    nested("tensor", 8, kTensorSchema), unread("func", 9),
};

inline constexpr FieldSchema kAttrValueSchema[] = {
    nested("list", 1, kListSchema),       {"s", 2, FieldKind::Bytes},
    {"i", 3, FieldKind::Integer},         {"f", 4, FieldKind::Float},
    {"b", 5, FieldKind::Boolean},         {"type", 6, FieldKind::DataType},
    nested("shape", 7, kShapeSchema),     nested("tensor", 8, kTensorSchema),
    {"placeholder", 9, FieldKind::Bytes}, unread("func", 10),
};
inline constexpr FieldSchema kAttrSchema[] = {{"key", 1, FieldKind::Bytes}, nested("value", 2, kAttrValueSchema)};

inline constexpr FieldSchema kNodeSchema[] = {{"name", 1, FieldKind::Bytes},
                                              {"op", 2, FieldKind::Bytes},
                                              {"input", 3, FieldKind::Bytes},
                                              nested("attr", 5, kAttrSchema)};
inline constexpr FieldSchema kVersionsSchema[] = {{"producer", 1, FieldKind::Integer}};
inline constexpr FieldSchema kGraphSchema[] = {nested("node", 1, kNodeSchema), nested("versions", 4, kVersionsSchema)};

inline constexpr FieldSchema kMetaInfoSchema[] = {{"tensorflow_version", 5, FieldKind::Bytes}};
inline constexpr FieldSchema kSaverSchema[] = {
    {"filename_tensor_name", 1, FieldKind::Bytes},
    {"save_tensor_name", 2, FieldKind::Bytes},
    {"restore_op_name", 3, FieldKind::Bytes},
    {"max_to_keep", 4, FieldKind::Integer},
    {"sharded", 5, FieldKind::Boolean},
    {"keep_checkpoint_every_n_hours", 6, FieldKind::Float},
    {"version", 7, FieldKind::CheckpointVersion},
};
inline constexpr FieldSchema kNamesSchema[] = {{"value", 1, FieldKind::Bytes}};
inline constexpr FieldSchema kCollectionSchema[] = {nested("node_list", 1, kNamesSchema),
                                                    nested("bytes_list", 2, kNamesSchema)};
inline constexpr FieldSchema kCollectionEntrySchema[] = {{"key", 1, FieldKind::Bytes},
                                                         nested("value", 2, kCollectionSchema)};
inline constexpr FieldSchema kMetaGraphSchema[] = {
    nested("meta_info_def", 1, kMetaInfoSchema), nested("graph_def", 2, kGraphSchema),
    nested("saver_def", 3, kSaverSchema), nested("collection_def", 4, kCollectionEntrySchema)};

}  // namespace trainhook::detail
