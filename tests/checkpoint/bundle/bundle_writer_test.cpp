// SPDX-License-Identifier: Apache-2.0
/// @file
/// Bundles byte for byte as TensorFlow writes them, and saves that fail or lose power at every step.
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/tables.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "hex.hpp"

namespace trainhook {
namespace {

using support::bytes;
using testing::FaultyFileSystem;
using testing::FileOperation;
using testing::MemoryFileSystem;

const std::vector<std::string> kOldFiles{"run/checkpoint", "run/m-1.data-00000-of-00001", "run/m-1.index"};

void save(FileSystem& disk, int step, bool with_state = true, bool overwrite = false, std::uint64_t shard_bytes = 0) {
  const std::string prefix = "run/m-" + std::to_string(step);
  BundleWriter writer(prefix, {.file_system = &disk, .overwrite = overwrite, .shard_bytes = shard_bytes});
  writer.add("w", Tensor::of<float>({1.0f * static_cast<float>(step), 2.0f}));
  writer.add("s", Tensor::of<std::string>({"a", "bb"}));
  writer.add_side_file(".meta", "graph");
  writer.finish();
  if (with_state) update_checkpoint_state(disk, "run", {.model_checkpoint_path = prefix});
}

/// The step of the checkpoint that a restore would take; the whole of it is verified.
int restorable_step(FileSystem& disk) {
  for (const std::string& prefix : detail::checkpoint_candidates(disk, "run")) {
    try {
      const BundleReader reader(prefix, {.file_system = &disk});
      reader.verify();
      return static_cast<int>(reader.get_tensor("w").data<float>()[0]);
    } catch (const Error&) {}
  }
  return 0;
}

bool has_temporaries(MemoryFileSystem& disk) {
  for (const std::string& path : disk.files()) {
    if (path.find(".temp") != std::string::npos || path.find(".tmp") != std::string::npos) return true;
  }
  return false;
}

TEST(BundleWriter, WritesTensorFlowsBytesForSeveralDtypes) {
  MemoryFileSystem disk;
  BundleWriter writer("run/m", {.file_system = &disk});
  writer.add("global_step", std::int64_t{5});
  writer.add("w", Tensor::of<float>({1, 2, 3, 4}, {2, 2}));
  writer.add("names", Tensor::of<std::string>({"ab", "", "xyz"}));
  writer.add("flag", Tensor::of<bool>({true, false}));
  writer.add("half", Tensor::of<Half>({Half{0x3c00}}));
  writer.add("bf16", Tensor::of<BFloat16>({BFloat16{0x3f80}}));
  writer.finish();
  EXPECT_EQ(disk.contents("run/m.data-00000-of-00001"),
            bytes("0500000000000000 0000803f000000400000404000008040 020003 1b428bca 6162 78797a 0100 003c 803f"));
  EXPECT_EQ(
      disk.contents("run/m.index"),
      bytes(
          "00000608011a02080100041162663136080e12041202080120282802357db3ff93000411666c6167080a12041202080220242802355f"
          "b0ce81000b0b676c6f62616c5f7374657008091200280835eab2043e00041168616c66081312041202080120262802355b04ea850005"
          "116e616d657308071204120208032018280c3510adc43f0001157708011208120208021202080220082810354c289874000000000100"
          "00000091a2e516000000000100000000c0f2a1b00001037800a4010000000001000000006e40d0eda90108b6010f" +
          std::string(68, '0') + "57fb808b247547db"));
}

TEST(BundleWriter, WritesTheIndexOfTwoScalarsThatTensorFlowWrote) {
  MemoryFileSystem disk;
  BundleWriter writer("m", {.file_system = &disk});
  const std::string data = bytes("cc185b3e d956863f");
  writer.add("W", DType::Float, Shape{}, std::as_bytes(std::span(data)).first(4));
  writer.add("b", DType::Float, Shape{}, std::as_bytes(std::span(data)).last(4));
  writer.finish();
  EXPECT_EQ(disk.contents("m.data-00000-of-00001"), data);
  EXPECT_EQ(disk.contents("m.index"),
            bytes("000006 08011a020801 00010b57 080112002804 3574ed716f 00010d62 08011200 2004 2804 35f4bd5083 "
                  "00000000 01000000"
                  "00 bc6c4d28 00000000 01000000 00 c0f2a1b0 00 01 02 63 00 31 00000000 01000000 00 54f2762d 3608430e" +
                  std::string(72, '0') + "57fb808b247547db"));
}

TEST(BundleWriter, WritesSlicesUnderTensorFlowsKeys) {
  MemoryFileSystem disk;
  BundleWriter writer("m", {.file_system = &disk});
  writer.add_slice("p", Shape{5, 5}, {{0, 3}, {0, 5}}, Tensor(DType::Float, Shape{3, 5}));
  writer.add_slice("p", Shape{5, 5}, {{3, 2}, {}}, Tensor(DType::Float, Shape{2, 5}));
  writer.finish();
  const detail::TableReader table(disk.contents("m.index"), "m.index");
  std::vector<std::string> keys;
  std::string last;
  table.for_each([&](std::string_view key, std::string_view value) {
    keys.emplace_back(key);
    last = value;
  });
  EXPECT_EQ(keys, (std::vector<std::string>{"", bytes("00700001010280838085"), bytes("0070000101028382807f"), "p"}));
  EXPECT_EQ(last, bytes("0801 12081202080512020805 3a08 0a021003 0a021005 3a08 0a0408031002 0a00"));
  EXPECT_EQ(disk.contents("m.data-00000-of-00001").size(), 100u);
}

TEST(BundleWriter, StoresASliceThatIsAllOfATensorAsTheTensor) {
  MemoryFileSystem disk;
  BundleWriter writer("m", {.file_system = &disk});
  writer.add_slice("p", Shape{2}, {{0, 2}}, Tensor::of<float>({1, 2}));
  writer.finish();
  const BundleReader reader("m", {.file_system = &disk});
  EXPECT_TRUE(reader.entry("p").slices.empty());
  EXPECT_EQ(reader.get_tensor("p"), Tensor::of<float>({1, 2}));
}

TEST(BundleWriter, RefusesSlicesThatMakeNoTensorAndContinues) {
  MemoryFileSystem disk;
  BundleWriter writer("m", {.file_system = &disk});
  const Tensor two = Tensor::of<float>({1, 2});
  const auto complaint = [&](const Shape& full, const TensorSlice& slice, const Tensor& tensor) -> std::string {
    try {
      writer.add_slice("p", full, slice, tensor);
    } catch (const InvalidArgumentError& error) { return error.what(); }
    return "none";
  };
  EXPECT_EQ(complaint(Shape{5}, {{4, 2}}, two),
            "slice 4,2 of tensor p[5] of checkpoint m cannot be stored: slice \"4,2\" of a tensor of shape [5] ends at "
            "6 in dimension 0, which has 5");
  EXPECT_NE(complaint(Shape{5}, {{0, 2}, {}}, two).find("has 2 dimensions"), std::string::npos);
  EXPECT_NE(complaint(Shape{5}, {{0, 3}}, two).find("has shape [3], not [2]"), std::string::npos);
  EXPECT_EQ(complaint(Shape{5}, {{0, 2}}, two), "none");
  EXPECT_NE(complaint(Shape{5}, {{1, 2}}, two).find("overlaps slice 0,2"), std::string::npos);
  EXPECT_NE(complaint(Shape{6}, {{2, 2}}, two).find("slices before it were of float32[5]"), std::string::npos);
  EXPECT_NE(complaint(Shape{5}, {{2, 2}}, Tensor::of<double>({1, 2})).find("is of float64"), std::string::npos);
  EXPECT_THROW(writer.add("p", two), InvalidArgumentError);
  writer.add("q", Tensor::of<float>({1, 2, 3}));
  EXPECT_THROW(writer.add_slice("q", Shape{5}, {{0, 2}}, two), InvalidArgumentError);
  try {
    writer.finish();
    ADD_FAILURE() << "no error";
  } catch (const FailedPreconditionError& error) {
    EXPECT_STREQ(
        error.what(),
        "the 1 slices of tensor p[5] of checkpoint m hold 2 of its 5 elements; add the others before finish()");
  }
  EXPECT_EQ(complaint(Shape{5}, {{2, 3}}, Tensor::of<float>({3, 4, 5})), "none");
  writer.finish();
  EXPECT_EQ(BundleReader("m", {.file_system = &disk}).get_tensor("p"), Tensor::of<float>({1, 2, 3, 4, 5}));
  testing::LogLines log;
  BundleWriter with_gap("g", {.file_system = &disk, .may_have_gaps = true});
  with_gap.add_slice("p", Shape{5}, {{1, 2}}, two);
  with_gap.finish();
  EXPECT_EQ(log.take(),
            (std::vector<std::string>{"W checkpoint g has 2 of the 5 elements of tensor p[5]: whoever needs "
                                      "another one cannot restore it"}));
  const BundleReader gaps("g", {.file_system = &disk});
  EXPECT_EQ(gaps.get_tensor("p", TensorSlice{{2, 1}}), Tensor::of<float>({two.data<float>()[1]}));
  EXPECT_THROW(static_cast<void>(gaps.get_tensor("p")), NotFoundError);
}

TEST(BundleWriter, AnEmptyBundleIsTheMinimalFile) {
  MemoryFileSystem disk;
  BundleWriter("m", {.file_system = &disk}).finish();
  EXPECT_EQ(disk.contents("m.index").size(), 101u);
  EXPECT_TRUE(BundleReader("m", {.file_system = &disk}).entries().empty());
}

TEST(BundleWriter, CommitsInTheOrderThatIsSafe) {
  MemoryFileSystem disk;
  FaultyFileSystem watched(disk);
  save(watched, 1, false);
  std::string order;
  for (const std::string& line : watched.trace()) {
    if (line.starts_with("exists") || line.starts_with("is_directory") || line.starts_with("list")) continue;
    const std::size_t temporary = line.find(".tempstate");
    order += line.substr(0, temporary) + (temporary == std::string::npos ? "\n" : "~\n");
  }
  EXPECT_EQ(order,
            "make_directories run\ncreate_writable run/m-1.data-00000-of-00001~\n"
            "create_writable run/m-1.meta~\nappend run/m-1.meta~\nsync run/m-1.meta~\nclose run/m-1.meta~\n"
            "append run/m-1.data-00000-of-00001~\n"
            "sync run/m-1.data-00000-of-00001~\nclose run/m-1.data-00000-of-00001~\n"
            "create_writable run/m-1.index~\nappend run/m-1.index~\nsync run/m-1.index~\nclose run/m-1.index~\n"
            "sync_directory run\nrename run/m-1.data-00000-of-00001\nrename run/m-1.meta\nsync_directory run\nrename "
            "run/m-1.index\nsync_directory run\n");
}

TEST(BundleWriter, LargeAndSmallTensorsMixed) {
  MemoryFileSystem disk;
  BundleWriter writer("m", {.file_system = &disk});
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 40; ++i) {
    Tensor tensor(DType::UInt8, Shape{i % 4 == 0 ? 3'000'001 : i % 4 == 1 ? 300'000 : 1000 + i});
    std::uint8_t next = static_cast<std::uint8_t>(i);
    for (std::uint8_t& value : tensor.mutable_data<std::uint8_t>()) value = next = static_cast<std::uint8_t>(next + 7);
    tensors.push_back({"t" + std::to_string(i), tensor});
    writer.add(tensors.back().name, tensor);
  }
  writer.finish();
  const BundleReader reader("m", {.file_system = &disk});
  for (const NamedTensor& entry : tensors) EXPECT_EQ(reader.get_tensor(entry.name), entry.tensor) << entry.name;
}

TEST(BundleWriter, AFullShardIsFollowedByAnother) {
  MemoryFileSystem disk;
  BundleWriter writer("m", {.file_system = &disk, .shard_bytes = 8});
  for (int i = 0; i < 5; ++i) writer.add("t" + std::to_string(i), Tensor::of<float>({1.0F * static_cast<float>(i)}));
  writer.add("wide", Tensor::of<double>({1, 2, 3}));
  writer.finish();
  EXPECT_EQ(disk.files(), (std::vector<std::string>{"m.data-00000-of-00003", "m.data-00001-of-00003",
                                                    "m.data-00002-of-00003", "m.index"}));
  EXPECT_EQ(disk.contents("m.data-00002-of-00003").size(), 28U) << "one that is not full takes what comes";
  const BundleReader reader("m", {.file_system = &disk});
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(reader.get_tensor("t" + std::to_string(i)).data<float>()[0], static_cast<float>(i));
  EXPECT_EQ(reader.get_tensor("wide"), Tensor::of<double>({1, 2, 3}));
}

TEST(BundleWriter, AFailureAnywhereOfSeveralShardsLeavesTheOldOrTheNewAndNoTemporaries) {
  for (std::uint64_t n = 1;; ++n) {
    MemoryFileSystem disk;
    save(disk, 1);
    FaultyFileSystem faulty(disk);
    faulty.fail_at(n);
    bool failed = false;
    try {
      save(faulty, 2, true, false, 1);
    } catch (const ResourceExhaustedError&) { failed = true; }
    const int step = restorable_step(disk);
    EXPECT_TRUE(step == 2 || (failed && step == 1)) << "operation " << n << " restores " << step;
    EXPECT_FALSE(has_temporaries(disk)) << n;
    for (const char* file : {".data-00000-of-00002", ".data-00001-of-00002"}) {
      EXPECT_EQ(disk.exists("run/m-2.index"), disk.exists(std::string("run/m-2") + file)) << n;
    }
    if (!failed) break;
  }
}

TEST(BundleWriter, WithoutFinishNothingExists) {
  MemoryFileSystem disk;
  {
    BundleWriter writer("run/m", {.file_system = &disk});
    writer.add("w", 1.0f);
  }
  EXPECT_TRUE(disk.files().empty());
}

TEST(BundleWriter, RefusesNamesThatCannotBeFoundAgain) {
  MemoryFileSystem disk;
  for (const char* prefix : {"run/m[1]", "run/m*", "run/m?", "run/", "", "run/a\\b"}) {
    EXPECT_THROW(BundleWriter(prefix, {.file_system = &disk}), InvalidArgumentError) << prefix;
  }
  BundleWriter writer("run/m", {.file_system = &disk});
  writer.add("w", 1.0f);
  EXPECT_THROW(writer.add("w", 1.0f), InvalidArgumentError);
  EXPECT_THROW(writer.add("", 1.0f), InvalidArgumentError);
  EXPECT_THROW(writer.add(std::string("\0x", 2), 1.0f), InvalidArgumentError);
  EXPECT_THROW(writer.add("none", Tensor()), InvalidArgumentError);
  EXPECT_THROW(writer.add("v", DType::Float, Shape{2}, {}), InvalidArgumentError);
  EXPECT_THROW(writer.add_side_file(".index", ""), InvalidArgumentError);
  writer.finish();
  EXPECT_THROW(writer.add("late", 1.0f), FailedPreconditionError);
  EXPECT_THROW(writer.finish(), FailedPreconditionError);
}

TEST(BundleWriter, RefusesAPrefixThatExistsUnlessToldTo) {
  MemoryFileSystem disk;
  save(disk, 1);
  EXPECT_THROW(BundleWriter("run/m-1", {.file_system = &disk}), AlreadyExistsError);
  EXPECT_EQ(restorable_step(disk), 1);
  BundleWriter writer("run/m-1", {.file_system = &disk, .overwrite = true});
  writer.add("w", Tensor::of<float>({7, 7}));
  writer.finish();
  disk.crash();
  EXPECT_EQ(restorable_step(disk), 7);
}

TEST(BundleWriter, AFailureAnywhereLeavesTheOldOrTheNewAndNoTemporaries) {
  std::uint64_t operations = 0;
  for (std::uint64_t n = 1;; ++n) {
    MemoryFileSystem disk;
    save(disk, 1);
    FaultyFileSystem faulty(disk);
    faulty.fail_at(n);
    bool failed = false;
    try {
      save(faulty, 2);
    } catch (const ResourceExhaustedError&) { failed = true; }
    const int step = restorable_step(disk);
    EXPECT_TRUE(step == 2 || (failed && step == 1)) << "operation " << n << " restores " << step;
    EXPECT_FALSE(has_temporaries(disk)) << n;
    const bool half = disk.exists("run/m-2.index") != disk.exists("run/m-2.data-00000-of-00001") ||
                      disk.exists("run/m-2.index") != disk.exists("run/m-2.meta");
    EXPECT_FALSE(half) << n;
    if (!failed) break;
    operations = n;
  }
  EXPECT_GT(operations, 20u);
}

TEST(BundleWriter, APowerCutAnywhereLeavesTheOldOrTheNew) {
  std::uint64_t operations = 0;
  for (std::uint64_t n = 1;; ++n) {
    MemoryFileSystem disk;
    save(disk, 1);
    disk.crash();
    FaultyFileSystem faulty(disk);
    faulty.fail_from(n);
    bool failed = false;
    try {
      save(faulty, 2);
    } catch (const DataLossError&) { failed = true; }
    disk.crash();
    const int step = restorable_step(disk);
    EXPECT_TRUE(failed ? step == 1 || step == 2 : step == 2) << "operation " << n << " restores " << step;
    if (!failed) break;
    operations = n;
  }
  EXPECT_GT(operations, 20u);
}

TEST(BundleWriter, AProcessKilledAnywhereLeavesTheOldOrTheNewWithoutACrash) {
  for (std::uint64_t n = 1;; ++n) {
    MemoryFileSystem disk;
    save(disk, 1);
    FaultyFileSystem faulty(disk);
    faulty.fail_from(n);
    bool failed = false;
    try {
      save(faulty, 2);
    } catch (const DataLossError&) { failed = true; }
    const int step = restorable_step(disk);
    EXPECT_TRUE(failed ? step == 1 || step == 2 : step == 2) << "operation " << n << " restores " << step;
    if (!failed) break;
  }
}

TEST(BundleWriter, AFullDiskLeavesTheOldCheckpointWhole) {
  MemoryFileSystem disk;
  save(disk, 1);
  disk.set_capacity(1000);
  BundleWriter writer("run/m-2", {.file_system = &disk});
  EXPECT_THROW(writer.add("big", Tensor(DType::Float, Shape{1'000'000})), ResourceExhaustedError);
  EXPECT_THROW(writer.finish(), FailedPreconditionError);
  EXPECT_EQ(restorable_step(disk), 1);
  EXPECT_FALSE(has_temporaries(disk));
}

TEST(BundleWriter, AFailedSyncIsNeverTriedAgain) {
  MemoryFileSystem disk;
  FaultyFileSystem faulty(disk);
  faulty.fail_at(FileOperation::Sync, 1, ErrorCode::DataLoss);
  EXPECT_THROW(save(faulty, 1), DataLossError);
  EXPECT_EQ(faulty.count(FileOperation::Sync), 1u);
  EXPECT_TRUE(disk.files().empty());
}

TEST(BundleWriter, IfTheIndexCannotBeTakenBackItsDataStays) {
  MemoryFileSystem disk;
  FaultyFileSystem faulty(disk);
  int syncs = 0;
  faulty.set_callback([&](FileOperation operation, const std::string&) {
    if (operation == FileOperation::SyncDirectory && ++syncs == 3)
      throw DataLossError("the last sync of the directory fails");
    if (syncs == 3) throw DataLossError("nothing can be changed any more");
  });
  EXPECT_THROW(save(faulty, 1, false), DataLossError);
  EXPECT_EQ(restorable_step(disk), 1);
}

TEST(BundleWriter, ReservesSpaceForWhatWillCome) {
  MemoryFileSystem disk;
  save(disk, 1);
  disk.set_capacity(10'000);
  EXPECT_THROW(BundleWriter("run/m-2", {.file_system = &disk, .expected_bytes = 20'000}), ResourceExhaustedError);
  EXPECT_FALSE(has_temporaries(disk));
  BundleWriter writer("run/m-2", {.file_system = &disk, .shard_bytes = 1'000, .expected_bytes = 20'000});
  for (const char* name : {"a", "b"}) writer.add(name, Tensor(DType::Float, Shape{300}));
  disk.set_capacity(3'000);
  EXPECT_THROW(writer.add("c", Tensor(DType::Float, Shape{300})), ResourceExhaustedError) << "of the third file";
  EXPECT_FALSE(has_temporaries(disk));
  EXPECT_EQ(restorable_step(disk), 1);
}

TEST(BundleWriter, OverwritingIsSafeToo) {
  for (std::uint64_t n = 1;; ++n) {
    MemoryFileSystem disk;
    save(disk, 1);
    save(disk, 2);
    FaultyFileSystem faulty(disk);
    faulty.fail_from(n);
    bool failed = false;
    try {
      save(faulty, 2, true, true);
    } catch (const DataLossError&) { failed = true; }
    disk.crash();
    const int step = restorable_step(disk);
    EXPECT_TRUE(failed ? step == 1 || step == 2 : step == 2) << "operation " << n << " restores " << step;
    if (!failed) break;
  }
}

const detail::BundlePart kChiefs{.suffix = ".tempstate7", .count = 2};
const detail::BundlePart kOthers{.suffix = ".tempstate7", .number = 1, .count = 2};

TEST(BundleWriter, PartsOfSeveralWritersAreOneCheckpoint) {
  MemoryFileSystem disk;
  BundleWriter chief("run/m-2", {.file_system = &disk, .part = kChiefs});
  BundleWriter other("run/m-2", {.file_system = &disk, .part = kOthers});
  chief.add("a", Tensor::of<float>({1, 2}));
  other.add("w", Tensor::of<float>({2, 3}));
  chief.add_slice("rows", Shape{2}, TensorSlice{TensorSlice::Extent{0, 1}}, Tensor::of<float>({5}));
  other.add_slice("rows", Shape{2}, TensorSlice{TensorSlice::Extent{1, 1}}, Tensor::of<float>({6}));
  const std::string index = other.finish_part();
  other.release();
  EXPECT_THROW(chief.finish(), FailedPreconditionError) << "a part is missing";
  chief.add_part(1, index);
  chief.finish();
  const BundleReader reader("run/m-2", {.file_system = &disk});
  reader.verify();
  EXPECT_EQ(reader.get_tensor("a").data<float>()[1], 2);
  EXPECT_EQ(reader.get_tensor("w").data<float>()[1], 3);
  EXPECT_EQ(reader.get_tensor("rows").data<float>()[0], 5);
  EXPECT_EQ(reader.get_tensor("rows").data<float>()[1], 6);
  EXPECT_EQ(disk.files(),
            (std::vector<std::string>{"run/m-2.data-00000-of-00002", "run/m-2.data-00001-of-00002", "run/m-2.index"}));
}

TEST(BundleWriter, APartThatIsNotTakenIsRemovedWithItsWriter) {
  MemoryFileSystem disk;
  {
    BundleWriter other("run/m-2", {.file_system = &disk, .part = kOthers});
    other.add("w", Tensor::of<float>({2, 3}));
    static_cast<void>(other.finish_part());
    EXPECT_TRUE(has_temporaries(disk));
  }
  EXPECT_FALSE(has_temporaries(disk));
}

TEST(BundleWriter, APartWhoseFileIsElsewhereIsNamed) {
  MemoryFileSystem disk;
  MemoryFileSystem elsewhere;
  BundleWriter chief("run/m-2", {.file_system = &disk, .part = kChiefs});
  BundleWriter other("run/m-2", {.file_system = &elsewhere, .part = kOthers});
  other.add("w", Tensor::of<float>({2, 3}));
  try {
    chief.add_part(1, other.finish_part());
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_EQ(std::string(error.what()),
              "checkpoint run/m-2: the file of part 1 is not there; all machines of the job must share the directory "
              "run");
  }
  EXPECT_THROW(other.add("v", Tensor(1.0F)), FailedPreconditionError) << "it is finished";
  EXPECT_THROW(static_cast<void>(chief.finish_part()), FailedPreconditionError) << "it commits";
}

TEST(BundleWriter, AChiefThatFailsRemovesThePartsOfTheOthers) {
  MemoryFileSystem disk;
  BundleWriter other("run/m-2", {.file_system = &disk, .part = kOthers});
  other.add("w", Tensor::of<float>({2, 3}));
  const std::string index = other.finish_part();
  other.release();
  {
    BundleWriter chief("run/m-2", {.file_system = &disk, .part = kChiefs});
    chief.add("w", Tensor::of<float>({1, 2}));
    EXPECT_THROW(chief.add_part(2, index), InvalidArgumentError) << "there are two";
    EXPECT_THROW(chief.add_part(1, index.substr(1)), DataLossError);
    EXPECT_THROW(chief.add_part(1, index), InvalidArgumentError) << "both have w";
  }
  EXPECT_FALSE(has_temporaries(disk));
}

}  // namespace
}  // namespace trainhook
