// SPDX-License-Identifier: Apache-2.0
/// @file
/// GraphDefs back into graphs: the same bytes again, names, order, defaults, and errors that say what is wrong. Nodes
/// of unknown op types are imported with what is known of them, and a log line says which they are.
#include <trainhook/compat/import_graph_def.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/compat/kernels.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/model/gradients.hpp>
#include <trainhook/model/graph_def/graph_def_messages.hpp>
#include <trainhook/model/graph_def/graph_def_writer.hpp>
#include <trainhook/model/layers.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/indexing.hpp>
#include <trainhook/model/ops/join.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/matrix.hpp>
#include <trainhook/model/ops/nn.hpp>
#include <trainhook/model/ops/queue.hpp>
#include <trainhook/model/ops/random.hpp>
#include <trainhook/model/ops/slice.hpp>
#include <trainhook/model/optimizers.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "damage.hpp"

namespace trainhook {
namespace {

using ::testing::HasSubstr;

/// A model that trains, with most kinds of nodes and attributes.
void add_model(Graph& graph) {
  const Output image = placeholder(graph, DType::Float, {-1, 8, 8, 1}, "image");
  const Output label = placeholder(graph, DType::Int64, {-1}, "label");
  const Variable filter = make_variable("filter", random_normal(graph, {3, 3, 1, 2}));
  const Output pooled = max_pool(relu(conv2d(image, filter)));
  const Output logits = dense(dropout(reshape(pooled, {-1, 32}), 0.5), 3, "logits");
  const Output loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(label, logits)).named("loss");
  summary::scalar("loss", loss);
  summary::histogram("logits", logits);
  summary::image("image", image);
  AdamOptimizer({.learning_rate = 0.01}).minimize(loss, get_or_create_global_step(graph));
  const Output joined =
      concat({slice(logits, {0, 0}, {-1, 1}), pad(slice(logits, {0, 1}, {-1, 1}), {{0, 0}, {1, 0}})}, 1);
  const Output chosen = where(greater(joined, zeros_like(joined)), joined, tile(joined, {1, 1}));
  group(graph,
        {transpose(stack({chosen, chosen})).operation(), argmax(chosen, 1).operation(), one_hot(label, 3).operation(),
         gather(chosen, label).operation(), squeeze(expand_dims(chosen, 0)).operation()},
        "all");
  variables_initializer(graph, global_variables(graph));
}

std::string error_of(const std::string& text) {
  Graph graph;
  try {
    import_graph_def(graph, parse_graph_def_text(text, "model.pbtxt"), {.name = ""});
  } catch (const Error& error) { return error.what(); }
  return "no error";
}

constexpr std::string_view kScalar = R"(node { name: "a" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 2.5 } } } } )";

TEST(ImportGraphDef, OfWhatWeWroteGivesTheSameBytesAgain) {
  for (const bool add_shapes : {false, true}) {
    Graph graph;
    add_model(graph);
    const std::string bytes = as_graph_def(graph, {.add_shapes = add_shapes});
    Graph again;
    import_graph_def(again, parse_graph_def(bytes), {.name = ""});
    EXPECT_EQ(as_graph_def_text(again, {.add_shapes = add_shapes}),
              as_graph_def_text(graph, {.add_shapes = add_shapes}));
    EXPECT_EQ(as_graph_def(again, {.add_shapes = add_shapes}), bytes);
  }
}

TEST(ImportGraphDef, KnowsQueuesAndWhatTheyGive) {
  Graph graph;
  const FIFOQueue queue(graph, 4, {DType::Float, DType::String}, {{2}, {}});
  queue.enqueue(queue.dequeue());
  queue.enqueue_many(queue.dequeue_many(3));
  group(graph, {queue.close(true), queue.size().operation()});
  group(graph, {FIFOQueue(graph, -1, {DType::Int64}, {}, "any").dequeue()[0].operation()});
  Graph again;
  import_graph_def(again, parse_graph_def(as_graph_def(graph)), {.name = ""});
  EXPECT_EQ(as_graph_def_text(again), as_graph_def_text(graph));
  for (std::size_t id = 0; id < graph.size(); ++id) {
    const std::span<const OutputSpec> outputs = graph.nodes()[id].outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i)
      EXPECT_EQ(again.nodes()[id].outputs()[i].shape, outputs[i].shape) << graph.nodes()[id].name();
  }

