// SPDX-License-Identifier: Apache-2.0
/// @file
/// A job whose rank 1 is stopped at a place where the others wait for it, who must end the job, and rank 1 with it:
/// hang <place> <directory for checkpoints>.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

#include <trainhook/core/error.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/mpi/all_reduce.hpp>
#include <trainhook/mpi/broadcast_global_variables_hook.hpp>
#include <trainhook/mpi/collective.hpp>
#include <trainhook/mpi/runtime.hpp>
#include <trainhook/ranks/peers.hpp>

namespace {

namespace th = trainhook;
using namespace std::chrono_literals;

constexpr th::Duration kWait = 4s;

void hang() { static_cast<void>(std::raise(SIGSTOP)); }

void hang_on_1(const th::mpi::Communicator& world) {
  if (world.rank() == 1) hang();
}

// Before MPI has begun.
bool is_rank_1() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "1";
  }
  return false;
}

// For a call of a Collective that all ranks have.
std::function<void(const th::mpi::Communicator&)> in(const std::function<void(th::Collective&)>& call) {
  return [call](const th::mpi::Communicator& world) {
    const std::shared_ptr<th::Collective> ranks = th::mpi::collective(world);
    hang_on_1(world);
    call(*ranks);
  };
}

void train(const th::mpi::Communicator& world, const std::string& place, const std::string& directory) {
  const auto at = [&](std::string_view here) {
    if (here == place) hang_on_1(world);
  };
  th::LoopSession loop;
  float weight = 0;
  loop.variable("weight", weight);
  int step = 0;
  const auto collective = th::mpi::collective(world);
  at("session_start");
  const th::HookList hooks = {th::StopAtStepHook({.num_steps = 5}),
                              th::LambdaHook({.begin = [&](th::Graph&) { at("session_begin"); },
                                              .end = [&](th::SessionRef) { at("session_end"); },
                                              .save_state =
                                                  [&] {
                                                    at("session_save");
                                                    return th::StateValues{};
                                                  },
                                              .load_state = [](const th::StateValues&) {}})};
  auto session = th::monitored_training_session(loop, {.peers = th::ranks::peers(collective, {.max_wait_secs = kWait}),
                                                       .checkpoint_dir = directory,
                                                       .save_checkpoint_steps = 1,
                                                       .hooks = hooks,
                                                       .stop_grace_period_secs = 0s});
  th::run_until_stop(session, [&] {
    session.run([&] {
      if (++step != 3) return;
      at("session_step");
      if (place == "session_failure" && world.rank() == 0) throw th::DataLossError("a torn record");
      at("session_failure");
    });
  });
}

// MPI_Finalize calls this first.
int hang_at_finalize(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  hang();
  return MPI_SUCCESS;
}

void prepare_finalize(const th::mpi::Communicator& world) {
  if (world.rank() != 1) return;
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, hang_at_finalize, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
}

void sum_in_background(const th::mpi::Communicator& world, bool is_first) {
  const std::shared_ptr<th::AllReducer> reducer = th::mpi::reducer(world, kWait);
  if (is_first) hang_on_1(world);
  const std::unique_ptr<th::BackgroundSum> sum = reducer->make_background_sum();
  hang_on_1(world);
  const std::array<float, 1> values = {1};
  const std::span<const std::byte> part = std::as_bytes(std::span(values));
  sum->start(std::span(&part, 1), th::DType::Float);
  static_cast<void>(sum->finish());
}

std::map<std::string, std::function<void(const th::mpi::Communicator&)>> places() {
  return {
      {"begin", [](const auto&) {}},
      {"communicator",
       [](const auto& world) {
         hang_on_1(world);
         const th::mpi::Communicator comm(MPI_COMM_WORLD, kWait);
       }},
      {"collective",
       [](const auto& world) {
         hang_on_1(world);
         static_cast<void>(th::mpi::collective(world, kWait));
       }},
      {"broadcast", in([](auto& ranks) { static_cast<void>(ranks.broadcast(std::string(10, 'a'), 0, kWait)); })},
      {"long_broadcast",
       in([](auto& ranks) { static_cast<void>(ranks.broadcast(std::string(10'000'000, 'a'), 0, kWait)); })},
      {"gather", in([](auto& ranks) { static_cast<void>(ranks.gather(std::string(1'000'000, 'a'), 0, kWait)); })},
      {"barrier", in([](auto& ranks) { ranks.barrier(kWait); })},
      {"reduction", in([](auto& ranks) {
         ranks.begin({});
         static_cast<void>(ranks.finish(kWait));
       })},
      {"all_reduce",
       [](const auto& world) {
         hang_on_1(world);
         std::vector<float> sum(1000);
         th::mpi::all_reduce(sum, th::mpi::Reduction::Sum, world, kWait);
       }},
      {"first_background_sum", [](const auto& world) { sum_in_background(world, true); }},
      {"background_sum", [](const auto& world) { sum_in_background(world, false); }},
      {"broadcast_hook",
       [](const auto& world) {
         hang_on_1(world);
         const th::mpi::BroadcastGlobalVariablesHook hook(world, 0, kWait);
       }},
      {"exception",
       [](const auto& world) {
         hang_on_1(world);
         throw th::DataLossError("a torn record");
       }},
      {"end", hang_on_1},
      {"finalize", prepare_finalize},
  };
}

}  // namespace

int main(int argc, char** argv) {
  const std::string place = argc > 2 ? argv[1] : "";
  if (place == "begin" && is_rank_1()) hang();
  try {
    const th::mpi::Runtime runtime(argc, argv, kWait);
    if (place.starts_with("session_")) {
      train(runtime.world(), place, place == "session_save" ? argv[2] : "");
    } else {
      places().at(place)(runtime.world());
    }
  } catch (const std::exception& error) { std::cerr << error.what() << '\n'; }
  return 0;
}
