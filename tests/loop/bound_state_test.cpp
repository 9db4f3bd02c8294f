// SPDX-License-Identifier: Apache-2.0
/// @file
/// State and variables that are bound to the memory of a user.
#include <trainhook/loop/bound_state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/log_lines.hpp>

namespace trainhook {
namespace {

/// States that write down what is done to them; `refuse` makes one of them fail when it is loaded.
class BoundStateTest : public ::testing::Test {
 protected:
  void add(const std::string& name, bool may_fail) {
    state.add({.name = name,
               .dtype = DType::String,
               .shape = Shape{},
               .save =
                   [this, name] {
                     saved += name + "\n";
                     return Tensor(name + " before");
                   },
               .prepare = [this, name](const Tensor& value) -> std::function<void()> {
                 const std::string text = value.data<std::string>()[0];
                 if (text == "bad") throw DataLossError("{} is bad", name);
                 return [this, name, text] {
                   trace += name + " = " + text + "\n";
                   if (name == refuse && text == "new") throw AbortedError("{} refuses", name);
                 };
               },
               .reset = [this, name] { trace += name + " begins again\n"; },
               .may_fail = may_fail});
  }
  void load(std::vector<NamedTensor> entries) { state.load(entries); }

  detail::BoundState state;
  std::string trace;
  std::string saved;
  std::string refuse;
};

TEST_F(BoundStateTest, LoadsInTheOrderOfRegistration) {
  add("plain", false);
  add("a", true);
  add("b", true);
  load({{"b", Tensor("new")}, {"plain", Tensor("new")}, {"a", Tensor("new")}});
  EXPECT_EQ(trace, "plain = new\na = new\nb = new\n");
}

TEST_F(BoundStateTest, TakesBackWhatWasLoadedBeforeARefusalWhicheverRefuses) {
  add("plain", false);
  add("a", true);
  add("b", true);
  add("last", false);
  const std::vector<NamedTensor> entries = {
      {"plain", Tensor("new")}, {"a", Tensor("new")}, {"b", Tensor("new")}, {"last", Tensor("new")}};
  refuse = "a";
  EXPECT_THROW(load(entries), AbortedError);
  EXPECT_EQ(trace, "plain = new\na = new\na = a before\nplain = plain before\n");
  trace.clear();
  refuse = "b";
  EXPECT_THROW(load(entries), AbortedError);
  EXPECT_EQ(trace, "plain = new\na = new\nb = new\nb = b before\na = a before\nplain = plain before\n");
}

TEST_F(BoundStateTest, KeepsOldValuesOnlyUpToTheLastThatMayFail) {
  add("before", false);
  add("may fail", true);
  add("after", false);
  load({{"before", Tensor("new")}, {"may fail", Tensor("new")}, {"after", Tensor("new")}});
  EXPECT_EQ(saved, "before\nmay fail\n");
}

TEST_F(BoundStateTest, CommitsNothingIfOneEntryIsBad) {
  add("a", false);
  add("b", false);
  EXPECT_THROW(load({{"a", Tensor("new")}, {"b", Tensor("bad")}}), DataLossError);
  EXPECT_THROW(load({{"a", Tensor("new")}, {"b", Tensor(1.0F)}}), InvalidArgumentError);
  EXPECT_THROW(load({{"a", Tensor("new")}, {"c", Tensor("new")}}), NotFoundError);
  EXPECT_EQ(trace, "");
}

TEST_F(BoundStateTest, LoadsAPartAndLeavesTheRest) {
  add("a", false);
  add("b", false);
  load({{"b", Tensor("new")}});
  load({});
  EXPECT_EQ(trace, "b = new\n");
}

TEST_F(BoundStateTest, RefusesASecondStateOfOneName) {
  add("a", false);
  EXPECT_THROW(add("a", false), InvalidArgumentError);
  EXPECT_EQ(state.specs().size(), 1U);
}

TEST_F(BoundStateTest, BeginsAgainWithWhatAsksForIt) {
  add("a", false);
  state.begin_again();
  EXPECT_EQ(trace, "a begins again\n");
  EXPECT_EQ(state.uninitialized(), nullptr) << "only variables need a value";
}

TEST_F(BoundStateTest, NamesWhatItDoesNotHave) { EXPECT_THROW((void)state.save("weights"), NotFoundError); }

/// A dense matrix with the members that Eigen's have.
template <class T, bool RowMajor, bool IsVector = false>
struct MatrixDouble {
  enum { IsRowMajor = RowMajor, IsVectorAtCompileTime = IsVector };
  MatrixDouble(std::int64_t row_count, std::int64_t column_count)
      : row_count_(row_count), values(static_cast<std::size_t>(row_count * column_count)) {}
  [[nodiscard]] T* data() { return values.data(); }
  [[nodiscard]] const T* data() const { return values.data(); }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
  [[nodiscard]] std::int64_t rows() const { return row_count_; }
  [[nodiscard]] std::int64_t cols() const { return size() / row_count_; }
  [[nodiscard]] std::int64_t innerSize() const { return RowMajor ? cols() : rows(); }
  [[nodiscard]] std::int64_t innerStride() const { return 1; }
  [[nodiscard]] std::int64_t outerStride() const { return innerSize() + gap; }

