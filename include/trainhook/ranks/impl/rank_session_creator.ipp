// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/rank_session_creator.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_part.hpp>
#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/checkpoint/input_checkpoints.hpp>
#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/checkpoint/restore_policy.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/saved_input.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/process_identity.hpp>
#include <trainhook/monitored/session_hooks.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/ranks/rank_contents.hpp>
#include <trainhook/ranks/rank_rounds.hpp>
#include <trainhook/ranks/rank_state.hpp>
#include <trainhook/ranks/share_variables.hpp>

namespace trainhook::detail {

// What the chief says of a checkpoint: whether this rank can restore it is asked, or it was restored. No prefix: none
// was.
struct RestoreMessage {
  bool is_question = false;
  std::string prefix{};
  std::vector<std::string> savers{};  // the directories of the hooks that save the model, in the last message
};
template <>
inline constexpr auto kFields<RestoreMessage> =
    std::tuple(field(1, "is_question", &RestoreMessage::is_question), field(2, "prefix", &RestoreMessage::prefix),
               field(3, "savers", &RestoreMessage::savers));

// The session after `act`, which is closed if that throws.
inline OwnedSession or_closed(OwnedSession owned, FunctionRef<void(const OwnedSession& owned)> act) {
  try {
    act(owned);
  } catch (...) {
    owned.close();
    throw;
  }
  return owned;
}

RankSessionCreator::RankSessionCreator(RankRounds& rounds, ChiefSessionCreator& alone)
    : rounds_(rounds), graph_(&alone.graph()), open_(alone.open()), options_(alone.options()) {}

OwnedSession RankSessionCreator::create_session() {
  expect_shared_directory();
  return or_closed(rounds_.is_chief() ? create_as_chief() : create_as_other(), [&](const OwnedSession& owned) {
    expect_same_kernels(owned.session);
    rounds_.settle();
  });
}

// On processors of different kinds an engine may choose differently, and the ranks' models would drift apart.
void RankSessionCreator::expect_same_kernels(SessionRef session) const {
  const std::string own(session.kernel_width());
  const std::string chiefs = rounds_.from_chief(own);
  if (own == chiefs) return;
  throw FailedPreconditionError(
      "the kernels of rank {}, on {}, use {} and those of rank 0 {}, so their last bits differ; "
      "give the engines of all ranks one `width` that all machines have",
      rounds_.rank(), host_name(), own, chiefs);
}

/// A file that exists as long as this.
class RankSessionCreator::Token {
 public:
  Token(FileSystem& file_system, const std::string& directory)
      : file_system_(&file_system), name_("ranks" + bundle_temporary_suffix()), path_(join_path(directory, name_)) {
    try {
      if (file_system.is_directory(directory)) file_system.create_writable(path_, WriteMode::Exclusive)->close();
      is_there_ = file_system.exists(path_);
    } catch (const Error& error) { log_warning("whether all ranks share {} cannot be told: {}", directory, error); }
  }
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;
  ~Token() {
    try {
      if (is_there_) file_system_->remove_file(path_);
    } catch (...) { log_warning("{} stays there: {}", path_, describe(std::current_exception())); }
  }

  /// In the directory; empty if there is no file.
  [[nodiscard]] std::string name() const { return is_there_ ? name_ : ""; }

 private:
  FileSystem* file_system_;
  std::string name_;
  std::string path_;
  bool is_there_ = false;
};

// Rank 0 puts a file into the directory, and the others look for it.
void RankSessionCreator::expect_shared_directory() const {
  const std::string& directory = options_.checkpoint_dir;
  if (directory.empty() || rounds_.size() == 1) return;
  std::optional<Token> token;
  if (rounds_.is_chief()) token.emplace(file_system(), directory);
  const std::string name = rounds_.from_chief(token ? token->name() : "");
  if (!rounds_.is_chief() && !name.empty() &&
      !read_from_device([&] { return file_system().exists(join_path(directory, name)); })) {
    throw FailedPreconditionError(
        "checkpoint_dir '{}' of rank {}, on {}, is not that of rank 0: "
        "a file that rank 0 has put there is not in it. It must be a directory that all machines of the job share",
        directory, rounds_.rank(), host_name());
  }
  rounds_.settle();
}

void RankSessionCreator::share(SessionRef session) const {
  share_variables(session, rounds_.is_chief(), [&](std::string bytes) { return rounds_.from_chief(std::move(bytes)); });
}

/// A checkpoint that one rank cannot restore is restored by none.
class RankSessionCreator::RestoredByAll final : public CheckpointPart {
 public:
  explicit RestoredByAll(const RankSessionCreator& creator) : creator_(creator) {}

  [[nodiscard]] std::optional<std::string> why_not(const std::string& prefix) const override {
    return creator_.why_damaged_for_others(prefix);
  }