  Graph bare;
  import_graph_def(
      bare,
      parse_graph_def_text(
          R"(node { name: "q" op: "FIFOQueueV2" attr { key: "component_types" value { list { type: DT_FLOAT } } } }
    node { name: "d" op: "QueueDequeueV2" input: "q" attr { key: "component_types" value { list { type: DT_FLOAT } } } })",
          "q.pbtxt"),
      {.name = ""});
  EXPECT_EQ(bare.operation("q").node().attr<std::int64_t>("capacity"), -1);
  EXPECT_EQ(bare.operation("q").node().attr<std::string>("shared_name"), "");
  EXPECT_FALSE(bare.output("d").shape().has_rank());
}

TEST(ImportGraphDef, OfOurTextGivesTheSameBytesAgain) {
  Graph graph;
  add_model(graph);
  Graph again;
  import_graph_def(again, parse_graph_def_text(as_graph_def_text(graph)), {.name = ""});
  EXPECT_EQ(as_graph_def(again), as_graph_def(graph));
}

TEST(ImportGraphDef, KnowsTheShapesThatTheBuildersKnew) {
  Graph graph;
  add_model(graph);
  Graph again;
  import_graph_def(again, parse_graph_def(as_graph_def(graph)), {.name = ""});
  ASSERT_EQ(again.size(), graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Node& before = graph.nodes()[i];
    const Node& after = again.nodes()[i];
    ASSERT_EQ(after.outputs().size(), before.outputs().size()) << before.name();
    for (std::size_t k = 0; k < before.outputs().size(); ++k) {
      EXPECT_EQ(after.outputs()[k].dtype, before.outputs()[k].dtype) << before.name();
      EXPECT_TRUE(before.outputs()[k].shape.compatible_with(after.outputs()[k].shape)) << before.name();
      if (before.type() == "Conv2D" || before.type() == "MatMul" || before.type() == "MaxPool" ||
          before.type() == "ConcatV2") {
        EXPECT_EQ(after.outputs()[k].shape, before.outputs()[k].shape) << before.name();
      }
    }
  }
}

TEST(ImportGraphDef, KeepsEachDTypeOfAConstant) {
  Graph graph;
  for (const detail::DTypeInfo& info : detail::kDTypes) {
    constant(graph, Tensor(info.dtype, Shape{3}), fmt::format("zeros_{}", info.name));
    constant(graph, Tensor(info.dtype, Shape{0, 2}), fmt::format("none_{}", info.name));
  }
  constant(graph, Tensor::of<double>({1, 2, 1e-300}), "doubles");
  constant(graph, Tensor::of<std::string>({"a", std::string("\0\xff\n\"", 4), ""}), "strings");
  constant(graph, Tensor::of<std::int64_t>({-7, -7}), "negative");
  constant(graph, Tensor::of<std::uint64_t>({~std::uint64_t{0}, ~std::uint64_t{0}}), "largest");
  constant(graph, Tensor::of<Half>({Half{0x3c00}, Half{0x3c00}}), "halves");
  constant(graph, Tensor::of<bool>({true, true}), "truths");
  constant(graph, Tensor::of<std::complex<float>>({{1, -2}, {1, -2}}), "complexes");
  for (const GraphDef& def : {parse_graph_def(as_graph_def(graph)), parse_graph_def_text(as_graph_def_text(graph))}) {
    Graph again;
    import_graph_def(again, def, {.name = ""});
    for (const Node& node : graph.nodes()) {
      EXPECT_EQ(again.operation(node.name()).node().attr<Tensor>("value"), node.attr<Tensor>("value")) << node.name();
    }
  }
}

