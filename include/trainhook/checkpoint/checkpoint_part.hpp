// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointPart: something that belongs to a checkpoint beside the session's state. SaveMoment: a save that begins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class BundleWriter;
class HookServices;
class Saver;

namespace detail {

struct BundlePart;
struct CheckpointClaim;

/// A save that is about to begin.
struct SaveMoment {
  SessionRef session{};
  const Saver* saver = nullptr;
  std::string prefix{};  ///< of the checkpoint
  std::int64_t step = 0;
  bool loop_waits = true;  ///< until the save has ended, so that nothing need be copied

  /// The inputs of other processes, by their numbers: from the part that knows them for the one that writes them.
  std::vector<std::vector<NamedTensor>> inputs{};
};

/// What belongs to the checkpoints of one saver hook beside the session's state and the graph's saveables: an input's
/// position, the shares of other processes. It joins the list of a CheckpointClaim; offered in the graph, it is asked
/// about each candidate of a restore. Called on the loop's thread.
class CheckpointPart {
 public:
  /// What the part gives to one save, as it was when it was taken. Lives until the save has ended; if it is destroyed
  /// before `committed`, there is no checkpoint. Called on the thread that writes.
  class Taken {
   public:
    Taken() = default;
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    TRAINHOOK_DECL virtual ~Taken();

    /// Entries after those of the state; a restore of the model ignores them.
    [[nodiscard]] virtual std::span<const NamedTensor> entries() const noexcept { return {}; }

    /// True for a variable of the session that `add_to` brings, so that the saver leaves it out.
    [[nodiscard]] virtual bool brings(const std::string& /*variable*/) const { return false; }

    /// Which data file the saver writes if `add_to` brings others; null: all of them.
    [[nodiscard]] virtual const BundlePart* data_file() const noexcept { return nullptr; }

    /// Adds what the writer does not get as an entry, after all entries.
    virtual void add_to(BundleWriter& /*writer*/) {}

    /// Puts on disk what must be there before the checkpoint is. If it throws, there will be no checkpoint.
    virtual void before_commit() {}

    /// The checkpoint is committed and listed, and old ones are removed.
    virtual void committed() noexcept {}
  };

  using TakenParts = std::vector<std::shared_ptr<Taken>>;

  CheckpointPart() = default;
  CheckpointPart(const CheckpointPart&) = delete;
  CheckpointPart& operator=(const CheckpointPart&) = delete;
  TRAINHOOK_DECL virtual ~CheckpointPart();

  /// Writes what all checkpoints of the claim have in common: before the first of them, or the first step of a session
  /// that was restored.
  virtual void write_once(SessionRef /*session*/, const Saver& /*saver*/, const CheckpointClaim& /*claim*/,
                          HookServices& /*services*/) {}

  /// Why the model must not be saved now; asked before anything is taken. A saver hook may tolerate what `take` throws,
  /// but never what this does.
  [[nodiscard]] virtual std::optional<std::string> veto(SaveMoment& /*moment*/) { return std::nullopt; }

  /// Adds what this part gives to the save.
  virtual void take(const SaveMoment& /*moment*/, TakenParts& /*taken*/) {}

  /// Whether what was taken waits for the loop's thread to bring the rest of it.
  [[nodiscard]] virtual bool is_incomplete() const noexcept { return false; }

  /// Brings the rest: at the end of `step`, or of the loop if there is none. False if it cannot be had there.
  virtual bool complete(std::optional<std::int64_t> /*step*/) { return true; }

  /// Why the model must not be restored from the checkpoint `prefix`, or nothing. What this throws ends the restore, so
  /// that no checkpoint is skipped because of a file that only could not be read.
  [[nodiscard]] virtual std::optional<std::string> why_not(const std::string& /*prefix*/) const { return std::nullopt; }

  /// Whether `prefix` is one of this part's own files, by its name, and no checkpoint of a model.
  [[nodiscard]] virtual bool is_mine(std::string_view /*prefix*/) const { return false; }

  /// Restores what belongs to the model of that step, if the session was just restored and has not run.
  virtual void restore(SessionRef /*session*/, std::int64_t /*global_step*/, const std::string& /*restored_from*/) {}

  /// Cleans up as `committed` does, while no save is in progress: at the end of a run that resumed at this step and
  /// saved nothing, or after a killed writer, of whatever step.
  virtual void tidy(std::optional<std::int64_t> /*global_step*/) noexcept {}

  /// Adds to another directory's claim a part that gives the same to its checkpoints.
  virtual void join(const std::shared_ptr<CheckpointClaim>& /*other*/) const {}
};

using TakenParts = CheckpointPart::TakenParts;

/// Values that are at hand.
class ExtraEntries final : public CheckpointPart::Taken {
 public:
  explicit ExtraEntries(std::vector<NamedTensor> entries) : entries_(std::move(entries)) {}

  [[nodiscard]] std::span<const NamedTensor> entries() const noexcept override { return entries_; }

 private:
  std::vector<NamedTensor> entries_;
};

/// A file `<prefix><suffix>` that is committed with the checkpoint.
class SideFile final : public CheckpointPart::Taken {
 public:
  SideFile(std::string suffix, std::string content) : suffix_(std::move(suffix)), content_(std::move(content)) {}

  TRAINHOOK_DECL void add_to(BundleWriter& writer) override;

 private:
  std::string suffix_;
  std::string content_;
};

/// What every GraphExport is.
struct GraphPartMaker : GraphExport {
  std::shared_ptr<CheckpointPart> (*make)();  ///< for the checkpoints of one claim

  /// The graph of a session as a part of its checkpoints; null if it does not export it.
  [[nodiscard]] static std::shared_ptr<CheckpointPart> part_of(SessionRef session) {
    const GraphExport* const graph = session.graph_export();
    return graph == nullptr ? nullptr : static_cast<const GraphPartMaker*>(graph)->make();
  }
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/checkpoint_part.ipp>
#endif
