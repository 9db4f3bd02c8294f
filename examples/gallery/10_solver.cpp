// SPDX-License-Identifier: Apache-2.0
// 10 A solver that owns the loop. Ceres calls back after each iteration, and the callback is one step of a session: it
// saves, logs, and can end the solve. Ceres' own state, such as its trust region, is not saved: a solve that goes on
// starts from the saved parameters and comes to the same solution by other steps. Needs Debian's libceres-dev.
//
//     build/examples/gallery/10_solver [directory]

#include <cmath>
#include <string>
#include <utility>

#include <ceres/ceres.h>
#include <fmt/core.h>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

/// One sample of y = exp(m x + c).
struct Residual {
  template <class T>
  bool operator()(const T* line, T* residual) const {
    residual[0] = y - exp(line[0] * x + line[1]);
    return true;
  }
  double x, y;
};

class Steps final : public ceres::IterationCallback {
 public:
  Steps(th::MonitoredSession<th::LoopSession>& session, double& cost) : session_(session), cost_(cost) {}
  ceres::CallbackReturnType operator()(const ceres::IterationSummary& iteration) override {
    session_.run([&] { cost_ = iteration.cost; });
    return session_.should_stop() ? ceres::SOLVER_TERMINATE_SUCCESSFULLY : ceres::SOLVER_CONTINUE;
  }

 private:
  th::MonitoredSession<th::LoopSession>& session_;
  double& cost_;
};

void solve(const std::string& directory, th::HookList hooks) {
  double line[2] = {0, 0}, cost = 0;
  th::LoopSession loop;
  loop.variable("line", line);
  th::summary::scalar("cost", loop.value("cost", [&] { return cost; }));

  ceres::Problem problem;
  for (int i = 0; i < 60; ++i) {
    const double x = i / 12.0, y = std::exp(0.3 * x + 0.1) + 0.05 * std::sin(40 * x);
    problem.AddResidualBlock(new ceres::AutoDiffCostFunction<Residual, 1, 2>(new Residual{x, y}), nullptr, line);
  }

  auto session = th::monitored_training_session(
      loop, {.checkpoint_dir = directory, .save_summaries_steps = 1, .hooks = std::move(hooks)});
  Steps steps(session, cost);
  ceres::Solver::Options options;
  options.callbacks = {&steps};
  options.update_state_every_iteration = true;  // so that hooks see the parameters of each iteration
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  session.close();
  fmt::print("{} steps: y = exp({:.3f} x + {:.3f}), cost {:.4f}\n", loop.global_step(), line[0], line[1], cost);
}

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "solver-run";
  solve(directory, {th::StopAtStepHook({.last_step = 10})});  // a hook ends the solve early
  solve(directory, {});                                       // started again: goes on, and converges
}
