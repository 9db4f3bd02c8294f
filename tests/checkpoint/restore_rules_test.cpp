// SPDX-License-Identifier: Apache-2.0
/// @file
/// RestoreRules: what becomes of each difference between a checkpoint and the model, with and without a rule for it.
#include <trainhook/checkpoint/restore_rules.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/run_record.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "data_files.hpp"
#include "expect_error.hpp"

namespace trainhook {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

struct Restoring : ::testing::Test {
  Restoring() {
    loop.variable("net/encoder/w", encoder);
    loop.variable("net/head", head);
  }
  void write(const std::vector<NamedTensor>& entries, bool with_step = true) {
    BundleWriter writer("old/m-3", {.file_system = &disk, .overwrite = true});
    if (with_step) writer.add("global_step", Tensor(std::int64_t{3}));
    for (const NamedTensor& entry : entries) writer.add(entry.name, entry.tensor);
    writer.finish();
  }
  void restore(const RestoreRules& rules) {
    const std::shared_ptr<const RestorePolicy> policy = rules;
    policy->restore(loop, saver, "old/m-3", "run", [this] { ++initialized; });
    if (const auto record = detail::read_run_record(disk, "run")) notes = record->restored;
  }
  template <class Failure>
  [[nodiscard]] std::string refusal(const RestoreRules& rules) {
    try {
      restore(rules);
    } catch (const Failure& error) { return error.what(); }
    return "none";
  }

