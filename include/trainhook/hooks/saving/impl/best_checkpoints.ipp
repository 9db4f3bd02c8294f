// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/saving/best_checkpoints.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/finite.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

/// What the graph's saver saves, or everything if it has none, or several.
inline SaverOptions saver_options_of(const Graph& graph) {
  const auto savers = graph.collection<std::shared_ptr<Saver>>(graph_keys::kSavers);
  return savers.size() == 1 && savers.front() != nullptr ? savers.front()->options() : SaverOptions{};
}

inline CheckpointDirectory::List worst_first(const std::vector<BestCheckpoint>& best) {
  CheckpointDirectory::List list;
  for (auto one = best.rbegin(); one != best.rend(); ++one) list.push_back({.prefix = one->prefix});
  return list;
}

BestCheckpoints::BestCheckpoints(BestCheckpointOptions options, SessionServices& services, SessionRef session,
                                 std::shared_ptr<CheckpointClaim> model)
    : options_(std::move(options)),
      services_(&services),
      model_(std::move(model)),
      claim_(make_shared_object<CheckpointClaim>()),
      saver_(saver_options_of(session.graph())) {
  saver_.use(services.file_system(), services.clock());
  saver_.expect_all_here(session.graph(), "BestCheckpointHook");
  const std::string& beside = model_ != nullptr ? model_->directory : services.checkpoint_dir();
  claim_->directory = options_.directory.empty() ? join_path(beside, "best") : options_.directory;
  if (model_ != nullptr && plain_path(claim_->directory) == plain_path(model_->directory)) {
    throw InvalidArgumentError("BestCheckpointHook: directory is '{}', into which {} saves the model; give another one",
                               claim_->directory, model_->hook);
  }
  claim_->basename = model_ != nullptr ? model_->basename : "model.ckpt";
  claim_->hook = "BestCheckpointHook";
  claim_->directory_lock = model_ != nullptr ? model_->directory_lock : DirectoryLock::Auto;
  claim_->hold = take_directory(services, *claim_);
  directory_.emplace(services.file_system(), claim_->directory, kLatestFilename, CheckpointDirectory::Options{});
  if (model_ != nullptr) {
    for (const auto& part : model_->parts) part->join(claim_);
  }
  if (const auto graph = GraphPartMaker::part_of(session)) claim_->parts.push_back(graph);
  list_and_remove(read());
  for (const auto& part : claim_->parts) part->tidy({});
}

bool BestCheckpoints::is_wanted(std::int64_t step, double value) const {
  if (is_nan(value) || step < options_.from_step) return false;
  const BestCheckpoint wanted{.step = step, .value = value};
  const auto same = std::ranges::find(best_, step, &BestCheckpoint::step);
  if (same != best_.end()) return precedes(wanted, *same);
  return std::ssize(best_) < options_.keep || precedes(wanted, best_.back());
}

void BestCheckpoints::restore_input(SessionRef session, std::int64_t step) const {
  if (model_ == nullptr) return;
  for (const auto& part : model_->parts) part->restore(session, step, services_->restored_from());
}

std::string BestCheckpoints::save(SessionRef session, std::int64_t step, double value, SaveCost& cost) {
  SaveRequest request{.save_path = join_path(claim_->directory, claim_->basename),
                      .global_step = step,
                      .write_state = false,
                      .cost = &cost};
  const std::string expected = saver_.prefix_of(request);
  request.parts = claim_->take_parts({.session = session, .saver = &saver_, .prefix = expected, .step = step});
  request.parts.push_back(make_shared_object<ExtraEntries>(std::vector{NamedTensor{value_name(), Tensor(value)}}));
  claim_->confirm_directory(step);
  std::vector<BestCheckpoint> all = best_;
  all.insert(all.end(), surplus_.begin(), surplus_.end());
  std::erase_if(all, [&](const BestCheckpoint& kept) { return kept.step == step; });
  if (!own_.contains(std::string(base_name(expected)))) directory_->expect_free(expected);
  directory_->mark(expected);
  std::string prefix;
  try {
    prefix = saver_.save(session, request);
  } catch (...) {
    directory_->unmark(expected);
    throw;
  }
  own_.emplace(base_name(prefix));
  all.push_back({.step = step, .value = value, .prefix = prefix});
  list_and_remove(std::move(all));
  for (const auto& part : request.parts) part->committed();
  return prefix;
}

