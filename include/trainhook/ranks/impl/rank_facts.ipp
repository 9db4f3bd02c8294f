// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/rank_facts.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/checkpoint/restore_policy.hpp>
#include <trainhook/checkpoint/run_record.hpp>
#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/io/process_identity.hpp>
#include <trainhook/monitored/session_hooks.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/collective.hpp>

namespace trainhook::detail {

std::string fact_bytes(const Facts& facts) {
  std::string bytes;
  for (const auto& [name, value] : facts) {
    bytes.append(name).push_back('\0');
    bytes.append(value).push_back('\0');
  }
  return bytes;
}

Facts facts_in(std::string_view bytes) {
  Facts facts;
  const auto take = [&] {
    const std::string_view text = bytes.substr(0, bytes.find('\0'));
    bytes.remove_prefix((std::min)(text.size() + 1, bytes.size()));
    return std::string(text);
  };
  while (!bytes.empty()) {
    std::string name = take();
    facts.emplace_back(std::move(name), take());
  }
  return facts;
}

std::string fact_differences(const Facts& mine, const Facts& chiefs) {
  std::string text;
  const auto add = [&](std::string difference) { text += (text.empty() ? "" : ", ") + difference; };
  for (const auto& [name, value] : mine) {
    const auto same = std::ranges::find(chiefs, name, &Facts::value_type::first);
    if (same == chiefs.end()) {
      add(fmt::format("{} is '{}' and not there", name, value));
    } else if (same->second != value) {
      add(fmt::format("{} is '{}' and not '{}'", name, value, same->second));
    }
  }
  for (const auto& [name, value] : chiefs) {
    if (std::ranges::find(mine, name, &Facts::value_type::first) == mine.end())
      add(fmt::format("{} is not there and not '{}'", name, value));
  }
  return text;
}

Facts facts_about(const Graph& graph, const Hooks& hooks) {
  const RunRecord record = run_record_of(graph);
  Facts facts = {{"the digest of the program's file", fmt::format("{:08x}", program_digest())},
                 {"the library's compiler", __VERSION__},
                 {"the digest of the graph", fmt::format("{:08x}", record.graph_fingerprint)},
                 {"the graph's random seed", fmt::format("{}", record.random_seed)}};
  std::string writers;
  for (const std::shared_ptr<SessionRunHook>& hook : hooks) {
    if (hook->writes_variables()) writers += fmt::format("{}{}", writers.empty() ? "" : ", ", short_type_name(*hook));
  }
  if (!writers.empty()) {
    facts.emplace_back("the list of hooks that change variables (give them to all ranks: hooks, not chief_only_hooks)",
                       writers);
  }
  for (const std::shared_ptr<SessionRunHook>& hook : hooks) {
    if (const auto* input = dynamic_cast<const CheckpointInputPipelineHook*>(hook.get()))
      facts.emplace_back(
          "CheckpointInputPipelineHook's checkpoint_basename (give the hook to all ranks: hooks, not chief_only_hooks)",
          input->options().checkpoint_basename);
  }
  int number = 0;
  for (const std::shared_ptr<SessionRunHook>& hook : hooks) {
    const auto* stop = dynamic_cast<const StopAtStepHook*>(hook.get());
    if (stop == nullptr) continue;
    const bool is_last = stop->options().last_step.has_value();
    const std::string place = ++number > 1 ? fmt::format(" (number {})", number) : "";
    facts.emplace_back(fmt::format("StopAtStepHook's {}{}", is_last ? "last_step" : "num_steps", place),
                       fmt::format("{}", is_last ? *stop->options().last_step : *stop->options().num_steps));
  }
  return facts;
}

bool stops_by_the_step(const LiveSession& session) noexcept {
  if (!session.stop_requested()) return false;
  const std::optional<std::int64_t> step = session.step();
  return step && std::ranges::any_of(session.hooks(), [&](const std::shared_ptr<SessionRunHook>& hook) {
           const auto* stop = dynamic_cast<const StopAtStepHook*>(hook.get());
           return stop != nullptr && stop->last_step() && *step >= *stop->last_step();
         });
}

Facts outputs_of(const Hooks& hooks) {
  Facts outputs;
  for (const std::shared_ptr<SessionRunHook>& hook : hooks) {
    if (std::string path = hook->writes_to(); !path.empty())
      outputs.emplace_back(std::move(path), short_type_name(*hook));
  }
  return outputs;
}

std::string shared_outputs(const std::vector<Facts>& outputs) {
  std::map<std::string, std::vector<int>> ranks_of;
  std::map<std::string, std::string> hook_of;  // of the last rank, because the chief's own hooks are not the user's
  for (std::size_t rank = 0; rank < outputs.size(); ++rank) {
    for (const auto& [path, hook] : outputs[rank]) {
      std::vector<int>& ranks = ranks_of[path];
      if (ranks.empty() || ranks.back() != static_cast<int>(rank)) ranks.push_back(static_cast<int>(rank));
      hook_of[path] = hook;
    }
  }
  std::string text;
  for (const auto& [path, ranks] : ranks_of) {
    if (ranks.size() > 1)
      text += fmt::format("{}{} ({} on {})", text.empty() ? "" : ", ", path, hook_of[path], ranks_text(ranks));
  }
  return text;
}

Facts parts_of(const Graph& graph) {
  Facts parts;
  for (const Variable& variable : global_variables(graph)) {
    const SaveSliceInfo* const part = variable.save_slice_info.get();
    if (part != nullptr && part->is_own && variable.shape().known().num_elements() > 0)
      parts.emplace_back(part->full_name,
                         fmt::format("{}{} {}", variable.dtype(), full_shape_of(*part), region_of(*part)));
  }
  return parts;
}

std::vector<std::string> tensors_in_parts(const std::vector<Facts>& of_ranks) {
  struct Parts {
    std::string_view tensor{};
    std::vector<TensorSlice> regions{};
    std::vector<int> ranks{};
  };
  std::map<std::string, Parts> tensors;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    for (const auto& [name, part] : of_ranks[rank]) {
      const std::size_t space = part.rfind(' ');
      const std::string_view tensor = std::string_view(part).substr(0, space);
      Parts& parts = tensors[name];
      if (!parts.tensor.empty() && parts.tensor != tensor) {
        throw InvalidArgumentError(
            "the tensor '{}' is {} on rank {} and {} on rank {}: `part_of` must be of one tensor", name, parts.tensor,
            parts.ranks.front(), tensor, rank);
      }
      parts.tensor = tensor;
      parts.regions.push_back(TensorSlice::parse(std::string_view(part).substr(space + 1)));
      parts.ranks.push_back(static_cast<int>(rank));
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, parts] : tensors) {
    names.push_back(name);
    const auto overlap = Regions(parts.regions).find_overlap();
    if (!overlap) continue;
    throw InvalidArgumentError(
        "the parts {} of rank {} and {} of rank {} of the tensor '{}' overlap: each element belongs to one part; check "
        "`offset` of `part_of`, and keep copies of what others own, such as a halo, in other memory",
        parts.regions[overlap->first], parts.ranks[overlap->first], parts.regions[overlap->second],
        parts.ranks[overlap->second], name);
  }
  return names;
}

