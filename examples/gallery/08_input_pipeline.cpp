// SPDX-License-Identifier: Apache-2.0
// 08 An input pipeline. Its position, with the shuffle buffer and what the prefetching thread has ready, is saved with
// the model. A run that stops within an epoch goes on with the next batch: no sample comes twice, none is left out.
//
//     build/examples/gallery/08_input_pipeline [directory]

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

using Batches = std::vector<std::vector<std::int64_t>>;

/// The squares of 0 to 11 in random order, in batches of three, again and again.
th::Dataset squares() {
  return th::Dataset::range(12)
      .map([](const th::Element& element) {
        const auto number = element.at(0).scalar<std::int64_t>();
        return th::Element{th::Tensor(number * number)};
      })
      .shuffle(8, 42)  // a buffer of eight and a seed: another order in each epoch, the same in each run
      .repeat()
      .batch(3)
      .prefetch(2);
}

/// Trains up to `last_step` and returns the batches that it has seen.
Batches train(const std::string& directory, std::int64_t last_step) {
  std::int64_t sum = 0;  // the model
  Batches seen;

  th::LoopSession loop;
  loop.variable("sum", sum);
  th::Iterator& input = th::make_iterator(loop, squares());
  auto session = th::monitored_training_session(
      loop, {.checkpoint_dir = directory,
             .save_checkpoint_steps = 2,
             .hooks = {th::StopAtStepHook({.last_step = last_step}), th::CheckpointInputPipelineHook()}});
  th::Element batch;
  th::run_until_stop(session, [&] {  // the whole loop; the end of a finite input is a normal end
    session.run([&] {
      input.get_next(batch);  // inside the step, so that the position is restored before
      const auto numbers = batch.at(0).data<std::int64_t>();
      for (const std::int64_t number : numbers) sum += number;
      seen.emplace_back(numbers.begin(), numbers.end());
    });
  });
  fmt::print("{}\nsum {} after {} steps\n", fmt::join(seen, " "), sum, loop.global_step());
  return seen;
}

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "input-pipeline-run";
  const Batches whole = train(directory + "/whole", 8);
  Batches pieces = train(directory + "/pieces", 3);
  for (const auto& batch : train(directory + "/pieces", 8)) pieces.push_back(batch);
  fmt::print("the same batches: {}\n", whole == pieces ? "yes" : "no");
}
