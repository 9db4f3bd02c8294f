// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/checkpoint_source.hpp>

#include <algorithm>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/names_in_messages.hpp>

namespace trainhook::detail {

class BundleContents final : public CheckpointContents {
 public:
  BundleContents(const std::string& path, FileSystem& file_system, BundleFiles files)
      : reader_(path, {.file_system = &file_system, .files = files}) {}

  [[nodiscard]] const std::string& path() const noexcept override { return reader_.prefix(); }
  [[nodiscard]] std::optional<Entry> find(std::string_view name) const override {
    const auto found = reader_.entries().find(name);
    if (found == reader_.entries().end()) return std::nullopt;
    return Entry{found->second.dtype, found->second.shape};
  }
  [[nodiscard]] Tensor read(std::string_view name) const override { return reader_.get_tensor(name); }
  [[nodiscard]] Tensor read(std::string_view name, const TensorSlice& region) const override {
    return reader_.get_tensor(name, region);
  }
  void read_into(std::string_view name, const TensorSlice& region, std::span<std::byte> to) const override {
    reader_.get_tensor(name, region, to);
  }
  [[nodiscard]] std::vector<std::string> names(std::string_view beginning) const override {
    std::vector<std::string> names;
    const BundleReader::Entries& entries = reader_.entries();
    for (auto entry = entries.lower_bound(beginning); entry != entries.end() && entry->first.starts_with(beginning);
         ++entry)
      names.push_back(entry->first);
    return names;
  }
  [[noreturn]] void refuse(std::string_view variable) const override {
    if (reader_.has_tensor("_CHECKPOINTABLE_OBJECT_GRAPH")) {
      throw NotFoundError(
          "checkpoint {} is object-based, as TensorFlow 2 writes them, and has no tensor '{}': give the Saver or "
          "CheckpointManager .format = open_object_based, which is in <trainhook/compat.hpp> and finds variables by "
          "their full names",
          reader_.prefix(), variable);
    }
    throw NotFoundError(
        "checkpoint {} has no variable '{}'; it was written by another model, so restore it into that one, train into "
        "another directory, or say by `restore` = RestoreRules what may differ: `rename`, or `missing` = "
        "Missing::KeepInitial; {}",
        reader_.prefix(), variable, suggest_keys(reader_.entries(), variable));
  }

 private:
  BundleReader reader_;
};

std::optional<CheckpointContents::Entry> find_readable(const CheckpointContents& contents, std::string_view name) {
  std::optional<CheckpointContents::Entry> found = contents.find(name);
  if (found && found->dtype == DType::Invalid) static_cast<void>(contents.read(name));  // throws, and says why
  return found;
}

}  // namespace trainhook::detail

namespace trainhook {

CheckpointContents::~CheckpointContents() = default;

void CheckpointContents::read_into(std::string_view name, const TensorSlice& region, std::span<std::byte> to) const {
  const Tensor value = read(name, region);
  if (!to.empty()) std::ranges::copy(value.bytes(), to.begin());
}

std::unique_ptr<CheckpointContents> open_bundle(const std::string& path, FileSystem& file_system, BundleFiles files) {
  return std::make_unique<detail::BundleContents>(path, file_system, files);
}

std::unique_ptr<CheckpointContents> CheckpointSource::open(const CheckpointFormat& expected, FileSystem& file_system,
                                                           BundleFiles files) const {
  const CheckpointFormat& chosen = format_ != nullptr ? format_ : expected;
  return (chosen != nullptr ? chosen : open_bundle)(path_, file_system, files);
}

}  // namespace trainhook
