// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the bytes that hold a pipeline's state, and of what they say about its sources.
#include <trainhook/data/iterator_state.hpp>

#include <cstdint>
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

const ElementSpec kSpec{
    {DType::Float, PartialShape{2, kUnknownDim}}, {DType::String, Shape{}}, {DType::Bool, Shape{2}}};

Element element() { return {Tensor::of<float>({1, 2, 3, 4}, {2, 2}), Tensor("text"), Tensor::of<bool>({true, false})}; }

TEST(State, ReadsBackWhatWasWritten) {
  detail::StateWriter writer;
  writer.begin("section");
  for (std::uint64_t value : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, ~std::uint64_t{0}})
    writer.integer(value);
  writer.boolean(true);
  writer.string("name");
  writer.integers(std::vector<std::int64_t>{0, 300, 5});
  writer.random({1, 2, 3});
  writer.element(element());
  writer.tensor(Tensor(DType::Double, {0, 3}));
  writer.end();

  detail::StateReader reader(writer.bytes());
  reader.begin("section");
  for (std::uint64_t value : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, ~std::uint64_t{0}})
    EXPECT_EQ(reader.integer("value"), value);
  EXPECT_TRUE(reader.boolean("flag"));
  EXPECT_EQ(reader.string("name"), "name");
  EXPECT_EQ(reader.integers("indices", 3, 301), (std::vector<std::int64_t>{0, 300, 5}));
  EXPECT_EQ(reader.random(), (PhiloxState{1, 2, 3}));
  EXPECT_EQ(reader.element(kSpec), element());
  EXPECT_EQ(reader.tensor(), Tensor(DType::Double, {0, 3}));
  reader.end();
  EXPECT_TRUE(reader.at_end());
}

// What the format is must not change while saved states are about.
TEST(State, HasTheBytesOfItsFormat) {
  detail::StateWriter writer;
  writer.begin("s");
  writer.integer(300);
  writer.string("ab");
  writer.integers(std::vector<std::int64_t>{1, 128});
  writer.tensor(Tensor::of<std::uint8_t>({7, 8}, {2, 1}));
  writer.tensor(Tensor("x"));
  writer.end();
  EXPECT_EQ(writer.bytes(), std::string("\x05\x01s\x01\xac\x02\x02\x02"
                                        "ab\x03\x02\x01\x80\x01\x04\x04\x02\x02\x01\x07\x08\x04\x07\x00\x01x\x06",
                                        28));
}

template <class Read>
void expect_damage(const std::string& bytes, Read read) {
  detail::StateReader reader(bytes);
  EXPECT_THROW((void)read(reader), DataLossError);
}

std::string bytes_of(std::initializer_list<int> values) {
  std::string bytes;
  for (int value : values) bytes += static_cast<char>(value);
  return bytes;
}

TEST(StateReader, RefusesWhatIsNotAskedFor) {
  expect_damage("", [](detail::StateReader& reader) { return reader.integer("value"); });
  expect_damage(bytes_of({2, 0}), [](detail::StateReader& reader) { return reader.integer("value"); });
  expect_damage(bytes_of({1, 9}), [](detail::StateReader& reader) { return reader.integer("value", 8); });
  expect_damage(bytes_of({1, 2}), [](detail::StateReader& reader) { return reader.boolean("flag"); });
  expect_damage(bytes_of({5, 1, 's'}), [](detail::StateReader& reader) { return reader.begin("t"), 0; });
  expect_damage(bytes_of({1, 0}), [](detail::StateReader& reader) { return reader.end(), 0; });
  const auto index = [](detail::StateReader& reader) { return reader.integers("indices", 2, 5); };
  expect_damage(bytes_of({3, 3, 0, 0, 0}), index);
  expect_damage(bytes_of({3, 1, 5}), index);
  expect_damage(bytes_of({3, 2, 0}), index);
}

TEST(StateReader, RefusesNumbersOfMoreThan64Bits) {
  const auto number = [](detail::StateReader& reader) { return reader.integer("value"); };
  expect_damage(bytes_of({1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}), number);
  expect_damage(bytes_of({1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}), number);
}

TEST(StateReader, TakesNoMemoryForPromises) {
  const auto tensor = [](detail::StateReader& reader) { return reader.tensor(); };
  const auto huge = [](int dtype, int dims) {
    std::string bytes = bytes_of({4, dtype, dims});
    for (int i = 0; i < dims; ++i) bytes += bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f});
    return bytes;
  };
  expect_damage(huge(1, 1), tensor);
  expect_damage(huge(7, 1), tensor);
  expect_damage(huge(1, 2), tensor);
  expect_damage(bytes_of({4, 1, 3, 0}) + huge(1, 2).substr(3), tensor);  // no element, and strides that overflow
  expect_damage(bytes_of({4, 1, 9}), tensor);
  expect_damage(bytes_of({4, 11, 0}), tensor);                   // no dtype
  expect_damage(bytes_of({4, 0x81, 2, 0, 0, 0, 0, 0}), tensor);  // 257 is not Float
  expect_damage(bytes_of({4, 10, 0, 2}), tensor);                // neither true nor false
  expect_damage(bytes_of({4, 7, 0, 5, 'a'}), tensor);
  expect_damage(bytes_of({2, 0xff, 0xff, 0xff, 0xff, 0x0f}),
                [](detail::StateReader& reader) { return reader.string("text"); });
}

TEST(StateReader, RefusesElementsOfAnotherKind) {
  detail::StateWriter writer;
  writer.element({Tensor(1.0F)});
  for (const ElementSpec& spec :
       {ElementSpec{}, ElementSpec{{DType::Int32, Shape{}}}, ElementSpec{{DType::Float, Shape{1}}}}) {
    expect_damage(writer.bytes(), [&spec](detail::StateReader& reader) { return reader.element(spec); });
  }
}

TEST(StateReader, SaysWhereTheDamageIs) {
  detail::StateReader reader("\x01\x05\x02");
  (void)reader.integer("first");
  try {
    (void)reader.integer("second");
    FAIL();
  } catch (const DataLossError& error) {
    EXPECT_STREQ(error.what(), "the saved state of an input pipeline is damaged at byte 3: second is not there");
  }
}

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
