// SPDX-License-Identifier: Apache-2.0
/// @file
/// GraphDef, MetaGraphDef, the messages inside them and those in the collections of the latter (variables and queue
/// runners): the fields that this library uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/proto/shared_messages.hpp>

namespace trainhook::detail {

/// NameAttrList; only its name is read.
struct FunctionMessage {
  std::string_view name{};
};
template <>
inline constexpr auto kFields<FunctionMessage> = std::tuple(field(1, "name", &FunctionMessage::name));

/// AttrValue.ListValue.
struct ListValueMessage {
  std::vector<std::string_view> s{};
  std::vector<std::int64_t> i{};
  std::vector<float> f{};
  std::vector<bool> b{};
  std::vector<std::uint64_t> type{};
  std::vector<TensorShapeMessage> shape{};
  std::vector<Serialized<TensorMessage>> tensor{};
  std::vector<Serialized<FunctionMessage>> func{};
};
template <>
inline constexpr auto kFields<ListValueMessage> =
    std::tuple(field(2, "s", &ListValueMessage::s), field(3, "i", &ListValueMessage::i),
               field(4, "f", &ListValueMessage::f), field(5, "b", &ListValueMessage::b),
               field(6, "type", &ListValueMessage::type, &kDataTypeNames), field(7, "shape", &ListValueMessage::shape),
               field(8, "tensor", &ListValueMessage::tensor), field(9, "func", &ListValueMessage::func));

/// A oneof. The types differ, so that `std::get_if` finds an alternative; that is why the placeholder is a std::string.
struct AttrValueMessage {
  std::variant<std::monostate, Serialized<ListValueMessage>, std::string_view, std::int64_t, float, bool, std::uint64_t,
               TensorShapeMessage, TensorMessage, std::string, Serialized<FunctionMessage>>
      value{};
};
template <>
inline constexpr auto kFields<AttrValueMessage> = std::tuple(
    alternative<1>(1, "list", &AttrValueMessage::value), alternative<2>(2, "s", &AttrValueMessage::value),
    alternative<3>(3, "i", &AttrValueMessage::value), alternative<4>(4, "f", &AttrValueMessage::value),
    alternative<5>(5, "b", &AttrValueMessage::value),
    alternative<6>(6, "type", &AttrValueMessage::value, &kDataTypeNames),
    alternative<7>(7, "shape", &AttrValueMessage::value), alternative<8>(8, "tensor", &AttrValueMessage::value),
    alternative<9>(9, "placeholder", &AttrValueMessage::value), alternative<10>(10, "func", &AttrValueMessage::value));

/// An entry of map<string, AttrValue>. The value is read apart, so that one is in memory at a time.
struct AttrMessage {
  std::optional<std::string_view> key{};  // written even if it is empty
  Serialized<AttrValueMessage> value{};
};
template <>
inline constexpr auto kFields<AttrMessage> =
    std::tuple(field(1, "key", &AttrMessage::key), field(2, "value", &AttrMessage::value));

struct NodeMessage {
  std::string_view name{};
  std::optional<std::string_view> op{};  // written even if it is empty
  std::vector<std::string_view> input{};
  std::vector<AttrMessage> attr{};
};
template <>
inline constexpr auto kFields<NodeMessage> =
    std::tuple(field(1, "name", &NodeMessage::name), field(2, "op", &NodeMessage::op),
               field(3, "input", &NodeMessage::input), field(5, "attr", &NodeMessage::attr));

/// OpDef.ArgDef.
struct ArgMessage {
  std::string_view name{};
  std::uint64_t type = 0;
};
template <>
inline constexpr auto kFields<ArgMessage> =
    std::tuple(field(1, "name", &ArgMessage::name), field(3, "type", &ArgMessage::type, &kDataTypeNames));

/// OpDef, the signature of a function.
struct SignatureMessage {
  std::string_view name{};
  std::vector<ArgMessage> input_arg{};
  std::vector<ArgMessage> output_arg{};
};
template <>
inline constexpr auto kFields<SignatureMessage> =
    std::tuple(field(1, "name", &SignatureMessage::name), field(2, "input_arg", &SignatureMessage::input_arg),
               field(3, "output_arg", &SignatureMessage::output_arg));

/// An entry of map<string, string>.
struct ResultMessage {
  std::string_view key{};
  std::string_view value{};
};
template <>
inline constexpr auto kFields<ResultMessage> =
    std::tuple(field(1, "key", &ResultMessage::key), field(2, "value", &ResultMessage::value));

/// FunctionDef.
struct FunctionDefMessage {
  SignatureMessage signature{};
  std::vector<NodeMessage> node_def{};
  std::vector<ResultMessage> ret{};
  std::vector<ResultMessage> control_ret{};
};
template <>
inline constexpr auto kFields<FunctionDefMessage> = std::tuple(
    field(1, "signature", &FunctionDefMessage::signature), field(3, "node_def", &FunctionDefMessage::node_def),
    field(4, "ret", &FunctionDefMessage::ret), field(6, "control_ret", &FunctionDefMessage::control_ret));

/// FunctionDefLibrary.
struct FunctionLibraryMessage {
  std::vector<FunctionDefMessage> function{};
};
template <>
inline constexpr auto kFields<FunctionLibraryMessage> =
    std::tuple(field(1, "function", &FunctionLibraryMessage::function));

/// GraphDef. It is written and read in parts, one node at a time.
struct GraphMessage {
  std::vector<NodeMessage> node{};
  std::optional<FunctionLibraryMessage> library{};
  std::optional<VersionMessage> versions{};
};
template <>
inline constexpr auto kFields<GraphMessage> =
    std::tuple(field(1, "node", &GraphMessage::node), field(2, "library", &GraphMessage::library),
               field(4, "versions", &GraphMessage::versions));

/// MetaInfoDef.
struct MetaInfoMessage {
  std::vector<std::string_view> tags{};  // which graph of a SavedModel it is
  std::string_view tensorflow_version{};
};
template <>
inline constexpr auto kFields<MetaInfoMessage> = std::tuple(
    field(4, "tags", &MetaInfoMessage::tags), field(5, "tensorflow_version", &MetaInfoMessage::tensorflow_version));

[[nodiscard]] TRAINHOOK_DECL std::string_view checkpoint_version_name(std::uint64_t version);
[[nodiscard]] TRAINHOOK_DECL std::optional<std::uint64_t> checkpoint_version_of_name(std::string_view name);
inline constexpr ValueNames kCheckpointVersionNames{.name_of = checkpoint_version_name,
                                                    .value_of = checkpoint_version_of_name};

/// SaverDef.
struct SaverMessage {
  std::string_view filename_tensor_name{};
  std::string_view save_tensor_name{};
  std::string_view restore_op_name{};
  std::int32_t max_to_keep = 0;
  bool sharded = false;
  std::optional<float> keep_checkpoint_every_n_hours{};  // written even if it is zero
  std::uint64_t version = 0;                             // of the checkpoint's format, 2: a tensor bundle
};
template <>
inline constexpr auto kFields<SaverMessage> =
    std::tuple(field(1, "filename_tensor_name", &SaverMessage::filename_tensor_name),
               field(2, "save_tensor_name", &SaverMessage::save_tensor_name),
               field(3, "restore_op_name", &SaverMessage::restore_op_name),
               field(4, "max_to_keep", &SaverMessage::max_to_keep), field(5, "sharded", &SaverMessage::sharded),
               field(6, "keep_checkpoint_every_n_hours", &SaverMessage::keep_checkpoint_every_n_hours),
               field(7, "version", &SaverMessage::version, &kCheckpointVersionNames));

/// CollectionDef.NodeList and CollectionDef.BytesList.
struct CollectionListMessage {
  std::vector<std::string_view> value{};
};
template <>
inline constexpr auto kFields<CollectionListMessage> = std::tuple(field(1, "value", &CollectionListMessage::value));

/// CollectionDef.
struct CollectionMessage {
  std::optional<CollectionListMessage> node_list{};
  std::optional<CollectionListMessage> bytes_list{};
};
template <>
inline constexpr auto kFields<CollectionMessage> = std::tuple(field(1, "node_list", &CollectionMessage::node_list),
                                                              field(2, "bytes_list", &CollectionMessage::bytes_list));

/// An entry of map<string, CollectionDef>.
struct CollectionEntryMessage {
  std::optional<std::string_view> key{};  // written even if it is empty
  CollectionMessage value{};
};
template <>
inline constexpr auto kFields<CollectionEntryMessage> =
    std::tuple(field(1, "key", &CollectionEntryMessage::key), field(2, "value", &CollectionEntryMessage::value));

struct MetaGraphMessage {
  std::optional<MetaInfoMessage> meta_info_def{};
  std::optional<Serialized<GraphMessage>> graph_def{};
  std::optional<SaverMessage> saver_def{};
  std::vector<CollectionEntryMessage> collection_def{};
};
template <>
inline constexpr auto kFields<MetaGraphMessage> = std::tuple(
    field(1, "meta_info_def", &MetaGraphMessage::meta_info_def), field(2, "graph_def", &MetaGraphMessage::graph_def),
    field(3, "saver_def", &MetaGraphMessage::saver_def), field(4, "collection_def", &MetaGraphMessage::collection_def));

/// SaveSliceInfoDef.
struct SaveSliceInfoMessage {
  std::string full_name{};
  std::vector<std::int64_t> full_shape{};
  std::vector<std::int64_t> var_offset{};
  std::vector<std::int64_t> var_shape{};
};
template <>
inline constexpr auto kFields<SaveSliceInfoMessage> = std::tuple(
    field(1, "full_name", &SaveSliceInfoMessage::full_name), field(2, "full_shape", &SaveSliceInfoMessage::full_shape),
    field(3, "var_offset", &SaveSliceInfoMessage::var_offset), field(4, "var_shape", &SaveSliceInfoMessage::var_shape));

/// VariableDef.
struct VariableMessage {
  std::string variable_name{};
  std::string initializer_name{};
  std::string snapshot_name{};
  std::optional<SaveSliceInfoMessage> save_slice_info_def{};
  std::string initial_value_name{};
  bool trainable = false;
};
template <>
inline constexpr auto kFields<VariableMessage> =
    std::tuple(field(1, "variable_name", &VariableMessage::variable_name),
               field(2, "initializer_name", &VariableMessage::initializer_name),
               field(3, "snapshot_name", &VariableMessage::snapshot_name),
               field(4, "save_slice_info_def", &VariableMessage::save_slice_info_def),
               field(6, "initial_value_name", &VariableMessage::initial_value_name),
               field(7, "trainable", &VariableMessage::trainable));

/// QueueRunnerDef, without `queue_closed_exception_types`: here that is the end of input.
struct QueueRunnerMessage {
  std::string queue_name{};
  std::vector<std::string> enqueue_op_name{};
  std::string close_op_name{};
  std::string cancel_op_name{};
};
template <>
inline constexpr auto kFields<QueueRunnerMessage> =
    std::tuple(field(1, "queue_name", &QueueRunnerMessage::queue_name),
               field(2, "enqueue_op_name", &QueueRunnerMessage::enqueue_op_name),
               field(3, "close_op_name", &QueueRunnerMessage::close_op_name),
               field(4, "cancel_op_name", &QueueRunnerMessage::cancel_op_name));

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/graph_def/impl/graph_def_messages.ipp>
#endif