  testing::MemoryFileSystem disk;
  Saver saver{{.file_system = &disk}};
  Floats encoder{-1, -1}, head{-2};
  LoopSession loop;
  int initialized = 0;
  std::string notes;
};

TEST_F(Restoring, ACheckpointThatFitsIsRestoredAsItIs) {
  write({{"net/encoder/w", Tensor::of<float>({1, 2})}, {"net/head", Tensor::of<float>({3})}});
  restore({.rename = {{"encoder/", "net/encoder/"}}, .missing = Missing::KeepInitial, .cast = true});
  EXPECT_EQ(encoder, (Floats{1, 2}));
  EXPECT_EQ(head, Floats{3});
  EXPECT_EQ(loop.global_step(), 3);
  EXPECT_EQ(initialized, 0);
  EXPECT_EQ(notes, "");
}

TEST_F(Restoring, ACheckpointThatFitsIsRestoredAsItIsThoughARuleFitsAllNames) {
  write({{"net/encoder/w", Tensor::of<float>({1, 2})},
         {"net/head", Tensor::of<float>({3})},
         {"_trainhook/hooks/Timer/version", Tensor(std::int64_t{1})}});
  restore({.rename = {{"", "net/"}}});
  EXPECT_EQ(head, Floats{3});
  EXPECT_EQ(initialized, 0);
}

TEST_F(Restoring, AResizableVariableTakesTheSizeOfTheCheckpointWithoutReshape) {
  Floats points{0, 0};
  loop.variable("net/points", points, {.shape = {-1, 2}, .resizable = true});
  write({{"net/encoder/w", Tensor::of<float>({1, 2})},
         {"net/head", Tensor::of<float>({3})},
         {"old/points", Tensor::of<double>({1, 2, 3, 4}, {2, 2})}});
  const RestoreRules rules{.rename = {{"old", "net"}}, .cast = true};
  restore(rules);
  EXPECT_EQ(points, (Floats{1, 2, 3, 4}));
  write({{"net/encoder/w", Tensor::of<float>({1, 2})},
         {"net/head", Tensor::of<float>({3})},
         {"old/points", Tensor::of<double>({1, 2, 3}, {1, 3})}});
  EXPECT_THAT(refusal<InvalidArgumentError>(rules), HasSubstr("'net/points' is float32[?,2] in the model and "));
  EXPECT_EQ(points, (Floats{1, 2, 3, 4}));
}

TEST_F(Restoring, ARuleThatTheModelsOwnCheckpointHasFollowedChangesNothing) {
  Floats old{-3};
  loop.variable("head", old);
  write({{"net/encoder/w", Tensor::of<float>({1, 2})},
         {"net/head", Tensor::of<float>({3})},
         {"head", Tensor::of<float>({4})}});
  restore({.rename = {{"head", "net/head"}}});
  EXPECT_EQ(head, Floats{3});
  EXPECT_EQ(old, Floats{4});
  EXPECT_EQ(initialized, 0);
  EXPECT_EQ(notes, "");
}

TEST_F(Restoring, ARuleAppliesThoughTheCheckpointFitsWithoutIt) {
  write({{"net/encoder/w", Tensor::of<float>({1, 2})}, {"net/head", Tensor::of<float>({3})}});
  restore({.rename = {{"net/head", ""}}});
  EXPECT_EQ(encoder, (Floats{1, 2}));
  EXPECT_EQ(head, Floats{-2});
  EXPECT_EQ(loop.global_step(), 3);
  EXPECT_EQ(initialized, 1);
  EXPECT_EQ(notes,
            "from old/m-3: 'net/head' is left out, in 1 name; 'net/head' is left out and keeps its initial value");
}

TEST_F(Restoring, TwoNamesOfACheckpointThatFitsAreExchanged) {
  Floats tail{-3};
  loop.variable("net/tail", tail);
  write({{"net/encoder/w", Tensor::of<float>({1, 2})},
         {"net/head", Tensor::of<float>({3})},
         {"net/tail", Tensor::of<float>({4})}});
  restore({.rename = {{"net/head", "net/tail"}, {"net/tail", "net/head"}}});
  EXPECT_EQ(head, Floats{4});
  EXPECT_EQ(tail, Floats{3});
}

TEST_F(Restoring, OneLineSaysHowManyNamesAreRestoredKeptAndLeftOver) {
  Floats tail{-3};
  loop.variable("net/tail", tail);
  write({{"encoder/w", Tensor::of<double>({1, 2})},
         {"a", Tensor::of<float>({1})},
         {"encoder/b", Tensor::of<float>({2})},
         {"_trainhook/ranks/1/_trainhook/state/noise", Tensor::of<float>({3})}});
  testing::LogLines log;
  restore({.from = "old/m-3",
           .rename = {{"encoder", "net/encoder"}, {"global_step", ""}},
           .missing = Missing::KeepInitial,
           .cast = true});
  EXPECT_THAT(log.lines,
              ElementsAre("I Began with old/m-3: names restored: 1, kept at the initial value: 3 ('global_step', "
                          "'net/head', 'net/tail'), left over: 2 ('a', 'encoder/b'); 'encoder' is 'net/encoder' here, "
                          "in 2 names; 'global_step' is left out, in 1 name; 'net/encoder/w' is float64 there and "
                          "float32 here: no number changed."));
  EXPECT_EQ(notes,
            "from old/m-3: 'encoder' is 'net/encoder' here, in 2 names; 'global_step' is left out, in 1 name; "
            "'net/encoder/w' is float64 there and float32 here: no number changed; 'global_step' is left out and keeps "
            "its initial value; 'net/head' is not in it and keeps its initial value; 'net/tail' is not in it and keeps "
            "its initial value");
}

TEST_F(Restoring, OfManyDifferencesTheLineHasTheFirst) {
  std::vector<Floats> more(7, Floats{-1});
  std::vector<NamedTensor> entries{{"net/encoder/w", Tensor::of<float>({1, 2})}, {"net/head", Tensor::of<float>({3})}};
  for (std::size_t i = 0; i < more.size(); ++i) {
    loop.variable("v" + std::to_string(i), more[i]);
    entries.push_back({"v" + std::to_string(i), Tensor::of<double>({1})});
  }
  write(entries);
  testing::LogLines log;
  restore({.cast = true});
  ASSERT_EQ(log.lines.size(), 1U);
  EXPECT_THAT(log.lines[0], HasSubstr("names restored: 10, kept at the initial value: 0, left over: 0; 'v0' is"));
  EXPECT_THAT(log.lines[0],
              HasSubstr("'v4' is float64 there and float32 here: no number changed; 2 more differences."));
  EXPECT_THAT(notes, HasSubstr("'v6' is float64"));
}

TEST_F(Restoring, ARuleThatFitsNoNameOfTheModelsOwnCheckpointIsSaid) {
  write({{"net/encoder/w", Tensor::of<float>({1, 2})}, {"net/head", Tensor::of<float>({3})}});
  testing::LogLines log;
  restore({.rename = {{"net/haed", ""}}});
  EXPECT_THAT(log.lines, ElementsAre(HasSubstr("no name begins with 'net/haed', which `rename` replaces")));
}

TEST_F(Restoring, AnotherModelsCheckpointWithoutAVariableOfThisOneIsAnError) {
  write({{"encoder/w", Tensor::of<float>({1, 2})}, {"top", Tensor::of<float>({3})}});
  EXPECT_EQ(refusal<NotFoundError>({.from = "old/m-3", .missing = Missing::KeepInitial}),
            "restore: checkpoint old/m-3 has no variable of the model: it has 'encoder/w', 'global_step', 'top', and "
            "the model 'net/encoder/w', 'net/head'; say by `rename` what they are called here");
  EXPECT_EQ(initialized, 0);
  EXPECT_EQ(loop.global_step(), 0);
}

TEST_F(Restoring, MissingStateIsAnErrorOrKeepsItsValue) {
  Floats noise{-1};
  std::mt19937 generator(7);
  loop.state("noise", noise);
  loop.state("generator", generator);
  const std::mt19937 as_made = generator;
  write({{"net/encoder/w", Tensor::of<float>({1, 2})},
         {"net/head", Tensor::of<float>({3})},
         {"_trainhook/state/noise", Tensor::of<float>({4})}});
  EXPECT_EQ(refusal<NotFoundError>({}),
            "checkpoint old/m-3 has no generator '_trainhook/state/generator'; give it the name that it had, or say by "
            "`restore` = RestoreRules{.missing = Missing::KeepInitial} that it keeps its value; it holds: "
            "_trainhook/state/noise, global_step, net/encoder/w, net/head");
  EXPECT_EQ(head, Floats{-2});
  restore({.missing = Missing::KeepInitial});
  EXPECT_EQ(noise, Floats{4});
  EXPECT_EQ(generator, as_made);
  EXPECT_EQ(notes, "from old/m-3: '_trainhook/state/generator' is not in it and keeps its initial value");
  noise = {-1};
  restore({.from = "old/m-3"});  // of another model
  EXPECT_EQ(noise, Floats{4});
}

TEST_F(Restoring, StateThatIsLeftOutKeepsItsValue) {
  Floats noise{-1};
  loop.state("noise", noise);
  write({{"net/encoder/w", Tensor::of<float>({1, 2})},
         {"net/head", Tensor::of<float>({3})},
         {"_trainhook/state/noise", Tensor::of<float>({4})}});
  restore({.rename = {{"_trainhook/state/noise", ""}}});
  EXPECT_EQ(noise, Floats{-1});
}

TEST_F(Restoring, NamesAreFoundUnderOtherOnes) {
  write({{"encoder/w", Tensor::of<float>({1, 2})}, {"top", Tensor::of<float>({3})}});
  restore({.rename = {{"encoder/", "net/encoder/"}, {"top", "net/head"}}});
  EXPECT_EQ(encoder, (Floats{1, 2}));
  EXPECT_EQ(head, Floats{3});
  EXPECT_EQ(initialized, 1);
  EXPECT_EQ(notes, "from old/m-3: 'encoder/' is 'net/encoder/' here, in 1 name; 'top' is 'net/head' here, in 1 name");
}

TEST_F(Restoring, ABeginningEndsWithAPartOfTheName) {
  Floats tenth{-1};
  loop.variable("fc10.w", tenth);
  write({{"net/encoder/w", Tensor::of<float>({1, 2})},
         {"fc1", Tensor::of<float>({3})},
         {"fc10.w", Tensor::of<float>({4})}});
  restore({.rename = {{"fc1", "net/head"}}});
  EXPECT_EQ(head, Floats{3});
  EXPECT_EQ(tenth, Floats{4});
}

TEST_F(Restoring, SlotsFollowTheirVariableWithItsNameInFrontOrInside) {
  Floats slot{-1}, momentum{-1};
  loop.variable("net/encoder/w/Adam", slot);
  loop.state("adam/encoder/w/exp_avg", momentum);  // without the scope, as of a module
  write({{"net/old/w", Tensor::of<float>({1, 2})},
         {"net/old/w/Adam", Tensor::of<float>({3})},
         {"_trainhook/state/adam/old/w/exp_avg", Tensor::of<float>({4})},
         {"net/head", Tensor::of<float>({5})}});
  restore({.rename = {{"net/old", "net/encoder"}}});
  EXPECT_EQ(encoder, (Floats{1, 2}));
  EXPECT_EQ(slot, Floats{3});
  EXPECT_EQ(momentum, Floats{4});
  EXPECT_EQ(notes, "from old/m-3: 'net/old' is 'net/encoder' here, in 3 names");
}

TEST_F(Restoring, StateOfOtherKindsIsRenamedThoughAllVariablesFit) {
  Floats momentum{-1};
  loop.state("sgd/momentum", momentum);
  write({{"net/encoder/w", Tensor::of<float>({1, 2})},
         {"net/head", Tensor::of<float>({3})},
         {"_trainhook/state/opt/momentum", Tensor::of<float>({4})}});
  restore({.rename = {{"opt", "sgd"}}});
  EXPECT_EQ(momentum, Floats{4});
}

TEST_F(Restoring, ANameThatTheModelHasIsNotRenamedByWhatIsInside) {
  write({{"head", Tensor::of<float>({9, 9})}, {"net/head", Tensor::of<float>({3})}});
  restore({.rename = {{"head", "net/encoder/w"}}});
  EXPECT_EQ(encoder, (Floats{9, 9}));
  EXPECT_EQ(head, Floats{3});
}

TEST_F(Restoring, ANameThatTwoRulesWouldRenameInsideIsAnError) {
  Floats slot{-1}, momentum{-1};
  loop.state("adam/encoder/w", slot);
  loop.state("opt/old/w", momentum);
  write({{"old/w", Tensor::of<float>({1, 2})},
         {"net/head", Tensor::of<float>({3})},
         {"_trainhook/state/adam/old/w", Tensor::of<float>({4})}});
  EXPECT_EQ(refusal<InvalidArgumentError>({.rename = {{"old", "encoder"}, {"adam", "opt"}}}),
            "restore: `rename` makes both '_trainhook/state/adam/encoder/w' and '_trainhook/state/opt/old/w' of "
            "'_trainhook/state/adam/old/w'; give it the whole name");
}

TEST_F(Restoring, AMissingVariableIsAnErrorThatNamesTheRules) {
  write({{"net/encoder/v", Tensor::of<float>({1, 2})}, {"net/head", Tensor::of<float>({3})}});
  EXPECT_EQ(refusal<NotFoundError>({.cast = true}),
            "restore: checkpoint old/m-3 has no variable 'net/encoder/w'; name it in `rename`, or set `missing` to "
            "Missing::KeepInitial; it holds: global_step, net/encoder/v, net/head");
  EXPECT_EQ(head, Floats{-2});  // nothing changes
}

TEST_F(Restoring, AMissingVariableKeepsItsInitialValue) {
  write({{"net/encoder/w", Tensor::of<float>({1, 2})}});
  restore({.missing = Missing::KeepInitial});
  EXPECT_EQ(encoder, (Floats{1, 2}));
  EXPECT_EQ(head, Floats{-2});
  EXPECT_EQ(initialized, 1);
  EXPECT_EQ(notes, "from old/m-3: 'net/head' is not in it and keeps its initial value");
}

TEST_F(Restoring, AVariableThatIsLeftOutKeepsItsInitialValue) {
  write({{"net/encoder/w", Tensor::of<float>({1, 2})}, {"net/head", Tensor::of<float>({3})}});
  restore({.from = "old", .rename = {{"global_step", ""}, {"net/head", ""}}});
  EXPECT_EQ(encoder, (Floats{1, 2}));
  EXPECT_EQ(head, Floats{-2});
  EXPECT_EQ(loop.global_step(), 0);
}

TEST_F(Restoring, WhatIsBelowAVariableThatIsLeftOutIsLeftOutToo) {
  Floats slot{-1};
  loop.variable("net/head/Adam", slot);
  write({{"net/encoder/w", Tensor::of<float>({1, 2})},
         {"net/head", Tensor::of<float>({3})},
         {"net/head/Adam", Tensor::of<float>({4})}});
  restore({.from = "old", .rename = {{"net/head", ""}}});
  EXPECT_EQ(head, Floats{-2});
  EXPECT_EQ(slot, Floats{-1});
}

TEST_F(Restoring, AFileOfWeightsMayLackTheStep) {
  write({{"net/encoder/w", Tensor::of<float>({1, 2})}, {"net/head", Tensor::of<float>({3})}}, false);
  EXPECT_NE(refusal<NotFoundError>({}), "none");
  restore({.from = "old/m-3"});
  EXPECT_EQ(head, Floats{3});
  EXPECT_EQ(loop.global_step(), 0);
}

TEST_F(Restoring, ADamagedRecordOfTheRunIsNoDamageOfTheCheckpoint) {
  write({{"encoder/w", Tensor::of<float>({1, 2})}, {"net/head", Tensor::of<float>({3})}});
  disk.make_directories("run");
  write_file_atomically(disk, "run/run.pbtxt", "command_line: {");
  const std::shared_ptr<const RestorePolicy> policy = RestoreRules{.rename = {{"encoder/", "net/encoder/"}}};
  EXPECT_NO_THROW(policy->restore(loop, saver, "old/m-3", "run", [] {}));
  EXPECT_EQ(encoder, (Floats{1, 2}));
}

TEST_F(Restoring, AnotherDtypeIsConvertedAndWhatIsLostIsSaid) {
  write({{"net/encoder/w", Tensor::of<double>({1, 0.1})}, {"net/head", Tensor::of<std::int32_t>({3})}});
  EXPECT_NE(refusal<InvalidArgumentError>({}), "none");
  restore({.cast = true});
  EXPECT_EQ(encoder, (Floats{1, 0.1F}));
  EXPECT_EQ(head, Floats{3});
  EXPECT_EQ(notes,
            "from old/m-3: 'net/encoder/w' is float64 there and float32 here: 1 of 2 numbers were rounded, by at most "
            "1.5e-08 of their size; 'net/head' is int32 there and float32 here: no number changed");
}

TEST_F(Restoring, ANumberThatIsTooSmallForTheOtherDtypeIsSaidToBeZero) {
  write({{"net/encoder/w", Tensor::of<double>({1, 1e-60})}, {"net/head", Tensor::of<float>({3})}});
  restore({.cast = true});
  EXPECT_EQ(encoder, (Floats{1, 0}));
  EXPECT_EQ(notes,
            "from old/m-3: 'net/encoder/w' is float64 there and float32 here: 1 of 2 numbers were rounded, and those "
            "that are too small for it are 0 now");
}

TEST_F(Restoring, ANumberWithoutPlaceIsAnErrorAndChangesNothing) {
  write({{"net/encoder/w", Tensor::of<float>({1, 2})}, {"net/head", Tensor::of<double>({1e39})}});
  EXPECT_EQ(refusal<InvalidArgumentError>({.cast = true}),
            "restore: variable 'net/head' of checkpoint old/m-3 cannot be converted: 1e+39 has no exact place among "
            "float32");
  EXPECT_EQ(encoder, (Floats{-1, -1}));
}

TEST_F(Restoring, AnotherShapeIsAnErrorThatNamesTheRule) {
  write({{"net/encoder/w", Tensor::of<float>({1})}, {"net/head", Tensor::of<float>({3})}});
  EXPECT_EQ(
      refusal<InvalidArgumentError>({}),
      "variable 'net/encoder/w' is float32[2] in the model and float32[1] in checkpoint old/m-3; restore it into the "
      "model that wrote it, or say by `cast` or `reshape` of RestoreRules what may differ");
}

TEST_F(Restoring, ASavedModelMeansItsVariables) {
  write({{"net/encoder/w", Tensor::of<float>({1, 2})}, {"net/head", Tensor::of<float>({3})}});
  disk.make_directories("exported/variables");
  disk.write_file("exported/saved_model.pb", "a graph");
  for (const char* ending : {".index", ".data-00000-of-00001"})
    disk.rename(std::string("old/m-3") + ending, std::string("exported/variables/variables") + ending);
  const std::shared_ptr<const RestorePolicy> policy = RestoreRules{.from = "exported"};
  policy->restore(loop, saver, policy->from(), "run", [] {});
  EXPECT_EQ(encoder, (Floats{1, 2}));
}

TEST_F(Restoring, ATensorThatIsNotHeldHereIsNamedWithItsDtypeUnlessARuleLeavesItOut) {
  Floats values(6, -1);
  LoopSession other;
  other.variable("qint8", values);
  const std::string file = testing::data_file("other_tensors");
  const auto restore_by = [&](RestoreRules rules) {
    const std::shared_ptr<const RestorePolicy> policy = std::move(rules);
    policy->restore(other, Saver(), file, "", [] {});
  };
  const std::string message = "tensor qint8 of checkpoint " + file +
                              " cannot be read: it is qint8[2,3], and this library has no tensor of this dtype";
  testing::expect_error<UnimplementedError>({message}, [&] { Saver().restore(other, file); });
  testing::expect_error<UnimplementedError>({message}, [&] { restore_by({.from = file, .cast = true}); });
  restore_by({.from = file, .rename = {{"qint8", ""}}, .missing = Missing::KeepInitial});
  EXPECT_EQ(values, Floats(6, -1));
}

TEST_F(Restoring, AFunctionMakesAValueOfAnotherShape) {
  write({{"net/encoder/w", Tensor::of<double>({7})}, {"net/head", Tensor::of<float>({3})}});
  restore({.cast = true, .reshape = [](const std::string& name, const Tensor& saved, Tensor grown) {
             EXPECT_EQ(name, "net/encoder/w");
             grown.mutable_data<float>()[0] = saved.data<float>()[0];
             return grown;
           }});
  EXPECT_EQ(encoder, (Floats{7, -1}));
  EXPECT_TRUE(notes.ends_with("'net/encoder/w' has shape [1] there and [2] here: `reshape` made its value"));
}

TEST_F(Restoring, AFunctionThatMakesAWrongShapeIsAnError) {
  write({{"net/encoder/w", Tensor::of<float>({7})}, {"net/head", Tensor::of<float>({3})}});
  const auto as_saved = [](const std::string&, const Tensor& saved, const Tensor&) { return saved; };
  EXPECT_EQ(refusal<InvalidArgumentError>({.reshape = as_saved}),
            "restore: `reshape` made float32[1] of variable 'net/encoder/w', which is float32[2]; make that, or let it "
            "begin anew by `rename` = {{\"net/encoder/w\", \"\"}}");
}

TEST_F(Restoring, ARuleThatMatchesNothingIsAnError) {
  write({{"encoder/w", Tensor::of<float>({1, 2})}, {"net/head", Tensor::of<float>({3})}});
  EXPECT_EQ(
      refusal<InvalidArgumentError>({.rename = {{"encoder/", "net/encoder/"}, {"decoder/", ""}}}),
      "restore: no name in checkpoint old/m-3 begins with 'decoder/', up to a '/', a '.' or its end, and `rename` "
      "replaces that; it holds: encoder/w, global_step, net/head");
}

TEST_F(Restoring, TwoNamesForOneVariableAreAnError) {
  write({{"encoder/w", Tensor::of<float>({1, 2})}, {"net/encoder/w", Tensor::of<float>({1, 2})}});
  EXPECT_EQ(refusal<InvalidArgumentError>({.rename = {{"encoder/", "net/encoder/"}}}),
            "restore: 'encoder/w' and 'net/encoder/w' of checkpoint old/m-3 would both be 'net/encoder/w'; rename one "
            "of them");
}

TEST_F(Restoring, PartsOfATensorFollowTheRulesOfTheTensor) {
  std::vector<double> lower(2, -1), gap(1, -5);
  LoopSession part;
  part.variable("lower", lower, {.part_of = {.shape = {4}, .offset = {2}, .name = "field"}});
  part.variable("new", gap, {.part_of = {.shape = {4}, .offset = {0}}});
  write({{"before", Tensor::of<float>({1, 2, 3, 4.5F})}});
  const std::shared_ptr<const RestorePolicy> strict = RestoreRules{.rename = {{"before", "field"}}, .cast = true};
  EXPECT_THROW(strict->restore(part, saver, "old/m-3", "run", [] {}), NotFoundError) << "`new` is not there";
  const std::shared_ptr<const RestorePolicy> policy =
      RestoreRules{.rename = {{"before", "field"}}, .missing = Missing::KeepInitial, .cast = true};
  policy->restore(part, saver, "old/m-3", "run", [] {});
  EXPECT_EQ(lower, (std::vector<double>{3, 4.5}));
  EXPECT_EQ(gap, std::vector<double>{-5});
  notes = detail::read_run_record(disk, "run")->restored;
  EXPECT_NE(notes.find("'new', of which 'new' is a part, is not in it, and the part keeps its initial value"),
            std::string::npos)
      << notes;
}

}  // namespace
}  // namespace trainhook
