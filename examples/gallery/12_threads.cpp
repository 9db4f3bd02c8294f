// SPDX-License-Identifier: Apache-2.0
// 12 Several threads. Two of them keep a queue filled while the loop takes batches from it, a third one is your own.
// The session starts and stops them and waits for them. An error in one of them ends the loop and reaches its caller.
//
//     build/examples/gallery/12_threads [directory]

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <trainhook/engine.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/compat/queue_runner.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;
using namespace std::chrono_literals;

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "threads-run";

  // Input: numbers go into a queue. Two threads run `enqueue` until there is no more; then the queue is closed. What a
  // queue holds is not part of a checkpoint: for exact resume let the loop read its iterator itself, as in 08.
  th::Graph graph;
  const auto [number] = th::make_iterator(graph, th::Dataset::range(1'000)).get_next<1>();
  const th::FIFOQueue queue(graph, 32, {th::DType::Int64}, {{}});
  const th::Operation enqueue = queue.enqueue({number});
  th::add_queue_runner(queue, {enqueue, enqueue});

  // Training: a step takes ten of them, in whatever order the threads brought them.
  const th::Output batch = queue.dequeue_many(10)[0];
  const th::Variable sum = th::get_variable(graph, "sum", {}, {.dtype = th::DType::Int64, .trainable = false});
  const th::Variable step = th::get_or_create_global_step(graph);
  const th::Operation train = th::group(graph, {th::assign_add(sum, th::reduce_sum(batch)), th::increment(step)});

  // A thread of your own: the coordinator tells it when to stop, and the session's end waits for it.
  int rounds = 0;
  auto watch = th::LambdaHook({.after_create_session = [&](th::SessionRef, th::Coordinator& coordinator) {
    coordinator.start_thread([&](const std::stop_token& stop) {
      do {
        ++rounds;
        std::this_thread::sleep_for(1ms);
      } while (!stop.stop_requested());
    });
  }});

  const auto totals = std::make_shared<th::FinalOpsHook>(th::FetchRefs{sum, step});
  auto session = th::monitored_training_session<th::EigenSession>(
      graph, {.checkpoint_dir = directory, .hooks = {std::move(watch), totals}});
  th::run_until_stop(session, train);  // the closed queue is the end of the input

  const auto& values = totals->final_ops_values();
  fmt::print("sum {} in {} steps: {}\n", values[0].scalar<std::int64_t>(), values[1].scalar<std::int64_t>(),
             session.why_it_ended());
  fmt::print("my thread has worked: {}\n", rounds > 0 ? "yes" : "no");
}
