// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of what a saved position says about the sources.
#include <trainhook/data/source_digest.hpp>

#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/data/dataset.hpp>

namespace trainhook {
namespace {

using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

Tensor tensor_of(const Strings& strings) { return Tensor::copy_of(std::span(strings), Shape{std::ssize(strings)}); }

std::string digest(const Strings& strings) {
  return detail::digest_of_strings({Tensor(1.0F), tensor_of(strings)}).value().name;
}

TEST(SourceDigest, OfStringsHasTheirOrderButNotTheirFolders) {
  EXPECT_EQ(digest({"/old/a", "/old/b"}), digest({"/new/a", "b"}));
  EXPECT_NE(digest({"a", "b"}), digest({"b", "a"}));
  EXPECT_NE(digest({"a", "b"}), digest({"ab", ""}));
  EXPECT_NE(digest({"a", "b"}), digest({"a", "c"}));
  EXPECT_FALSE(detail::digest_of_strings({Tensor(1.0F)}));
}

TEST(SourceDigest, RefusesAPositionInAnotherListOfFiles) {
  const auto paths = [](const Strings& list) {
    return Dataset::from_tensor_slices({tensor_of(list)}).shuffle(2, 1).map([](Element element) { return element; });
  };
  const std::string state = paths({"data/a", "data/b"}).make_iterator().save();
  paths({"moved/a", "moved/b"}).make_iterator().restore(state);
  paths({"data/a", "data/c"}).allow_changed_sources().make_iterator().restore(state);
  paths({"data/a", "data/b", "data/c"}).allow_changed_sources().make_iterator().restore(state);
  try {
    paths({"data/a", "data/c"}).make_iterator().restore(state);
    FAIL() << "the list has changed";
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("source 1 was 2 strings with the checksum"));
  }
}

TEST(SourceDigest, AllowingOtherSourcesAllowsNoOtherStages) {
  const std::string state = Dataset::range(8).shuffle(4, 1).batch(2).make_iterator().save();
  const auto restore = [&state](const Dataset& dataset) {
    dataset.allow_changed_sources().make_iterator().restore(state);
  };
  restore(Dataset::range(8).shuffle(4, 1).batch(2));
  EXPECT_THROW(restore(Dataset::range(9).shuffle(4, 1).batch(2)), InvalidArgumentError);
  EXPECT_THROW(restore(Dataset::range(8).shuffle(5, 1).batch(2)), InvalidArgumentError);
  EXPECT_THROW(restore(Dataset::range(8).shuffle(4, 1).batch(3)), InvalidArgumentError);
}

TEST(SourceDigest, IsNotThereIfNothingIsToBeCompared) {
  detail::StateWriter writer;
  detail::save_sources({}, writer);
  EXPECT_EQ(writer.bytes(), "");
}

}  // namespace
}  // namespace trainhook
