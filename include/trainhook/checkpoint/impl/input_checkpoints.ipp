// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/input_checkpoints.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_cleanup.hpp>
#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

InputCheckpoints::InputCheckpoints(FileSystem& file_system, std::string basename, std::string latest_filename,
                                   InputFiles::Process process)
    : file_system_(&file_system),
      files_(file_system, std::move(basename), std::move(latest_filename), process),
      saver_({.kinds = {StateKind::Input}, .with_saveables = false, .file_system = &file_system}) {}

void InputCheckpoints::follow(const std::shared_ptr<CheckpointClaim>& model) {
  taken_.reset();
  was_restored_ = false;
  if (model_.lock() == model) return;
  model_ = model;
  directory_ = model->directory;
  const int last = files_.process().count > 1 ? files_.process().count - 1 : InputFiles::kAlone;
  expect_name_fits(*file_system_, longest_bundle_path(without_step(files_.prefix_of(directory_, {0, last}))),
                   fmt::format("CheckpointInputPipelineHook: checkpoint_basename '{}'", files_.basename()));
  model->parts.push_back(shared_from_this());
}

void InputCheckpoints::go_alone(std::shared_ptr<CheckpointClaim> own_claim, Clock& clock) {
  own_claim_ = std::move(own_claim);
  directory_ = own_claim_->directory;
  saver_.use(*file_system_, clock);
}

bool InputCheckpoints::restore_newest(SessionRef session) {
  const std::vector<std::string> saved = read_from_device(
      [&] { return checkpoint_candidates(*file_system_, directory_, files_.basename(), files_.latest_filename()); });
  for (const std::string& prefix : saved) {
    if (!read_from_device([&] { return checkpoint_exists(*file_system_, prefix); })) {
      log_warning("input checkpoint {} is skipped: {}.index does not exist", prefix, prefix);
      continue;
    }
    saver_.restore(session, prefix);
    log_info("Restored the input pipeline from {}.", prefix);
    return true;
  }
  if (saved.empty()) return false;
  throw DataLossError(
      "none of the {} input checkpoints that {}/{} lists is there, the newest is {}; put one back, or remove that "
      "file to start the input from the beginning",
      saved.size(), directory_, files_.latest_filename(), saved.front());
}

void InputCheckpoints::save(SessionRef session, std::int64_t step) {
  SaveRequest request{.save_path = join_path(directory_, files_.basename()),
                      .global_step = step,
                      .latest_filename = files_.latest_filename()};
  request.parts =
      own_claim_->take_parts({.session = session, .saver = &saver_, .prefix = saver_.prefix_of(request), .step = step});
  saver_.save(session, request);
}

/// The positions at one step, of all processes.
class InputCheckpoints::TakenInputs final : public Taken {
 public:
  TakenInputs(std::shared_ptr<const InputCheckpoints> files, std::vector<std::vector<NamedTensor>> inputs,
              std::int64_t step)
      : files_(std::move(files)), inputs_(std::move(inputs)), step_(step) {}

  void before_commit() override { files_->write_all(inputs_, step_); }
  void committed() noexcept override { files_->list_and_remove(step_); }

 private:
  std::shared_ptr<const InputCheckpoints> files_;
  std::vector<std::vector<NamedTensor>> inputs_;
  std::int64_t step_;
};

void InputCheckpoints::take(const SaveMoment& moment, TakenParts& taken) {
  if (std::ssize(moment.inputs) + 1 != files_.process().count) {
    log_warning(
        "the checkpoint of step {} lacks the input: the {} processes of the job do not know of it, so the positions of "
        "the others are not here",
        moment.step, files_.process().count);
    return;
  }
  taken_ = moment.step;
  std::vector<std::vector<NamedTensor>> all{saver_.snapshot(moment.session).entries};
  all.insert(all.end(), moment.inputs.begin(), moment.inputs.end());
  taken.push_back(make_shared_object<TakenInputs>(shared_from_this(), std::move(all), moment.step));
}

std::vector<NamedTensor> InputCheckpoints::give(SessionRef session, std::int64_t step,
                                                const std::string& restored_from) {
  if (!was_restored_) restore(session, step, restored_from);
  taken_ = step;
  return saver_.snapshot(session).entries;
}