TEST(ImportGraphDef, PutsNodesUnderAScopeOfTheirOwn) {
  Graph graph;
  const GraphDef def = parse_graph_def_text(kScalar);
  EXPECT_EQ(import_graph_def(graph, def).front().name(), "import/a");
  EXPECT_EQ(import_graph_def(graph, def).front().name(), "import_1/a");
  EXPECT_EQ(import_graph_def(graph, def, {.name = "mine"}).front().name(), "mine/a");
}

TEST(ImportGraphDef, TakesGivenOutputsInPlaceOfInputs) {
  Graph graph;
  const Output mine = constant(graph, Tensor(1.0F), "mine");
  const GraphDef def =
      parse_graph_def_text(R"(node { name: "y" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } })");
  EXPECT_EQ(import_graph_def(graph, def, {.input_map = {{"x:0", mine}}}).front().node().inputs()[0], mine);
  EXPECT_THROW(import_graph_def(graph, def), InvalidArgumentError);
}

TEST(ImportGraphDef, TakesNodesInAnyOrderAndControlInputs) {
  Graph graph;
  const GraphDef def = parse_graph_def_text(
      std::string(R"(node { name: "y" op: "Neg" input: "a:0" input: "^last" attr { key: "T" value { type: DT_FLOAT } } }
                     node { name: "last" op: "NoOp" } )") +
      std::string(kScalar));
  const std::vector<Operation> operations = import_graph_def(graph, def, {.name = ""});
  ASSERT_EQ(operations.size(), 3U);
  EXPECT_EQ(operations[0].name(), "y");
  ASSERT_EQ(operations[0].node().control_inputs().size(), 1U);
  EXPECT_EQ(operations[0].node().control_inputs()[0], operations[1]);
  EXPECT_GT(operations[0].node().id(), operations[2].node().id());
}

TEST(ImportGraphDef, AddsAttributesThatTensorFlowLeavesOut) {
  Graph graph;
  import_graph_def(graph, parse_graph_def_text(R"(
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "m" op: "MatMul" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "s" op: "Shape" input: "m" attr { key: "T" value { type: DT_FLOAT } } })"),
                   {.name = ""});
  EXPECT_FALSE(graph.operation("m").node().attr<bool>("transpose_a"));
  EXPECT_EQ(graph.output("s:0").dtype(), DType::Int32);
  EXPECT_FALSE(graph.output("x:0").shape().has_rank());
}

TEST(ImportGraphDef, DoesNotSkipAnUnknownKindOfAttribute) {
  std::string list;
  detail::append_element(list, 12, 1);
  std::string value;
  detail::append_element(value, 1, list);
  for (const std::string& unknown : {list, value}) {
    const detail::NodeMessage node{
        .name = "x", .op = "Other", .attr = {{"k", detail::Serialized<detail::AttrValueMessage>(unknown)}}};
    const GraphDef def = parse_graph_def(detail::message_bytes(detail::GraphMessage{.node = {node}}), "m");
    EXPECT_TRUE(def.nodes.at(0).attrs.empty());
    EXPECT_EQ(def.nodes.at(0).unheld_attrs,
              std::vector<std::string>{"m: this library does not support functions, or lists of tensors or booleans "
                                       "(attribute k of node 'x', a Other)"});
  }
}

TEST(ImportGraphDef, TakesOpTypesOfOnesOwn) {
  Graph graph;
  const OpDef own{.type = "MyCube", .signature = "T -> T", .shape = detail::shape_rules::like<0>};
  import_graph_def(
      graph,
      parse_graph_def_text(std::string(kScalar) +
                           R"(node { name: "c" op: "MyCube" input: "a" attr { key: "T" value { type: DT_FLOAT } } })"),
      {.name = "", .op_defs = {&own, 1}});
  EXPECT_EQ(graph.output("c:0").shape(), PartialShape(Shape{}));
}

