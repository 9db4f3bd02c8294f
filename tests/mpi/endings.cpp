// SPDX-License-Identifier: Apache-2.0
/// @file
/// Programs that begin MPI in their own way, or end by an exception: endings
/// single|begun_before|all_throw|one_throws|one_is_missed|one_fails_between. Each returns 0 if what it saw is right.
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpi.h>

#include <trainhook/core/error.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/model/gradients.hpp>
#include <trainhook/model/initializers.hpp>
#include <trainhook/model/ops.hpp>
#include <trainhook/model/optimizers.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/mpi/all_reduce.hpp>
#include <trainhook/mpi/collective.hpp>
#include <trainhook/mpi/distributed_optimizer.hpp>
#include <trainhook/mpi/runtime.hpp>

namespace {

namespace th = trainhook;

bool is_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

int expect(bool holds, const std::string& what) {
  if (!holds) std::cerr << "not so: " << what << '\n';
  return holds ? 0 : 1;
}

int single(int argc, char** argv) {
  int level = MPI_THREAD_MULTIPLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &level);
  if (level != MPI_THREAD_SINGLE) {
    std::cerr << "not tested: this MPI gives more threads than it is asked for\n";
    MPI_Finalize();
    return 0;
  }
  std::string said;
  try {
    const th::mpi::Runtime runtime(argc, argv);
  } catch (const th::FailedPreconditionError& error) { said = error.what(); }
  int wrong = expect(said.find("MPI_Init_thread with MPI_THREAD_FUNNELED instead of MPI_Init") != std::string::npos,
                     "it says what to do: '" + said + "'");
  said.clear();
  try {
    static_cast<void>(th::mpi::collective(th::mpi::Communicator(MPI_COMM_WORLD)));  // without a Runtime
  } catch (const th::FailedPreconditionError& error) { said = error.what(); }
  wrong += expect(said.find("mpi::collective: MPI runs with MPI_THREAD_SINGLE") != std::string::npos,
                  "a session does not begin either: '" + said + "'");
  wrong += expect(!is_finalized(), "MPI runs on");
  MPI_Finalize();
  return wrong;
}

int begun_before(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  int wrong = 0;
  {
    const th::mpi::Runtime runtime(argc, argv);
    wrong += expect(runtime.world().size() == 2, "there are two ranks");
  }
  wrong += expect(!is_finalized(), "MPI runs on");
  MPI_Finalize();
  std::string said;
  try {
    const th::mpi::Runtime runtime(argc, argv);
  } catch (const th::FailedPreconditionError& error) { said = error.what(); }
  wrong += expect(said.find("only once") != std::string::npos, "it says that MPI was ended: '" + said + "'");
  try {
    const th::mpi::Communicator late(MPI_COMM_WORLD);
    wrong += expect(false, "a communicator after the end is an error");
  } catch (const th::FailedPreconditionError&) {  // as it should be
  }
  return wrong;
}

int all_throw(int argc, char** argv) {
  try {
    const th::mpi::Runtime runtime(argc, argv);
    throw std::runtime_error("the same on all ranks");
  } catch (const std::runtime_error&) { return expect(is_finalized(), "MPI has ended as usual"); }
}

// Trains with a step that `fail` may end, and returns the error that ended the session.
std::string train(int argc, char** argv,
                  const std::function<void(const th::mpi::Communicator& world, int step)>& fail) {
  const th::mpi::Runtime runtime(argc, argv);
  th::LoopSession loop;
  int step = 0;
  try {
    auto session = th::monitored_training_session(loop, {.peers = th::mpi::peers(runtime.world()),
                                                         .hooks = {th::StopAtStepHook({.last_step = 10})},
                                                         .stop_grace_period_secs = std::chrono::seconds(0)});
    th::run_until_stop(session, [&] { session.run([&] { fail(runtime.world(), ++step); }); });
  } catch (const th::Error& error) { return error.to_string(); }
  return "";
}

int one_throws(int argc, char** argv) {
  int rank = 0;
  const std::string said = train(argc, argv, [&](const th::mpi::Communicator& world, int step) {
    rank = world.rank();
    if (rank == 1 && step == 4) throw th::DataLossError("a torn record");
  });
  return expect(said == (rank == 1 ? "DataLoss: a torn record" : "DataLoss: rank 1 has failed: a torn record"),
                "all ranks have the error: '" + said + "'") +
         expect(is_finalized(), "MPI has ended as usual");
}

// The others wait for rank 1 in the middle of their step, so that it can only end the job.
int one_is_missed(int argc, char** argv) {
  train(argc, argv, [](const th::mpi::Communicator& world, int step) {
    if (world.rank() == 1 && step == 4) throw th::DataLossError("a torn record");
    std::vector<float> sum(1);
    th::mpi::all_reduce(sum, th::mpi::Reduction::Sum, world);
  });
  return 0;
}

// Rank 1 fails in the middle of its backward pass, when some of its gradients are on their way and the others wait for
// the rest.
int one_fails_between(int argc, char** argv) {
  const th::mpi::Runtime runtime(argc, argv);
  const int rank = runtime.world().rank();
  th::Graph graph;
  const th::Output row = th::placeholder(graph, th::DType::Int32, th::Shape{}, "row");
  const th::Variable below = th::get_variable(graph, "below", {100});
  const th::Variable above = th::get_variable(graph, "above", {100});
  th::GradientOptions failing;
  failing.registry.replace("Tanh", [&](const th::GradientContext& c) -> std::vector<th::Output> {
    return {th::multiply(c.grad(), th::gather(th::constant(graph, th::Tensor::of<float>({1})), row))};
  });
  th::mpi::DistributedOptimizer optimizer(th::GradientDescentOptimizer({.learning_rate = 0.1}), runtime.world(),
                                          {.bucket_bytes = 0});
  const th::Operation train = optimizer.minimize(th::reduce_sum(th::multiply(above, th::tanh(below))),
                                                 th::create_global_step(graph), {}, failing);
  try {
    auto session = th::monitored_training_session<th::EigenSession>(
        graph, {.peers = th::mpi::peers(runtime.world()), .stop_grace_period_secs = std::chrono::seconds(0)});
    for (std::int32_t i = 0; i < 4; ++i) session.run(train, {{row, th::Tensor(rank == 1 && i == 2 ? 1 : 0)}});
  } catch (const th::Error&) {  // so that the session is destroyed
  }
  return expect(false, "the job has ended");
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<int(int, char**)>> endings = {
      {"single", single},         {"begun_before", begun_before},   {"all_throw", all_throw},
      {"one_throws", one_throws}, {"one_is_missed", one_is_missed}, {"one_fails_between", one_fails_between}};
  const auto ending = endings.find(argc > 1 ? argv[1] : "");
  if (ending == endings.end()) return 2;
  return ending->second(argc, argv);
}