void InputCheckpoints::tidy(std::optional<std::int64_t> global_step) noexcept {
  try {
    if (global_step && !on_disk().has(*global_step)) return;
  } catch (...) { return; }  // the code that needs the file reports it
  list_and_remove(global_step.value_or((std::numeric_limits<std::int64_t>::max)()));
}

void InputCheckpoints::join(const std::shared_ptr<CheckpointClaim>& other) const {
  if (files_.process().count > 1) return;  // the inputs of the others come with the model's checkpoints only
  std::make_shared<InputCheckpoints>(*file_system_, files_.basename(), files_.latest_filename())->follow(other);
}

void InputCheckpoints::restore(SessionRef session, std::int64_t step, const std::string& restored_from) {
  was_restored_ = true;
  if (taken_ == step) return;
  const bool is_ours =
      read_from_device([&] { return is_checkpoint_of(*file_system_, restored_from, directory_, std::nullopt, step); });
  if (!is_ours) return;
  std::vector<std::string> found;
  try {
    found = files_.find(directory_, step);
  } catch (const DataLossError& error) {
    throw DataLossError("input checkpoint {} is damaged: {}; put it back, or restore an older checkpoint",
                        files_.prefix_of(directory_, files_.own(step)), error.what());
  }
  if (!found.empty()) {
    files_.expect_same_positions(found);
    saver_.restore(session, found.front());
    log_info("Restored the input pipeline from {}.", found.front());
    return;
  }
  if (const std::optional<std::int64_t> earlier = restore_earlier(session, step)) {
    log_warning(
        "the model of step {} was restored from '{}', but {} does not exist: the input continues from its position at "
        "step {}, and elements that were used after that come again",
        step, directory_, files_.prefix_of(directory_, files_.own(step)), *earlier);
  } else {
    log_warning(
        "the model of step {} was restored from '{}', but {} does not exist, nor an earlier one: the input starts from "
        "the beginning, as at step 0",
        step, directory_, files_.prefix_of(directory_, files_.own(step)));
  }
}

std::optional<std::int64_t> InputCheckpoints::restore_earlier(SessionRef session, std::int64_t step) const {
  std::set<std::int64_t> saved;
  for (const File& file : files_.saved(directory_)) {
    if (file.first < step) saved.insert(file.first);
  }
  for (; !saved.empty(); saved.erase(std::prev(saved.end()))) {
    const std::int64_t earlier = *saved.rbegin();
    try {
      const std::vector<std::string> found = files_.find(directory_, earlier);
      if (found.empty()) continue;
      files_.expect_same_positions(found);
      saver_.restore(session, found.front());
      return earlier;
    } catch (const DataLossError& error) {
      log_warning("input checkpoint {} is skipped: {}", files_.prefix_of(directory_, files_.own(earlier)),
                  error.what());
    }
  }
  return std::nullopt;
}

bool InputCheckpoints::is_mine(std::string_view prefix) const { return files_.parse(base_name(prefix)).has_value(); }

std::optional<std::string> InputCheckpoints::why_not(const std::string& prefix) const {
  const std::optional<std::int64_t> step = step_of_checkpoint(prefix);
  if (!step) return std::nullopt;
  std::string damage;
  try {
    for (const std::string& mine : files_.find(parent_path(prefix), *step))
      (BundleReader(mine, {.file_system = file_system_}).verify)();
  } catch (const DataLossError& error) { damage = error.what(); }
  if (damage.empty()) return std::nullopt;
  return fmt::format(
      "the position of the input pipeline at its step is damaged: {} (without the CheckpointInputPipelineHook the "
      "model alone is restored)",
      damage);
}

