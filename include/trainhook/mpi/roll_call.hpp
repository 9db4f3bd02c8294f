// SPDX-License-Identifier: Apache-2.0
/// @file
/// What all calls of MPI need: errors as exceptions, the end of the job, and RollCall, which finds out which ranks of a
/// job are missing while others wait for them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

#include <trainhook/core/linkage.hpp>

namespace trainhook::mpi::detail {

/// True after MPI was initialized and before it is finalized.
[[nodiscard]] TRAINHOOK_DECL bool is_running() noexcept;

/// Throws an InternalError with MPI's own words, unless `code` is MPI_SUCCESS.
TRAINHOOK_DECL void expect_success(int code, const char* call, int rank);

/// Logs `why` and ends all processes of the job, also those that do not answer.
[[noreturn]] TRAINHOOK_DECL void end_job(int rank, std::string_view why) noexcept;

/// A rank that has waited for long asks all others. Those that wait as well answer with the call in which they wait;
/// a rank that does not answer is missing: it computes, hangs or is dead. No call waits for another rank.
class RollCall {
 public:
  /// @param comm only for these messages; freed by the destructor
  TRAINHOOK_DECL explicit RollCall(MPI_Comm comm);
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;
  TRAINHOOK_DECL ~RollCall();

  /// Asks all other ranks, and forgets earlier answers.
  TRAINHOOK_DECL void ask();

  /// Takes the messages that have arrived, and answers questions: this rank waits in `call`.
  TRAINHOOK_DECL void serve(std::string_view call);

  /// Whether no rank with a smaller number has answered, so that this one should report.
  [[nodiscard]] TRAINHOOK_DECL bool is_first_to_wait() const;

  /// For messages: `rank 3 is missing; ranks 1 and 2 wait in MPI_Iallreduce`.
  /// @param call in which this rank waits
  [[nodiscard]] TRAINHOOK_DECL std::string text(std::string_view call) const;

 private:
  enum Tag : int { kQuestion, kAnswer };

  struct Message {
    std::int64_t number = 0;      // of the question
    std::array<char, 40> call{};  // of an answer; ends with a zero
  };
  struct Sent {
    Message message;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  TRAINHOOK_DECL void send(int to, Tag tag, const Message& message);
  TRAINHOOK_DECL void forget_sent();

  MPI_Comm comm_;
  int rank_ = 0;
  std::int64_t number_ = 0;           // of this rank's last question
  std::vector<std::string> answers_;  // of each rank, to that question; empty: none
  std::deque<Sent> sent_;             // what MPI may still read
};

}  // namespace trainhook::mpi::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/roll_call.ipp>
#endif
