// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, iterators.
#include <trainhook/engine/kernels.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/engine/graph_session.hpp>

namespace trainhook {
namespace {

TEST(DataKernels, GiveEachElementToOneThread) {
  Graph graph;
  const Output next = make_iterator(graph, Dataset::range(0, 3000)).get_next<1>()[0];
  GraphSession session(graph, {.kernels = {kernels::data()}});
  std::vector<std::set<std::int64_t>> seen(3);
  {
    std::vector<std::jthread> threads;
    for (std::set<std::int64_t>& mine : seen) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) mine.insert(session.run(next).scalar<std::int64_t>());
      });
    }
  }
  std::set<std::int64_t> all;
  for (const std::set<std::int64_t>& mine : seen) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 3000U);
  EXPECT_THROW(session.run(next), OutOfRangeError);
}

TEST(DataKernels, GiveEachSessionItsOwnIterator) {
  Graph graph;
  const Output next = make_iterator(graph, Dataset::range(0, 3)).get_next<1>()[0];
  GraphSession one(graph, {.kernels = {kernels::data()}});
  GraphSession two(graph, {.kernels = {kernels::data()}});
  EXPECT_EQ(one.run(next).scalar<std::int64_t>(), 0);
  EXPECT_EQ(one.run(next).scalar<std::int64_t>(), 1);
  EXPECT_EQ(two.run(next).scalar<std::int64_t>(), 0);
}

TEST(DataKernels, SayThatAnImportedIteratorHasNoDataset) {
  Graph graph;
  const Operation iterator = graph.add({.type = "IteratorV2", .name = "imported", .outputs = {{DType::Invalid, {}}}});
  const Output next =
      graph.add({.type = "IteratorGetNext", .inputs = {iterator.output()}, .outputs = {{DType::Int64, {}}}}).output();
  GraphSession session(graph, {.kernels = {kernels::data()}});
  EXPECT_TRUE(session.state().empty());
  try {
    session.run(next);
    FAIL() << "no error";
  } catch (const FailedPreconditionError& error) {
    EXPECT_NE(std::string(error.what()).find("'imported' has no dataset"), std::string::npos) << error.what();
  }
  EXPECT_EQ(session.run(next, {{next, Tensor(std::int64_t{5})}}).scalar<std::int64_t>(), 5);
}

}  // namespace
}  // namespace trainhook