TEST(ImportGraphDef, SaysWhatIsWrongWithANode) {
  const std::string scalar(kScalar);
  const auto neg = [&](std::string_view inputs, std::string_view type = "DT_FLOAT") {
    return fmt::format("{}node {{ name: \"n\" op: \"Neg\" {} attr {{ key: \"T\" value {{ type: {} }} }} }}", scalar,
                       inputs, type);
  };
  EXPECT_EQ(error_of(neg("input: \"b\"")), "model.pbtxt: node 'n' (Neg) has the input 'b', which is not there");
  EXPECT_EQ(error_of(neg("input: \"a:1\"")),
            "model.pbtxt: node 'n' (Neg) has the input 'a:1', an output that is not there");
  EXPECT_EQ(error_of(neg("input: \"a:x\"")), "model.pbtxt: node 'n' (Neg) has the input 'a:x', which is not a name");
  EXPECT_EQ(error_of(neg("input: \"n\"")), "model.pbtxt: node 'n' (Neg) depends on itself, by way of its input 'n'");
  EXPECT_EQ(error_of(neg("input: \"^a\" input: \"a\"")),
            "model.pbtxt: node 'n' (Neg) has an input after a control input");
  EXPECT_THAT(error_of(neg("")), HasSubstr("(Neg) has only 0 inputs"));
  EXPECT_THAT(error_of(neg("input: \"a\" input: \"a\"")), HasSubstr("(Neg) has 2 inputs; its op type takes 1"));
  EXPECT_THAT(error_of(neg("input: \"a\"", "DT_INT32")), HasSubstr("is 'a:0' float32[], not of dtype int32"));
  EXPECT_EQ(error_of(scalar + scalar), "model.pbtxt: node 'a' (Const) is in it twice");
  EXPECT_THAT(error_of(R"(node { name: "n" op: "Const" })"), HasSubstr("has no attribute dtype"));
  EXPECT_EQ(error_of(scalar + R"(node { name: "n" op: "Neg" input: "a" })"),
            "model.pbtxt: node 'n' (Neg) has no attribute T of the kind that its op type wants");
}

TEST(ImportGraphDef, SaysWhereTextDoesNotParse) {
  EXPECT_THAT(error_of("node {\n  name: \"a\n}"), HasSubstr("model.pbtxt"));
  EXPECT_THAT(error_of("node { name: 5 }"),
              HasSubstr("model.pbtxt is damaged or of another format: 5 is no value for the field name"));
  EXPECT_THAT(error_of("node: 3"), HasSubstr("no value for the field node"));
}

TEST(ImportGraphDef, ReadsAFileByTheEndingOfItsName) {
  testing::MemoryFileSystem disk;
  Graph graph;
  constant(graph, Tensor(4.0), "four");
  disk.make_directories("out");
  for (const bool as_text : {false, true}) {
    const std::string path = write_graph(disk, graph, "out", as_text ? "graph.pbtxt" : "graph.pb", as_text);
    Graph again;
    import_graph_def(again, read_graph_def(disk, path), {.name = ""});
    EXPECT_EQ(as_graph_def(again), as_graph_def(graph));
  }
}

std::string small_graph(bool as_text) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {-1, 3}, "x");
  const Variable w = make_variable("w", constant(graph, Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}), "w0"));
  const Output y = reduce_sum(pad(matmul(x, w, {}, "m"), {{0, 1}, {2, 0}}, "p"), {.axis = {{0}}}, "y");
  group(graph, {tile(y, {2}, "t").operation()}, "all");
  return as_text ? as_graph_def_text(graph, {.add_shapes = true}) : as_graph_def(graph, {.add_shapes = true});
}

