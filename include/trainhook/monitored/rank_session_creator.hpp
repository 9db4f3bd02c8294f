// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankSessionCreator: creates the sessions of the ranks of a job with the values of the chief.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class FileSystem;

}  // namespace trainhook

namespace trainhook::detail {

class Agreement;

/// Rank 0 restores the newest checkpoint that is good for all ranks, or initializes. The others do not search for a
/// checkpoint: they check their own state in the one that rank 0 names, before it restores it, then read only their own
/// state and strings from it and get the variables' values from rank 0. No rank continues before all have their
/// session, and none starts if the directory is not the same for all.
class RankSessionCreator final : public SessionCreator {
 public:
  /// @param options as for the chief; a checkpoint is restored from `checkpoint_dir`
  TRAINHOOK_DECL RankSessionCreator(std::shared_ptr<Agreement> agreement, Graph& graph, SessionOpener open,
                                    ChiefSessionCreatorOptions options);

  [[nodiscard]] TRAINHOOK_DECL OwnedSession create_session() override;
  [[nodiscard]] Graph& graph() override { return *graph_; }

 private:
  class Token;

  TRAINHOOK_DECL void expect_shared_directory() const;
  TRAINHOOK_DECL void share(SessionRef session) const;
  [[nodiscard]] TRAINHOOK_DECL OwnedSession create_as_chief();
  [[nodiscard]] TRAINHOOK_DECL OwnedSession create_as_other();
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> why_damaged_for_others(const std::string& prefix) const;
  [[nodiscard]] TRAINHOOK_DECL std::string wait_for_restored() const;
  [[nodiscard]] TRAINHOOK_DECL std::string why_damaged(const std::string& prefix) const;
  TRAINHOOK_DECL void expect_readable(const std::string& prefix) const;
  [[nodiscard]] TRAINHOOK_DECL FileSystem& file_system() const;
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::set<std::string, std::less<>>> names_if_new(
      const std::string& prefix) const;
  [[nodiscard]] TRAINHOOK_DECL bool differs_between_ranks(const std::string& name,
                                                          const std::set<std::string, std::less<>>& of_ranks) const;
  TRAINHOOK_DECL void report_other_ranks(const std::string& prefix) const;

  std::shared_ptr<Agreement> agreement_;
  Graph* graph_;
  SessionOpener open_;
  ChiefSessionCreatorOptions options_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/rank_session_creator.ipp>
#endif
