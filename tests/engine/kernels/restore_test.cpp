// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the kernel that reads checkpoints.
#include <trainhook/engine/kernels.hpp>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/compat/init_from_checkpoint.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/restore.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/ops/math.hpp>

#include "run_op.hpp"
#include "temporary_folder.hpp"

namespace trainhook {
namespace {

class RestoreKernel : public ::testing::Test {
 protected:
  RestoreKernel() {
    BundleWriter writer(prefix_);
    writer.add("m", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
    writer.add_slice("cut", {4}, TensorSlice{{0, 3}}, Tensor::of<double>({1, 2, 3}));
    writer.add_slice("cut", {4}, TensorSlice{{3, 1}}, Tensor::of<double>({4}));
    writer.finish();
  }
  std::vector<Tensor> restore(const std::vector<RestoredTensor>& tensors) {
    Graph graph;
    const std::vector<Output> values = restore_v2(graph, prefix_, tensors);
    GraphSession session(graph, {.kernels = {kernels::restore()}});
    return session.run(std::vector<Fetch>(values.begin(), values.end()));
  }

  support::TemporaryFolder folder_;
  std::string prefix_ = folder_.file("model");
};

TEST_F(RestoreKernel, ReadsTensorsAndRegionsOfThem) {
  const std::vector<Tensor> values = restore({{"m", "", {DType::Float, {}}},
                                              {"m", "3 2 1,2:-", {DType::Float, {}}},
                                              {"cut", "", {DType::Double, {}}},
                                              {"cut", "4 2,2", {DType::Double, {}}}});
  EXPECT_EQ(values[0], Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  EXPECT_EQ(values[1], Tensor::of<float>({3, 4, 5, 6}, {2, 2}));
  EXPECT_EQ(values[2], Tensor::of<double>({1, 2, 3, 4}));
  EXPECT_EQ(values[3], Tensor::of<double>({3, 4}));
}

TEST_F(RestoreKernel, NamesWhatIsNotThere) {
  EXPECT_THROW(restore({{"x", "", {DType::Float, {}}}}), NotFoundError);
  EXPECT_THROW(restore({{"m", "", {DType::Double, {}}}}), InvalidArgumentError);
  EXPECT_THROW(restore({{"m", "3 2 2,2:-", {DType::Float, {}}}}), InvalidArgumentError);
  prefix_ += "-2";
  EXPECT_THROW(restore({{"m", "", {DType::Float, {}}}}), NotFoundError);
}

TEST_F(RestoreKernel, VariablesBeginWithWhatAnotherCheckpointHas) {
  Graph graph;
  const Variable w = make_variable("w", zeros(graph, {3, 2}));
  make_variable("twice", multiply(w, constant(graph, Tensor(2.0F))));  // of the initial value that w has then
  make_variable("part", zeros(graph, {1}, DType::Double),
                {.save_slice_info = std::make_shared<const SaveSliceInfo>(
                     SaveSliceInfo{.full_name = "c", .full_shape = {4}, .var_offset = {2}, .var_shape = {1}})});
  const Operation before = global_variables_initializer(graph);
  init_from_checkpoint(graph, prefix_, {{"m", "w"}, {"cut", "c"}});
  GraphSession session(graph, {.kernels = {kernels::restore(), kernels::state(), kernels::math()}});
  const std::vector<std::string> names = {"w", "twice", "part"};
  session.run(before);
  EXPECT_EQ(session.snapshot(names)[0].tensor, Tensor(DType::Float, {3, 2}));
  session.run(global_variables_initializer(graph));
  const std::vector<NamedTensor> values = session.snapshot(names);
  EXPECT_EQ(values[0].tensor, Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  EXPECT_EQ(values[2].tensor, Tensor::of<double>({3}));

  GraphSession fresh(graph, {.kernels = {kernels::restore(), kernels::state(), kernels::math()}});
  fresh.run(global_variables_initializer(graph));
  EXPECT_EQ(fresh.snapshot(names)[1].tensor, Tensor::of<float>({2, 4, 6, 8, 10, 12}, {3, 2}));
}

}  // namespace
}  // namespace trainhook