/// Damaged, it has to be an Error that names the file, or a graph that can be written.
void damage(bool as_text, std::size_t most) {
  testing::expect_refused_or_read(
      small_graph(as_text), "damaged.pb",
      [&](const std::string& content) {
        Graph graph;
        const GraphDef def =
            as_text ? parse_graph_def_text(content, "damaged.pb") : parse_graph_def(content, "damaged.pb");
        import_graph_def(graph, def, {.name = ""});
        return as_graph_def(graph, {.add_shapes = true});
      },
      most);
}

TEST(ImportGraphDef, OfDamagedBytesIsAnErrorOrAGraph) { damage(false, 20'000); }
TEST(ImportGraphDef, OfDamagedTextIsAnErrorOrAGraph) { damage(true, 5'000); }

TEST(ImportGraphDef, DoesNotFillMoreThanAProtobufCouldHold) {
  const std::string text = R"(node { name: "a" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1099511627776 } } float_val: 1 } } } })";
  EXPECT_THAT(error_of(text), HasSubstr("repeat one value over more than 2147483648 bytes"));
}

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

/// Two unknown nodes, one of which a known one reads.
constexpr std::string_view kModel = R"(
  node { name: "file" op: "ReadFile" attr { key: "handler" value { func { name: "f" } } } }
  node { name: "jpeg" op: "DecodeJpeg" input: "file" attr { key: "channels" value { i: 3 } } }
  node { name: "y" op: "Neg" input: "jpeg:1" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "init" op: "NoOp" input: "^jpeg" })";

struct UnknownNodes : ::testing::Test {
  Graph graph;
  std::vector<std::string> lines;
  LogSink before = set_log_sink([this](LogLevel, std::string_view line) { lines.emplace_back(line); });

  ~UnknownNodes() override { set_log_sink(before); }

  void import(std::string_view text) {
    import_graph_def(graph, parse_graph_def_text(text, "model.pbtxt"), {.name = ""});
  }
};

TEST_F(UnknownNodes, AreImportedAndNamedInOneLogLine) {
  import(kModel);
  EXPECT_EQ(graph.size(), 4U);
  EXPECT_EQ(graph.operation("jpeg").type(), "DecodeJpeg");
  EXPECT_THAT(lines, ElementsAre("model.pbtxt: 2 of 4 nodes cannot run, their op types or dtypes are not known here: "
                                 "ReadFile ('file'), DecodeJpeg ('jpeg'). A run that needs one is an error"));
}

TEST_F(UnknownNodes, AreNotMentionedIfThereAreNone) {
  import(R"(node { name: "a" op: "NoOp" })");
  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(UnknownNodes, OfManyOpTypesAreCounted) {
  std::string text;
  for (const char letter : {'A', 'B', 'C', 'D', 'E', 'F', 'G'}) {
    for (int i = 0; i < 2; ++i) text += fmt::format("node {{ name: \"{0}{1}\" op: \"My{0}\" }} ", letter, i);
  }
  import(text);
  EXPECT_THAT(
      lines,
      ElementsAre("model.pbtxt: 14 of 14 nodes cannot run, their op types or dtypes are not known here: MyA ('A0'), "
                  "MyB ('B0'), MyC ('C0'), MyD ('D0'), MyE ('E0') and 2 more. A run that needs one is an "
                  "error"));
}

TEST_F(UnknownNodes, HaveTheOutputsThatOthersReadInTheirDTypes) {
  import(kModel);
  ASSERT_EQ(graph.operation("jpeg").node().outputs().size(), 2U);
  EXPECT_EQ(graph.output("jpeg:0").dtype(), DType::Invalid);
  EXPECT_EQ(graph.output("jpeg:1").dtype(), DType::Float);
  EXPECT_FALSE(graph.output("y").shape().has_rank());
  EXPECT_EQ(graph.operation("file").node().outputs().size(), 1U);
}

TEST_F(UnknownNodes, DoNotClaimToHaveOnlyTheOutputsThatOthersRead) {
  import(kModel);
  try {
    static_cast<void>(graph.output("jpeg:2"));
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(),
                 "operation jpeg (DecodeJpeg) was added without its op type's definition, and without output 2");
  }
}

TEST_F(UnknownNodes, TakeDTypesFromAttributesThatTensorFlowLeavesOut) {
  import(R"(node { name: "x" op: "Mystery" }
            node { name: "s" op: "Fill" input: "x" input: "x:1" attr { key: "T" value { type: DT_BOOL } } })");
  EXPECT_EQ(graph.output("x:0").dtype(), DType::Int32);
  EXPECT_EQ(graph.output("x:1").dtype(), DType::Bool);
}

TEST_F(UnknownNodes, KeepTheShapesThatTheFileNames) {
  import(R"(node { name: "x" op: "Mystery" attr { key: "_output_shapes" value { list {
                   shape { dim { size: 2 } } shape { unknown_rank: true } } } } }
            node { name: "y" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } })");
  EXPECT_EQ(graph.operation("x").node().outputs().size(), 2U);
  EXPECT_EQ(graph.output("y").shape(), PartialShape{2});
}

