// SPDX-License-Identifier: Apache-2.0
/// @file
/// Threads that share work; denormal floats are zero for a session's kernels, and for nothing else.
#include <trainhook/engine/kernel_threads.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/ops/math.hpp>

namespace trainhook::detail {
namespace {

TEST(KernelThreads, DoEachPieceOnce) {
  for (const std::size_t size : {1U, 2U, 3U, 8U}) {
    KernelThreads threads(size);
    for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<int> done(static_cast<std::size_t>(count));
      threads.run(count, [&](std::int64_t piece, std::size_t) { ++done[static_cast<std::size_t>(piece)]; });
      EXPECT_EQ(done, std::vector<int>(static_cast<std::size_t>(count), 1)) << size << " threads";
    }
  }
}

TEST(KernelThreads, WorkAtTheSameTimeEachWithANumberOfItsOwn) {
  KernelThreads threads(3);
  std::barrier all_at_once(3);
  std::vector<std::size_t> workers(3);
  threads.run(3, [&](std::int64_t piece, std::size_t worker) {
    workers[static_cast<std::size_t>(piece)] = worker;
    all_at_once.arrive_and_wait();
  });
  EXPECT_EQ(std::set<std::size_t>(workers.begin(), workers.end()), (std::set<std::size_t>{0, 1, 2}));
}

TEST(KernelThreads, OfOneSessionStayOnItsThread) {
  KernelThreads threads(1);
  std::set<std::thread::id> ids;
  threads.run(100, [&](std::int64_t, std::size_t) { ids.insert(std::this_thread::get_id()); });
  EXPECT_EQ(ids, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST(KernelThreads, ThrowThePiecesErrorWhenTheOthersAreDone) {
  for (const std::size_t size : {2U, 3U}) {
    KernelThreads threads(size);
    std::atomic<int> done{0};
    const auto all = [&] {
      threads.run(10, [&](std::int64_t piece, std::size_t) {
        if (piece == 3) throw InvalidArgumentError("piece 3");
        ++done;
      });
    };
    EXPECT_THROW(all(), InvalidArgumentError);
    EXPECT_EQ(done, 9);
  }
}

TEST(KernelThreads, WaitForNoHelperThatHasNotBegun) {
  // The pool has fewer threads than run() asks for while one of the pieces is itself shared.
  KernelThreads threads(2);
  std::atomic<int> done{0};
  threads.run(4, [&](std::int64_t, std::size_t) { threads.run(4, [&](std::int64_t, std::size_t) { ++done; }); });
  EXPECT_EQ(done, 16);
}

TEST(KernelThreads, ServeSeveralSessionsAtOnce) {
  KernelThreads one(2);
  KernelThreads other(3);
  std::atomic<int> done{0};
  const auto count = [&](std::int64_t, std::size_t) { ++done; };
  {
    std::jthread first([&] {
      for (int i = 0; i < 100; ++i) one.run(5, count);
    });
    std::jthread second([&] {
      for (int i = 0; i < 100; ++i) other.run(5, count);
    });
    std::jthread third([&] {
      for (int i = 0; i < 100; ++i) other.run(5, count);
    });
  }
  EXPECT_EQ(done, 1500);
}

TEST(KernelThreads, AForkedChildWorksWithoutThemAndEnds) {
  auto threads = std::make_unique<KernelThreads>(2);
  std::atomic<int> done{0};
  const auto work = [&] { threads->run(4, [&](std::int64_t, std::size_t) { ++done; }); };
  work();
  const ::pid_t child = ::fork();
  if (child == 0) {
    work();
    threads.reset();
    ::_exit(done == 8 ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(KernelThreads, TreatDenormalsAsTheSessionsThreadDoes) {
  KernelThreads threads(2);
  const ScopedDenormals flushed(Denormals::Flush);
  std::barrier both(2);
  std::vector<float> halves(2, -1);
  threads.run(2, [&](std::int64_t piece, std::size_t) {
    both.arrive_and_wait();
    volatile float smallest = 1.1754944e-38F;
    halves[static_cast<std::size_t>(piece)] = smallest / 2;
  });
  EXPECT_EQ(halves[0], halves[1]);
}

TEST(UsableProcessors, AreThoseOfOpenMPIfItHasANumber) {
  ::setenv("OMP_NUM_THREADS", "3", 1);
  EXPECT_EQ(usable_processors(), 3U);
  ::setenv("OMP_NUM_THREADS", "4,2", 1);
  EXPECT_EQ(usable_processors(), 4U);
  ::setenv("OMP_NUM_THREADS", "many", 1);
  const std::size_t allowed = usable_processors();
  ::unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(usable_processors(), allowed);
  EXPECT_GE(allowed, 1U);
}

}  // namespace
}  // namespace trainhook::detail

namespace trainhook {
namespace {

constexpr float kSmallest = (std::numeric_limits<float>::min)();  // that is not denormal

/// Half of it, computed when the program runs.
float halved(float value) {
  volatile float half = 0.5F;
  return value * half;
}

Kernel make_failing(const Node&) {
  return [](KernelContext&) { throw InvalidArgumentError("mine"); };
}

class ScopedDenormals : public ::testing::Test {
 protected:
  void SetUp() override {
#if !defined(__SSE2__)
    GTEST_SKIP() << "the processor has no SSE";
#endif
    ASSERT_GT(halved(kSmallest), 0);
  }
};

TEST_F(ScopedDenormals, FlushesUntilTheEndOfTheScopeAndCanBeUndoneWithin) {
  {
    const detail::ScopedDenormals flushed(detail::Denormals::Flush);
    EXPECT_EQ(halved(kSmallest), 0);
    {
      const detail::ScopedDenormals kept(detail::Denormals::Keep);
      EXPECT_GT(halved(kSmallest), 0);
    }
    EXPECT_EQ(halved(kSmallest), 0);
  }
  EXPECT_GT(halved(kSmallest), 0);
}

TEST_F(ScopedDenormals, AreZeroForKernelsOnly) {
  Graph graph;
  const Output x = placeholder(graph, DType::Float, {}, "x");
  GraphSession session(graph, {.kernels = {kernels::math()}});
  EXPECT_EQ(session.run(x * 0.5F, {{x, Tensor(kSmallest)}}).scalar<float>(), 0);
  EXPECT_EQ(session.run(x * 8.0F, {{x, Tensor(halved(kSmallest))}}).scalar<float>(), 0);
  EXPECT_GT(halved(kSmallest), 0);
}

TEST_F(ScopedDenormals, AreZeroInPartsOfTheGraphThatAreComputedOnce) {
  Graph graph;
  const Output folded = constant(graph, kSmallest) * constant(graph, 0.5F);
  GraphSession session(graph, {.kernels = {kernels::math()}});
  EXPECT_EQ(session.run(folded).scalar<float>(), 0);
}

TEST_F(ScopedDenormals, AreBackAfterARunThatFailed) {
  Graph graph;
  const Operation failing = graph.add({.type = "Failing"});
  const KernelDef def[] = {{.type = "Failing", .make = make_failing}};
  GraphSession session(graph, {.kernels = {def}});
  EXPECT_THROW(session.run(failing), InvalidArgumentError);
  EXPECT_GT(halved(kSmallest), 0);
}

TEST_F(ScopedDenormals, AreKeptInInputPipelinesWhicheverThreadRunsThem) {
  const Dataset halves =
      Dataset::from_tensor_slices({Tensor::of<float>({kSmallest, kSmallest})}).map([](Element element) {
        element[0] = Tensor(halved(element[0].scalar<float>()));
        return element;
      });
  for (const Dataset& dataset : {halves, halves.prefetch(2)}) {
    Graph graph;
    const Output next = make_iterator(graph, dataset).get_next<1>()[0];
    GraphSession session(graph, {.kernels = {kernels::data()}});
    for (int i = 0; i < 2; ++i) EXPECT_GT(session.run(next).scalar<float>(), 0);
  }
}

TEST_F(ScopedDenormals, AreKeptWhereAPipelineBegins) {
  const Dataset made = Dataset::from_generator({{DType::Float, Shape{}}}, [] {
    return Generator{.next = [first = halved(kSmallest), given = false](Element& element) mutable {
      element.assign(1, Tensor(first));
      return !std::exchange(given, true);
    }};
  });
  Graph graph;
  const Output next = make_iterator(graph, made).get_next<1>()[0];
  GraphSession session(graph, {.kernels = {kernels::data()}});
  EXPECT_GT(session.run(next).scalar<float>(), 0);
}

}  // namespace
}  // namespace trainhook