 private:
  std::int64_t row_count_;

 public:
  std::vector<T> values;
  std::int64_t gap = 0;
};

static_assert(detail::DenseMatrix<MatrixDouble<float, false>> && !detail::DenseMatrix<std::vector<float>>);
static_assert(VariableMemory<std::vector<float>> && VariableMemory<float[3]> && VariableMemory<bool> &&
              VariableMemory<std::array<double, 3>>);
static_assert(!VariableMemory<std::vector<bool>> && !VariableMemory<const std::vector<float>> &&
              !VariableMemory<std::string>);
static_assert(!VariableMemory<std::vector<std::string>> && !VariableMemory<std::vector<char>>);

template <class Memory>
Tensor stored(Memory& memory, const MemoryOptions& options = {}) {
  LoopSession loop;
  loop.variable("w", memory, options);
  return loop.snapshot(std::vector<std::string>{"w"}).at(0).tensor;
}

template <class Body>
std::string refusal(Body body) {
  try {
    body();
  } catch (const Error& error) { return fmt::format("{}: {}", error_code_name(error.code()), error.what()); }
  return "none";
}

TEST(VariableBinding, StoresAColumnMajorMatrixRowByRow) {
  MatrixDouble<float, false> matrix(2, 3);
  matrix.values = {1, 4, 2, 5, 3, 6};
  EXPECT_EQ(stored(matrix), Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  MatrixDouble<float, true> by_row(2, 3);
  by_row.values = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(stored(by_row), Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
}

TEST(VariableBinding, StoresAVectorTypeAsAVector) {
  MatrixDouble<double, false, true> vector(3, 1);
  vector.values = {1, 2, 3};
  EXPECT_EQ(stored(vector), Tensor::of<double>({1, 2, 3}));
}

TEST(VariableBinding, TakesTheLayoutThatIsSaid) {
  std::vector<float> memory{1, 4, 2, 5, 3, 6};
  EXPECT_EQ(stored(memory, {.shape = {2, 3}, .layout = Layout::ColumnMajor}),
            Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  EXPECT_EQ(stored(memory, {.shape = {-1, 3}}), Tensor::of<float>({1, 4, 2, 5, 3, 6}, {2, 3}));
  EXPECT_EQ(stored(memory, {.shape = {6, 1, 1}}).shape(), (Shape{6, 1, 1}));
}

TEST(VariableBinding, LoadsBackIntoColumnMajorMemory) {
  LoopSession loop;
  std::vector<std::int32_t> memory(6);
  loop.variable("w", memory, {.shape = {2, 3}, .layout = Layout::ColumnMajor});
  const std::vector<NamedTensor> entries{{"w", Tensor::of<std::int32_t>({1, 2, 3, 4, 5, 6}, {2, 3})}};
  loop.load(entries);
  EXPECT_EQ(memory, (std::vector<std::int32_t>{1, 4, 2, 5, 3, 6}));
}

TEST(VariableBinding, TakesSingleValuesArraysAndNothing) {
  double rate = 0.5;
  std::int64_t array[2] = {1, 2};
  std::vector<float> nothing;
  EXPECT_EQ(stored(rate), Tensor(0.5));
  EXPECT_EQ(stored(array), Tensor::of<std::int64_t>({1, 2}));
  EXPECT_EQ(stored(nothing).shape(), Shape{0});
}

TEST(VariableBinding, RefusesAShapeThatDoesNotFit) {
  std::vector<float> memory(6);
  EXPECT_EQ(refusal([&] {
              (void)stored(memory, {.shape = {2, 2}});
            }),
            "InvalidArgument: variable 'w': shape [2,2] does not fit the 6 elements of its memory");
  EXPECT_EQ(refusal([&] {
              (void)stored(memory, {.shape = {-1, 4}});
            }),
            "InvalidArgument: variable 'w': shape [?,4] does not fit the 6 elements of its memory");
  EXPECT_EQ(refusal([&] {
              (void)stored(memory, {.shape = {-1, -1}});
            }),
            "InvalidArgument: variable 'w': shape [?,?] does not fit the 6 elements of its memory");
  EXPECT_EQ(refusal([&] {
              (void)stored(memory, {.shape = {-1, 0}});
            }),
            "InvalidArgument: variable 'w': shape [?,0] does not fit the 6 elements of its memory");
  EXPECT_EQ(refusal([&] {
              (void)stored(memory, {.shape = {std::int64_t{1} << 62, 8}});
            }),
            "InvalidArgument: variable 'w': shape [4611686018427387904,8] does not fit the 6 elements of its memory");
}

TEST(VariableBinding, RefusesColumnMajorMemoryThatIsNotAMatrix) {
  std::vector<float> memory(6);
  EXPECT_EQ(refusal([&] { (void)stored(memory, {.layout = Layout::ColumnMajor}); }),
            "InvalidArgument: variable 'w': column-major memory needs the shape {rows, columns}, not [6]");
}

TEST(VariableBinding, RefusesAViewWithGaps) {
  MatrixDouble<float, false> view(2, 3);
  view.gap = 1;
  EXPECT_EQ(refusal([&] { (void)stored(view); }),
            "InvalidArgument: variable 'w' is a view with gaps in its memory; register the whole matrix, or read and "
            "write functions");
}

TEST(VariableBinding, NoticesAMatrixOfAnotherShape) {
  LoopSession loop;
  MatrixDouble<float, false> matrix(2, 3);
  loop.variable("w", matrix);
  matrix = MatrixDouble<float, false>(3, 2);
  EXPECT_EQ(refusal([&] { (void)loop.run("w"); }),
            "FailedPrecondition: variable 'w' had shape [2,3] when it was registered and has [3,2] now; "
            "its memory must keep its size as long as the session lives, or, for the number of rows, be registered "
            "with {.resizable = true}");
}

/// One in which rows can be added, with the members that Eigen's have.
template <bool RowMajor>
struct OpenMatrixDouble : MatrixDouble<float, RowMajor> {
  enum { RowsAtCompileTime = -1 };
  OpenMatrixDouble() : MatrixDouble<float, RowMajor>(2, 3) {}
  void resize(std::int64_t row_count, std::int64_t column_count) {
    static_cast<MatrixDouble<float, RowMajor>&>(*this) = MatrixDouble<float, RowMajor>(row_count, column_count);
  }
  void resize(std::int64_t) { FAIL() << "of a vector"; }
};

NamedTensor saved(LoopSession& loop, const std::string& name) { return loop.snapshot(std::vector{name}).at(0); }
void load(LoopSession& loop, std::vector<NamedTensor> entries) { loop.load(entries); }

TEST(ResizableVariable, IsStoredAsItIsAndResizedToWhatIsLoaded) {
  LoopSession loop;
  std::vector<float> points{1, 2, 3};
  std::vector<double> ages{1};
  EXPECT_EQ(loop.variable("points", points, {.shape = {-1, 3}, .resizable = true}).shape(), PartialShape({-1, 3}));
  loop.variable("ages", ages, {.resizable = true});
  const NamedTensor before = saved(loop, "points");
  points = {1, 2, 3, 4, 5, 6};
  ages.clear();
  EXPECT_EQ(before.tensor, Tensor::of<float>({1, 2, 3}, {1, 3}));
  EXPECT_EQ(saved(loop, "points").tensor, Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  EXPECT_EQ(saved(loop, "ages").tensor.shape(), Shape{0});
  EXPECT_EQ(loop.memory("points").shape, (Shape{2, 3}));
  load(loop, {before, {"ages", Tensor::of<double>({7, 8, 9})}});
  EXPECT_EQ(points, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(ages, (std::vector<double>{7, 8, 9}));
  load(loop, {{"points", Tensor(DType::Float, {0, 3})}});
  EXPECT_TRUE(points.empty());
}

TEST(ResizableVariable, StaysWhereItIsIfItHasTheSize) {
  LoopSession loop;
  std::vector<float> points{1, 2, 3};
  loop.variable("points", points, {.resizable = true});
  const float* const before = points.data();
  load(loop, {{"points", Tensor::of<float>({4, 5, 6})}});
  EXPECT_EQ(points, (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(points.data(), before);
}

TEST(ResizableVariable, ChangesOnlyTheNumberOfItsRows) {
  LoopSession loop;
  std::vector<float> points(6);
  loop.variable("points", points, {.shape = {-1, 3}, .resizable = true});
  EXPECT_EQ(refusal([&] {
              load(loop, {{"points", Tensor(DType::Float, {3, 2})}});
            }),
            "InvalidArgument: 'points' is float32[?,3] and cannot take float32[3,2]");
  points.resize(7);
  EXPECT_EQ(refusal([&] { (void)saved(loop, "points"); }),
            "InvalidArgument: variable 'points': shape [?,3] does not fit the 7 elements of its memory");
}

TEST(ResizableVariable, MayBeAMatrixInEitherOrder) {
  LoopSession loop;
  OpenMatrixDouble<true> by_row;
  OpenMatrixDouble<false> by_column;
  std::vector<float> columns(4);
  loop.variable("by_row", by_row, {.resizable = true});
  loop.variable("by_column", by_column, {.resizable = true});
  loop.variable("columns", columns, {.shape = {2, 2}, .layout = Layout::ColumnMajor, .resizable = true});
  const Tensor value = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
  load(loop, {{"by_row", value}, {"by_column", value}, {"columns", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2})}});
  EXPECT_EQ(by_row.values, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(by_column.values, (std::vector<float>{1, 4, 7, 2, 5, 8, 3, 6, 9}));
  EXPECT_EQ(columns, (std::vector<float>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(saved(loop, "by_column").tensor, value);
  by_row.resize(1, 9);
  EXPECT_EQ(refusal([&] { (void)saved(loop, "by_row"); }),
            "FailedPrecondition: variable 'by_row' had shape [2,3] when it was registered and has [1,9] now; its "
            "memory must keep its size as long as the session lives, or, for the number of rows, be registered with "
            "{.resizable = true}");
}

TEST(ResizableVariable, KeepsItsSizeAndValueIfTheLoadFails) {
  LoopSession loop;
  std::vector<float> points{1, 2};
  loop.variable("points", points, {.resizable = true});
  loop.state(
      "rest", [] { return std::string("old"); },
      [&](const std::string& value) {
        if (value == "grows") points.push_back(9);
        if (value == "throws") throw AbortedError("no");
      });
  const float* const before = points.data();
  const auto refuse = [&](const Tensor& value, const char* rest) {
    return refusal([&] { load(loop, {{"points", value}, {"_trainhook/state/rest", Tensor(rest)}}); });
  };
  EXPECT_EQ(refuse(Tensor::of<float>({3, 4, 5}), "throws"), "Aborted: no");
  EXPECT_EQ(refuse(Tensor::of<float>({3, 4, 5}), "grows"),
            "FailedPrecondition: variable 'points' got the shape [4] while a value of shape [3] was loaded: leave its "
            "size to the restore");
  EXPECT_EQ(points, (std::vector<float>{1, 2}));
  EXPECT_EQ(points.data(), before);
}

/// A vector for which there is no memory above a size.
struct SmallVector : std::vector<float> {
  void resize(std::size_t count) {
    if (count > 4) throw std::bad_alloc();
    std::vector<float>::resize(count);
  }
};

TEST(ResizableVariable, HasAllItsMemoryBeforeTheFirstOneChanges) {
  LoopSession loop;
  std::vector<float> first{1};
  SmallVector second;
  loop.variable("first", first, {.resizable = true});
  loop.variable("second", second, {.resizable = true});
  EXPECT_THROW(load(loop, {{"first", Tensor::of<float>({2, 3})}, {"second", Tensor(DType::Float, {5})}}),
               std::bad_alloc);
  EXPECT_EQ(first, std::vector<float>{1});
}

TEST(ResizableVariable, IsRefusedWhereNoSizeCanChange) {
  std::vector<float> vector(6);
  std::array<float, 3> array{};
  MatrixDouble<float, true> matrix(2, 3);
  OpenMatrixDouble<true> open;
  double number = 0;
  const std::string fixed =
      "InvalidArgument: variable 'w' cannot be `resizable`: only a vector can, or a matrix in its own shape whose type "
      "leaves the number of rows open";
  const MemoryOptions resizable{.resizable = true};
  EXPECT_EQ(refusal([&] { (void)stored(array, resizable); }), fixed);
  EXPECT_EQ(refusal([&] { (void)stored(matrix, resizable); }), fixed);
  EXPECT_EQ(refusal([&] { (void)stored(number, resizable); }), fixed);
  EXPECT_EQ(refusal([&] { (void)stored(open, {.shape = {3, 2}, .resizable = true}); }), fixed);
  EXPECT_EQ(refusal([&] { LoopSession().variable("w", std::span(vector), resizable); }), fixed);
  EXPECT_EQ(refusal([&] { (void)stored(vector, {.part_of = {.shape = {12}, .offset = {6}}, .resizable = true}); }),
            "InvalidArgument: variable 'w': a part of a tensor keeps its size: leave out `resizable` or `part_of`");
}

TEST(VariableBinding, RefusesTruthValuesThatAreNone) {
  LoopSession loop;
  std::array<bool, 2> flags{};
  loop.variable("flags", flags);
  Tensor bad(DType::Bool, Shape{2});
  bad.overwrite_bytes()[1] = std::byte{2};
  const std::vector<NamedTensor> entries{{"flags", bad}};
  EXPECT_EQ(refusal([&] { loop.load(entries); }), "DataLoss: 'flags': a truth value is neither 0 nor 1");
}

TEST(VariableBinding, NamesTheVariableWhoseFunctionThrows) {
  const testing::LogLines log;
  LoopSession loop;
  loop.variable("w", {.dtype = DType::Float,
                      .shape = Shape{1},
                      .read = [](std::span<std::byte>) { throw std::range_error("no device"); },
                      .write = [](std::span<const std::byte>) { throw std::range_error("no device"); }});
  EXPECT_THROW(static_cast<void>(loop.snapshot(std::vector<std::string>{"w"})), std::range_error);
  EXPECT_EQ(log.count("E the read function of variable 'w' threw: no device"), 1U);
}

}  // namespace
}  // namespace trainhook