 private:
  const RankSessionCreator& creator_;
};

OwnedSession RankSessionCreator::create_as_chief() {
  const std::shared_ptr<CheckpointPart> of_all = std::make_shared<RestoredByAll>(*this);
  if (rounds_.size() > 1) graph_->offer(of_all);
  std::string start;
  const auto open = [&] {
    OwnedSession opened = open_();
    if (rounds_.size() > 1 && (!options_.checkpoint_dir.empty() || begins_by_rules()))
      start = rank_state_bytes(start_of_rank(opened.session));
    return opened;
  };
  return or_closed(ChiefSessionCreator(*graph_, open, options_).create_session(), [&](const OwnedSession& owned) {
    const std::string& prefix = owned.restored_from;
    static_cast<void>(
        rounds_.from_chief(message_bytes(RestoreMessage{.prefix = prefix, .savers = saver_directories()})));
    if (!prefix.empty()) report_other_ranks(prefix);
    if (!prefix.empty() || begins_by_rules()) static_cast<void>(rounds_.from_chief(std::move(start)));
    share(owned.session);
  });
}

std::optional<std::string> RankSessionCreator::why_damaged_for_others(const std::string& prefix) const {
  if (std::string own = why_damaged(prefix); !own.empty()) return own;  // which would be so for all
  static_cast<void>(rounds_.from_chief(message_bytes(RestoreMessage{.is_question = true, .prefix = prefix})));
  const std::vector<std::string> answers = rounds_.to_chief({});
  const auto damage = std::ranges::find_if(answers, [](const std::string& answer) { return !answer.empty(); });
  if (damage == answers.end()) return std::nullopt;
  return fmt::format("rank {}: {}", damage - answers.begin(), *damage);
}

// What rank 0 has restored; checks the checkpoints that it asks about before.
RankSessionCreator::Restored RankSessionCreator::wait_for_restored() {
  std::string verified;
  for (;;) {
    const auto message = parse_message<RestoreMessage>(rounds_.from_chief({}), "what rank 0 has restored");
    if (!message.prefix.empty()) expect_readable(message.prefix);
    if (!message.is_question) {
      offer_savers(message.savers);
      return {.prefix = message.prefix, .is_verified = !verified.empty() && message.prefix == verified};
    }
    verified = message.prefix;
    static_cast<void>(rounds_.to_chief(why_damaged(verified)));
  }
}

std::string RankSessionCreator::why_damaged(const std::string& prefix) const try {
  const BundleFiles files = rounds_.is_chief() ? BundleFiles::Check : BundleFiles::AsRead;
  const BundleReader reader(prefix, {.file_system = &file_system(), .files = files});
  (reader.verify)(rank_prefix(rounds_.rank()));
  (reader.verify)(kNumRanks);
  if (rounds_.is_chief()) return {};  // it is asked when it restores
  const VariableSlices slices(*graph_);
  for (const std::string& name : slices.own()) {
    const SaveSliceInfo& part = *slices.find(name);
    const bool has_elements = std::ranges::find(part.var_shape, 0) == part.var_shape.end();
    if (has_elements && reader.has_tensor(part.full_name) && reader.entry(part.full_name).shape == full_shape_of(part))
      reader.get_tensor(part.full_name, region_of(part), {});
  }
  for (const auto& part : graph_->offered<CheckpointPart>()) {
    if (auto why = part->why_not(prefix)) return *std::move(why);
  }
  return {};
} catch (const DataLossError& error) { return error.what(); }

std::vector<std::string> RankSessionCreator::saver_directories() const {
  std::vector<std::string> directories;
  for (const auto& saver : graph_->offered<CheckpointClaim>()) directories.push_back(saver->directory);
  return directories;
}

void RankSessionCreator::offer_savers(const std::vector<std::string>& directories) {
  savers_.clear();
  if (graph_->offered<InputCheckpoints>().empty()) return;
  for (const std::string& directory : directories) {
    savers_.push_back(std::make_shared<CheckpointClaim>(
        CheckpointClaim{.directory = directory, .hook = "saver of rank 0", .directory_lock = DirectoryLock::None}));
    graph_->offer(savers_.back());
  }
}

/// The rules of a job, for a rank other than the chief.
class PolicyOfRank final : public RestorePolicy {
 public:
  /// @param from what a job without a checkpoint of its own begins with, as the rank sees it
  PolicyOfRank(const RestorePolicy& of_job, CheckpointSource from) : of_job_(of_job), from_(std::move(from)) {}

  [[nodiscard]] const CheckpointSource& from() const noexcept override { return from_; }
  [[nodiscard]] std::string text() const override { return of_job_.text(); }
  void restore(SessionRef session, const Saver& saver, const CheckpointSource& checkpoint, const std::string& directory,
               FunctionRef<void()> initialize) const override {
    const bool has_variables = from_.empty();  // the chief's, of the job's own checkpoint
    of_job_.restore(session, saver, checkpoint, directory, [&] {
      if (!has_variables) initialize();
    });
  }