TEST_F(UnknownNodes, AreWrittenAsTheyWereRead) {
  import(R"(node { name: "x" op: "Mystery" attr { key: "depth" value { i: 3 } } })");
  const std::string text = as_graph_def_text(graph);
  Graph again;
  import_graph_def(again, parse_graph_def_text(text), {.name = ""});
  EXPECT_EQ(as_graph_def_text(again), text);
  EXPECT_EQ(again.operation("x").node().attr<std::int64_t>("depth"), 3);
}

/// Known op types with dtypes that no tensor here has; `y` and `sum` do without.
constexpr std::string_view kQuantized = R"(
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "small" op: "Cast" input: "x" attr { key: "SrcT" value { type: DT_FLOAT } }
         attr { key: "DstT" value { type: DT_QINT8 } } }
  node { name: "same" op: "Identity" input: "small" attr { key: "T" value { type: DT_QINT8 } } }
  node { name: "y" op: "Cast" input: "same" attr { key: "SrcT" value { type: DT_QINT8 } }
         attr { key: "DstT" value { type: DT_FLOAT } } }
  node { name: "sum" op: "AddV2" input: "y" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "half" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } })";

TEST_F(UnknownNodes, AreAlsoThoseOfAKnownOpTypeWithADTypeThatTensorsLack) {
  import(kQuantized);
  EXPECT_THAT(lines, ElementsAre("model.pbtxt: 3 of 6 nodes cannot run, their op types or dtypes are not known here: "
                                 "Cast ('small'), Identity ('same'). A run that needs one is an error"));
  EXPECT_EQ(graph.output("small").dtype(), DType::Invalid);
  EXPECT_EQ(graph.output("y").dtype(), DType::Float);
  EXPECT_EQ(graph.output("sum").dtype(), DType::Float);
}

TEST_F(UnknownNodes, DoNotKeepTheOthersFromRunning) {
  import(kQuantized);
  EigenSession session(graph);
  const Tensor two(2.0F);
  EXPECT_EQ(session.run(graph.output("half"), {{graph.output("x"), two}}), Tensor(-2.0F));
  EXPECT_EQ(session.run(graph.output("sum"), {{graph.output("x"), two}, {graph.output("y"), two}}), Tensor(4.0F));
}

TEST_F(UnknownNodes, SayWhyTheyCannotRun) {
  import(kQuantized);
  for (const bool is_read_again : {false, true}) {
    Graph other;
    if (is_read_again) import_graph_def(other, parse_graph_def(as_graph_def(graph)), {.name = ""});
    EigenSession session(is_read_again ? other : graph);
    const Graph& used = is_read_again ? other : graph;
    try {
      session.run(used.output("sum"), {{used.output("x"), Tensor(2.0F)}});
      FAIL() << "no error";
    } catch (const UnimplementedError& error) {
      EXPECT_STREQ(error.what(),
                   "node 'small' (Cast) cannot run here: model.pbtxt: no tensor here can hold DT_QINT8 (attribute DstT "
                   "of node 'small', a Cast); feed what the node gives");
    }
  }
}

