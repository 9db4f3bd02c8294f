// SPDX-License-Identifier: Apache-2.0
/// @file
/// State and variables that are bound to the memory of a user.
#include <trainhook/loop/bound_state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
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
            "its memory must keep its size as long as the session lives");
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
