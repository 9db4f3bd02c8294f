// SPDX-License-Identifier: Apache-2.0
/// @file
/// Modules and optimizers whose tensors are on a device: what is copied, where to and when. The device is played.
#include <trainhook/torch/modules.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/torch/optimizer_state.hpp>
#include <trainhook/torch/optimizers.hpp>
#include <trainhook/torch/tensors.hpp>

#include "played_device.hpp"

namespace trainhook::libtorch {
namespace {

using Calls = std::vector<std::string>;
const Calls kSnapshot{"copy from device to device", "record an event in stream 0"};

struct OnADevice : ::testing::Test {
  OnADevice() {
    played_device = {};
    const ::torch::NoGradGuard no_grad;
    weight = module.register_parameter("weight", ::torch::tensor({1.F, 2.F, 3.F}).to(kPlayed));
    played_device.take();
  }
  void fill(float value) {
    const ::torch::NoGradGuard no_grad;
    on_host(weight).fill_(value);
  }
  [[nodiscard]] Tensor read(const std::string& prefix, const std::string& name) {
    return BundleReader(prefix, {.file_system = &disk}).get_tensor(name);
  }
  testing::MemoryFileSystem disk;
  Saver saver{{.file_system = &disk}};
  LoopSession loop;
  ::torch::nn::Module module;
  ::torch::Tensor weight;
};

TEST_F(OnADevice, ASaveCopiesEachTensorOnceToTheHost) {
  add_module(loop, "net", module, Snapshots::OnDevice);
  saver.save(loop, {.save_path = "run/m"});
  EXPECT_EQ(played_device.take(), Calls{"copy from device to host"});
  EXPECT_EQ(read("run/m", "net/weight"), Tensor::of<float>({1, 2, 3}));
}

TEST_F(OnADevice, ASnapshotOnTheHostIsOneCopy) {
  add_module(loop, "net", module);
  const Snapshot snapshot = saver.snapshot(loop);
  EXPECT_EQ(played_device.take(), Calls{"copy from device to host"});
  fill(9);
  saver.write(snapshot, {.save_path = "run/m"});
  EXPECT_EQ(played_device.take(), Calls{});
  EXPECT_EQ(read("run/m", "net/weight"), Tensor::of<float>({1, 2, 3}));
}

TEST_F(OnADevice, ASnapshotOnTheDeviceComesToTheHostWhenItIsWritten) {
  add_module(loop, "net", module, Snapshots::OnDevice);
  const Snapshot snapshot = saver.snapshot(loop);
  EXPECT_EQ(played_device.take(), kSnapshot);
  fill(9);
  played_device.stream = 1;  // that of the thread that writes
  saver.write(snapshot, {.save_path = "run/m"});
  EXPECT_EQ(played_device.take(), (Calls{"stream 1 waits for the event", "copy from device to host"}));
  EXPECT_EQ(read("run/m", "net/weight"), Tensor::of<float>({1, 2, 3}));
}

TEST_F(OnADevice, ASnapshotIsOnTheHostIfTheDeviceHasNoRoom) {
  add_module(loop, "net", module, Snapshots::OnDevice);
  played_device.has_room = false;
  const Snapshot snapshot = saver.snapshot(loop);
  EXPECT_EQ(played_device.take(), Calls{"copy from device to host"});
  fill(9);
  saver.write(snapshot, {.save_path = "run/m"});
  EXPECT_EQ(read("run/m", "net/weight"), Tensor::of<float>({1, 2, 3}));
}

TEST_F(OnADevice, TheStateOfAnOptimizerIsCopiedThereToo) {
  ::torch::optim::SGD optimizer({weight}, ::torch::optim::SGDOptions(0.1).momentum(0.9));
  add_optimizer(loop, "sgd", optimizer, module, Snapshots::OnDevice);
  EXPECT_EQ(saver.snapshot(loop).entries.size(), 7U);
  EXPECT_EQ(played_device.take(), Calls{});  // there is no momentum yet
  const ::torch::Tensor momentum = ::torch::tensor({4.F, 5.F, 6.F}).to(kPlayed);
  detail::make_state<::torch::optim::SGDParamState>(optimizer, weight).momentum_buffer(momentum);
  played_device.take();

  const Snapshot snapshot = saver.snapshot(loop);
  EXPECT_EQ(played_device.take(), kSnapshot);
  on_host(momentum).fill_(9);
  saver.write(snapshot, {.save_path = "run/m"});
  EXPECT_EQ(read("run/m", "sgd/weight/momentum_buffer"), Tensor::of<float>({4, 5, 6}));
}

TEST_F(OnADevice, ASnapshotMayBeWrittenTwice) {
  add_module(loop, "net", module, Snapshots::OnDevice);
  const Snapshot snapshot = saver.snapshot(loop);
  fill(9);
  for (const char* prefix : {"run/first", "run/second"}) {
    saver.write(snapshot, {.save_path = prefix});
    EXPECT_EQ(read(prefix, "net/weight"), Tensor::of<float>({1, 2, 3}));
  }
}

TEST_F(OnADevice, ARestoreCopiesEachTensorOnceToTheDevice) {
  add_module(loop, "net", module);
  saver.save(loop, {.save_path = "run/m"});
  fill(9);
  played_device.take();
  saver.restore(loop, "run/m");
  // First the old value, which a restore that fails puts back.
  EXPECT_EQ(played_device.take(), (Calls{"copy from device to host", "copy from host to device"}));
  EXPECT_TRUE(on_host(weight).equal(::torch::tensor({1.F, 2.F, 3.F})));
}

TEST_F(OnADevice, AModuleMayMoveThereAfterItWasAdded) {
  ::torch::nn::Linear moved(2, 1);
  add_module(loop, "moved", *moved);
  const Tensor before = to_tensor(moved->weight);
  moved->to(kPlayed);
  EXPECT_TRUE(moved->weight.device().is_xpu());
  EXPECT_EQ(loop.saved_value("moved/weight"), before);
}

}  // namespace
}  // namespace trainhook::libtorch