void InputCheckpoints::write_all(const std::vector<std::vector<NamedTensor>>& inputs, std::int64_t step) const {
  const bool is_alone = files_.process().count == 1;
  const File other{step, is_alone ? 0 : InputFiles::kAlone};  // of a job of another size
  std::set<File> written;
  for (int process = 0; process < files_.process().count; ++process)
    written.emplace(step, is_alone ? InputFiles::kAlone : process);
  CheckpointDirectory list = files_.listing(directory_);
  std::set<File> all = written;
  all.insert(other);
  const std::set<File> own = files_.own(all, list, step);
  for (const File& file : all) {
    const std::string prefix = files_.prefix_of(directory_, file);
    if (!own.contains(file) && checkpoint_exists(*file_system_, prefix)) list.expect_free(prefix);
  }
  for (const File& file : written) {
    list.mark(files_.prefix_of(directory_, file));
    write(inputs.at(static_cast<std::size_t>((std::max)(file.second, 0))), file);
  }
  const std::string other_prefix = files_.prefix_of(directory_, other);
  if (checkpoint_exists(*file_system_, other_prefix)) remove_checkpoint(*file_system_, other_prefix);
}

void InputCheckpoints::write(const std::vector<NamedTensor>& input, File file) const {
  BundleWriter writer(files_.prefix_of(directory_, file), {.file_system = file_system_, .overwrite = true});
  for (const NamedTensor& entry : input) writer.add(entry.name, entry.tensor);
  if (file.second != InputFiles::kAlone)
    writer.add(std::string(InputFiles::kNumProcesses), Tensor(std::int64_t{files_.process().count}));
  writer.finish();
}

InputCheckpoints::OnDisk InputCheckpoints::on_disk(const std::set<std::string>& gone) const {
  const std::shared_ptr<CheckpointClaim> model = model_.lock();
  OnDisk found;
  for (const std::string& prefix : checkpoints_listed_in(*file_system_, directory_)) {
    if (gone.contains(prefix)) continue;
    const auto writes = [&](const auto& part) { return part->is_mine(prefix); };
    const std::optional<InputFiles::Name> parsed = files_.parse(base_name(prefix));
    if (parsed && parsed->step) {
      found.inputs.emplace(*parsed->step, parsed->process);
    } else if (!parsed && (model == nullptr || std::ranges::none_of(model->parts, writes))) {
      found.models.push_back(step_of_checkpoint(prefix).value_or(0));
    }
  }
  return found;
}

void InputCheckpoints::list_and_remove(std::int64_t saved_step) const noexcept {
  try {
    const OnDisk found = on_disk();
    CheckpointDirectory directory = files_.listing(directory_);
    CheckpointDirectory::List stays, goes;
    for (const File& file : files_.listed(directory_)) {
      if (std::ranges::binary_search(found.models, file.first) && !found.has(file.first))
        stays.push_back({.prefix = files_.prefix_of(directory_, file)});  // lost: its model must not seem without input
    }
    for (const File& file : files_.own(found.inputs, directory, saved_step)) {
      if (file.first <= saved_step)  // a later one: being saved
        (found.needs(file.first) ? stays : goes).push_back({.prefix = files_.prefix_of(directory_, file)});
    }
    if (goes.empty() && directory.lists(stays)) return directory.remove_records();
    directory.update(stays, goes, std::nullopt, [](const ListedCheckpoint& /*removed*/) {});
  } catch (...) {
    log_warning("input checkpoints in {} could not be tidied up and are tried again at the next save: {}", directory_,
                describe(std::current_exception()));
  }
}

std::vector<std::string> InputCheckpoints::obsolete(std::int64_t global_step, const std::set<std::string>& gone) const {
  const OnDisk found = on_disk(gone);
  std::vector<std::string> prefixes;
  if (!found.has(global_step)) return prefixes;
  CheckpointDirectory list = files_.listing(directory_);
  for (const File& file : files_.own(found.inputs, list, global_step)) {
    if (file.first <= global_step && !found.needs(file.first)) prefixes.push_back(files_.prefix_of(directory_, file));
  }
  return prefixes;
}

bool InputCheckpoints::OnDisk::has(std::int64_t step) const {
  const auto file = inputs.lower_bound({step, InputFiles::kAlone});
  return file != inputs.end() && file->first == step;
}

bool InputCheckpoints::OnDisk::needs(std::int64_t step) const {
  const auto model = std::ranges::lower_bound(models, step);
  const auto next = inputs.lower_bound({step + 1, InputFiles::kAlone});
  return model != models.end() && (next == inputs.end() || *model < next->first);
}

}  // namespace trainhook::detail