bool BestCheckpoints::precedes(const BestCheckpoint& a, const BestCheckpoint& b) const noexcept {
  return is_better(options_.better, a.value, b.value) || (a.value == b.value && a.step < b.step);
}

std::vector<BestCheckpoint> BestCheckpoints::read() {
  FileSystem& file_system = services_->file_system();
  std::vector<BestCheckpoint> found;
  own_ = own_names();
  for (const std::string& prefix : checkpoints_listed_in(file_system, claim_->directory, claim_->basename)) {
    const std::string name(base_name(prefix));
    if (!own_.contains(name)) {
      log_info("BestCheckpointHook: checkpoint {} is not listed in its directory's state file and is left alone",
               prefix);
      continue;
    }
    try {
      const BundleReader reader(prefix, {.file_system = &file_system});
      if (reader.has_tensor(value_name())) {
        found.push_back({.step = step_of_checkpoint(prefix).value_or(0),
                         .value = reader.get_tensor(value_name()).scalar<double>(),
                         .prefix = prefix});
      } else {
        log_warning("BestCheckpointHook: checkpoint {} has no value of '{}' and is left alone", prefix,
                    options_.metric);
        own_.erase(name);
      }
    } catch (const DataLossError& error) {
      log_warning(
          "BestCheckpointHook: checkpoint {} is damaged and no longer counts; only a save of its step replaces it: {}",
          prefix, error);
    }
  }
  return found;
}

std::set<std::string> BestCheckpoints::own_names() {
  FileSystem& file_system = services_->file_system();
  std::set<std::string> own;
  try {
    const auto state = read_checkpoint_state(file_system, claim_->directory, std::string(kLatestFilename));
    for (const std::string& listed : state.value_or(CheckpointState{}).all_model_checkpoint_paths) {
      const std::string prefix = own_or_listed(file_system, claim_->directory, listed);
      if (directory_->has(prefix)) own.emplace(base_name(prefix));
    }
  } catch (const DataLossError& error) {
    log_warning("BestCheckpointHook: checkpoint state of {} is ignored: {}", claim_->directory, error.what());
  }
  const auto is_wanted = [this](std::string_view name) { return without_step(name) == claim_->basename; };
  for (const std::string& prefix : directory_->find_marked(is_wanted)) own.emplace(base_name(prefix));
  return own;
}

std::string BestCheckpoints::value_name() const { return fmt::format("_trainhook/best/{}", options_.metric); }

void BestCheckpoints::list_and_remove(std::vector<BestCheckpoint> all) {
  std::ranges::sort(all, [this](const BestCheckpoint& a, const BestCheckpoint& b) { return precedes(a, b); });
  const std::size_t keep = (std::min)(all.size(), static_cast<std::size_t>(options_.keep));
  best_.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(keep));
  surplus_.assign(all.begin() + static_cast<std::ptrdiff_t>(keep), all.end());
  if (best_.empty()) return directory_->remove_records();
  const CheckpointDirectory::List stays = worst_first(best_);  // the last one counts as the newest
  CheckpointDirectory::List goes = worst_first(surplus_);
  if (goes.empty() && !directory_->has_records() && directory_->lists(stays)) return;
  directory_->update(stays, goes, std::nullopt, [this](const ListedCheckpoint& removed) {
    const auto one = std::ranges::find(surplus_, removed.prefix, &BestCheckpoint::prefix);
    log_info("BestCheckpointHook: removed {}, whose {} of {:.6g} is no longer among the best {}.", one->prefix,
             options_.metric, one->value, options_.keep);
    surplus_.erase(one);
  });
}

}  // namespace trainhook::detail