inline constexpr std::string_view kByTheClock = "every_n_secs";

Facts evaluations_of(const Hooks& hooks) {
  Facts evaluations;
  for (const std::shared_ptr<SessionRunHook>& hook : hooks) {
    const auto* evaluation = dynamic_cast<const EvaluationHook*>(hook.get());
    if (evaluation == nullptr) continue;
    const EvaluationHook::Options& options = evaluation->options();
    evaluations.emplace_back(options.name, options.every_n_secs
                                               ? std::string(kByTheClock)
                                               : fmt::format("every_n_steps = {}, at_end = {}",
                                                             options.every_n_steps.value_or(0), options.at_end));
  }
  return evaluations;
}

std::vector<std::string> evaluations_of_all(const std::vector<Facts>& of_ranks) {
  std::map<std::string, std::vector<std::string>> times;  // by name, on all ranks
  for (const Facts& evaluations : of_ranks) {
    for (const auto& [name, time] : evaluations) times[name].push_back(time);
  }
  std::vector<std::string> shared;
  for (const auto& [name, all] : times) {
    const auto has_it = [&name = name](const Facts& evaluations) {
      return std::ranges::count(evaluations, name, &Facts::value_type::first) == 1;
    };
    if (all.size() == 1 && has_it(of_ranks.front())) continue;
    if (!std::ranges::all_of(of_ranks, has_it) || all.size() != of_ranks.size() || all.front() == kByTheClock ||
        std::ranges::count(all, all.front()) != std::ssize(all)) {
      throw InvalidArgumentError(
          "EvaluationHook '{}': give it to rank 0 alone (chief_only_hooks), or to all ranks (hooks), once and with the "
          "same every_n_steps; the clocks of ranks differ, so every_n_secs is for one rank",
          name);
    }
    shared.push_back(name);
  }
  return shared;
}