TEST_F(UnknownNodes, MayHaveAShapeOfTooManyDimensions) {
  std::string dims;
  for (int i = 0; i < 9; ++i) dims += "dim { size: 1 } ";
  import(fmt::format(R"(node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
                                attr {{ key: "shape" value {{ shape {{ {0} }} }} }}
                                attr {{ key: "_output_shapes" value {{ list {{ shape {{ {0} }} }} }} }} }}
                        node {{ name: "y" op: "Neg" input: "x" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }})",
                     dims));
  EigenSession session(graph);
  EXPECT_EQ(session.run(graph.output("y"), {{graph.output("x"), Tensor(2.0F)}}), Tensor(-2.0F));
}

TEST_F(UnknownNodes, AreNotThoseThatOnlyLoseAShapeOfTooManyDimensions) {
  std::string dims;
  for (int i = 0; i < 9; ++i) dims += "dim { size: 1 } ";
  import(fmt::format(R"(node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
                                attr {{ key: "_output_shapes" value {{ list {{ shape {{ {} }} }} }} }} }})",
                     dims));
  EXPECT_THAT(lines, IsEmpty());
}

TEST_F(UnknownNodes, DoNotHideAMistake) {
  EXPECT_THROW(import(R"(node { name: "x" op: "Mystery" input: "gone" })"), InvalidArgumentError);
  EXPECT_THROW(import(R"(node { name: "x" op: "" })"), InvalidArgumentError);
  EXPECT_THROW(import(R"(node { name: "x" op: "My stery" })"), InvalidArgumentError);
  EXPECT_THROW(import(R"(node { name: "x" op: "Mystery" input: "x" })"), InvalidArgumentError);
  EXPECT_THROW(import(R"(node { name: "u" op: "Mystery" }
                         node { name: "a" op: "Neg" input: "u" attr { key: "T" value { type: DT_FLOAT } } }
                         node { name: "b" op: "Neg" input: "u" attr { key: "T" value { type: DT_INT32 } } })"),
               InvalidArgumentError);
}

TEST_F(UnknownNodes, AreThoseOfAWhileLoopWhereverTheFileBegins) {
  const std::string enter = R"(node { name: "e" op: "Enter" input: "x" attr { key: "T" value { type: DT_FLOAT } } })";
  const std::string merge = R"(node { name: "m" op: "Merge" input: "e" input: "n"
    attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 2 } } })";
  const std::string next = R"(node { name: "n" op: "NextIteration" input: "s" })";
  const std::string way = R"(node { name: "s" op: "Neg" input: "m" attr { key: "T" value { type: DT_FLOAT } } })";
  const std::string outside = R"(node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    node { name: "y" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } })";
  for (const std::string& loop : {enter + merge + next + way, next + way + merge + enter, way + enter + merge + next}) {
    Graph imported;
    import_graph_def(imported, parse_graph_def_text(loop + outside, "model.pbtxt"), {.name = ""});
    EigenSession session(imported, {.kernels = compat::kernels()});
    EXPECT_EQ(session.run(imported.output("y:0"), {{imported.output("x:0"), Tensor(2.0F)}}).scalar<float>(), -2);
    EXPECT_EQ(session.run(imported.output("s:0"), {{imported.output("m:0"), Tensor(3.0F)}}).scalar<float>(), -3);
    try {
      session.run(imported.output("s:0"), {{imported.output("x:0"), Tensor(2.0F)}});
      ADD_FAILURE() << "it ran";
    } catch (const UnimplementedError& error) {
      EXPECT_THAT(error.what(), EndsWith("cannot run here: it is part of a while_loop, which this library does not "
                                         "run; feed what the node gives"));
    }
  }
}

}  // namespace
}  // namespace trainhook