 private:
  const RestorePolicy& of_job_;
  CheckpointSource from_;
};

// If rank 0 has restored a checkpoint, this session gets the variables when it is opened, before what is of this rank
// is restored: then it has all that it is to be ready with.
OwnedSession RankSessionCreator::create_as_other() {
  const Restored restored = wait_for_restored();
  const std::string& prefix = restored.prefix;
  ChiefSessionCreatorOptions options = options_;
  options.checkpoint_dir.clear();
  options.checkpoint_filename_with_path = CheckpointSource();
  const auto shared = [&](OwnedSession opened) {
    return or_closed(std::move(opened), [&](const OwnedSession& owned) { share(owned.session); });
  };
  const bool by_rules = prefix.empty() && begins_by_rules();
  if (prefix.empty() && !by_rules)
    return shared(ChiefSessionCreator(*graph_, open_, std::move(options)).create_session());
  const CheckpointSource source =
      by_rules ? options_.restore->from() : CheckpointSource(prefix, options_.checkpoint_filename_with_path.format());
  RankView view{.rank = rounds_.rank(), .is_verified = restored.is_verified};
  const CheckpointSource viewed(source.path(), [&](const std::string& path, FileSystem& disk, BundleFiles) {
    return std::make_unique<RankContents>(contents_of({path, source.format()}, disk), view);
  });
  if (!by_rules) options.checkpoint_filename_with_path = viewed;
  if (options_.restore != nullptr)
    options.restore = std::make_shared<PolicyOfRank>(*options_.restore, by_rules ? viewed : options_.restore->from());
  std::vector<std::string> own;
  std::optional<std::set<std::string, std::less<>>> of_ranks;
  view.keeps = [&](const std::string& name) {
    return of_ranks && (std::ranges::find(own, name) != own.end() || differs_between_ranks(name, *of_ranks));
  };
  const auto open = [&] {
    const RankState chiefs = rank_state_in(rounds_.from_chief({}), 0);
    of_ranks = names_if_new(source);
    OwnedSession opened = open_();
    view.session = opened.session;
    own = parts_that_differ(start_of_rank(opened.session), chiefs);
    return by_rules ? std::move(opened) : shared(std::move(opened));
  };
  OwnedSession owned = ChiefSessionCreator(*graph_, open, options).create_session();
  std::string kept;
  for (const std::string& name : view.kept) kept += fmt::format("{}'{}'", kept.empty() ? "" : ", ", name);
  if (!kept.empty())
    log_info("{} has nothing of this rank, which is new to the run: it begins with its own {}", source.path(), kept);
  return by_rules ? shared(std::move(owned)) : std::move(owned);
}

// Whether this job begins with the checkpoint that RestoreRules name, if it has none of its own.
bool RankSessionCreator::begins_by_rules() const noexcept {
  return options_.restore != nullptr && !options_.restore->from().empty();
}

// A new rank keeps its own state of this kind: a copy of rank 0's generator would draw the same for ever. But hooks
// decide the same on all ranks, and inputs that are equal at the start are one input.
bool RankSessionCreator::differs_between_ranks(const std::string& name,
                                               const std::set<std::string, std::less<>>& of_ranks) const {
  if (name == HookStates::kName) return false;
  if (std::ranges::count(graph_->collection<std::string>(kInputsWithModel), name) > 0) return false;
  const auto below = of_ranks.lower_bound(name + "/");
  return of_ranks.contains(name) || (below != of_ranks.end() && below->starts_with(name + "/"));
}

void RankSessionCreator::expect_readable(const std::string& prefix) const {
  if (read_from_device([&] { return checkpoint_exists(file_system(), prefix); })) return;
  throw NotFoundError(
      "{}, which rank 0 restores, is not there for rank {}: checkpoint_dir must be a directory that all machines of "
      "the job share",
      prefix, rounds_.rank());
}

std::unique_ptr<CheckpointContents> RankSessionCreator::contents_of(const CheckpointSource& checkpoint,
                                                                    FileSystem& disk) const {
  return checkpoint.open(options_.scaffold->saver()->options().format, disk, BundleFiles::AsRead);
}

// The names that ranks have of their own in a checkpoint; nothing if this rank is not new to it. A rank whose state was
// the chief's has nothing there, so the number of ranks decides. An earlier version did not write it: there, ranks are
// new to a run of one process only.
std::optional<std::set<std::string, std::less<>>> RankSessionCreator::names_if_new(
    const CheckpointSource& checkpoint) const {
  const auto contents =
      contents_of({checkpoint_prefix(file_system(), checkpoint.path()), checkpoint.format()}, file_system());
  std::set<std::string, std::less<>> of_ranks = names_of_ranks(contents->names());
  const bool is_new =
      contents->find(kNumRanks) ? rounds_.rank() >= contents->read(kNumRanks).scalar<std::int64_t>() : of_ranks.empty();
  return is_new ? std::optional(std::move(of_ranks)) : std::nullopt;
}

void RankSessionCreator::report_other_ranks(const std::string& prefix) const {
  const auto contents = contents_of({prefix, options_.checkpoint_filename_with_path.format()}, file_system());
  const std::vector<int> others = ranks_beyond(rounds_.size(), contents->names());
  if (others.empty()) return;
  log_info("{} has the state of {} ranks that this job of {} does not have; the first is rank {}. It is left out",
           prefix, others.size(), rounds_.size(), others.front());
}

}  // namespace trainhook::detail