std::vector<const SessionRunHook*> evaluations_of_one_rank(const Hooks& hooks, const std::vector<std::string>& of_all) {
  std::vector<const SessionRunHook*> of_one;
  for (const std::shared_ptr<SessionRunHook>& hook : hooks) {
    const auto* const evaluation = dynamic_cast<const EvaluationHook*>(hook.get());
    if (evaluation != nullptr && !std::ranges::binary_search(of_all, evaluation->options().name))
      of_one.push_back(evaluation);
  }
  return of_one;
}

// Facts as bytes.
struct StartReport {
  std::string parts{};
  std::string outputs{};
  std::string evaluations{};
};
template <>
inline constexpr auto kFields<StartReport> =
    std::tuple(field(1, "parts", &StartReport::parts), field(2, "outputs", &StartReport::outputs),
               field(3, "evaluations", &StartReport::evaluations));

std::string start_report(const Graph& graph, const Hooks& hooks) {
  return message_bytes(StartReport{.parts = fact_bytes(parts_of(graph)),
                                   .outputs = fact_bytes(outputs_of(hooks)),
                                   .evaluations = fact_bytes(evaluations_of(hooks))});
}

StartAnswer answer_to(const std::vector<std::string>& reports) {
  std::vector<Facts> parts;
  std::vector<Facts> outputs;
  std::vector<Facts> evaluations;
  for (const std::string& bytes : reports) {
    const auto report = parse_message<StartReport>(bytes, "what a rank says of itself");
    parts.push_back(facts_in(report.parts));
    outputs.push_back(facts_in(report.outputs));
    evaluations.push_back(facts_in(report.evaluations));
  }
  StartAnswer answer{.tensors_in_parts = tensors_in_parts(parts)};
  if (const std::string shared = shared_outputs(outputs); !shared.empty()) {
    throw InvalidArgumentError(
        "several ranks would write the same: {}. Put the hook into chief_only_hooks, or give each rank a path of its "
        "own",
        shared);
  }
  answer.evaluations_of_all = evaluations_of_all(evaluations);
  return answer;
}

void expect_options_of_job(const MonitoredTrainingSessionOptions& options) {
  if (has_checkpoint_saver(options.hooks))
    throw InvalidArgumentError(
        "monitored_training_session: with peers, a hook that saves checkpoints belongs to chief_only_hooks: "
        "only rank 0 may write them");
}

Facts facts_about(const MonitoredTrainingSessionOptions& options) {
  const auto steps = [](const std::optional<std::int64_t>& period) {
    return period ? fmt::format("{}", *period) : std::string("none");
  };
  const auto time = [](const std::optional<Duration>& period) {
    return period ? fmt::format("{} s", std::chrono::duration<double>(*period).count()) : std::string("none");
  };
  return {{"checkpoint_dir", options.checkpoint_dir},
          {"restore", options.restore != nullptr ? options.restore->text() : "none"},
          {"save_checkpoint_steps", steps(options.save_checkpoint_steps)},
          {"save_checkpoint_secs", time(options.save_checkpoint_secs)},
          {"max_save_overhead",
           options.max_save_overhead ? fmt::format("{}", *options.max_save_overhead) : std::string("none")},
          {"save_summaries_steps", steps(options.save_summaries_steps)},
          {"save_summaries_secs", time(options.save_summaries_secs)}};
}

}  // namespace trainhook::detail
