// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/roll_call.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/ranks/collective.hpp>

namespace trainhook::mpi::detail {

bool is_running() noexcept {
  static const trainhook::detail::ProcessMark process;  // a forked child must not touch its parent's MPI
  if (!process.is_here()) return false;
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

void expect_success(int code, const char* call, int rank) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  throw InternalError("{} failed on rank {}: {}", call, rank,
                      length > 0 ? std::string_view(text.data(), static_cast<std::size_t>(length))
                                 : std::string_view("MPI gives no reason"));
}

/// What its processes wrote last is lost if MPICH's launcher has not read it when the job is aborted.
inline constexpr std::chrono::milliseconds kTimeToRead{200};

void end_job(int rank, std::string_view why) noexcept {
  try {
    trainhook::detail::log_last_line(fmt::format("rank {} ends the job: {}", rank, why));
  } catch (...) {  // there is no memory for the line
  }
  std::this_thread::sleep_for(kTimeToRead);
  MPI_Abort(MPI_COMM_WORLD, 1);  // of another communicator MPICH asks the ranks, and waits for one that hangs
  std::abort();                  // which MPI_Abort has done before it could return
}

RollCall::RollCall(MPI_Comm comm) : comm_(comm) {
  int size = 1;
  expect_success(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank", 0);
  expect_success(MPI_Comm_size(comm_, &size), "MPI_Comm_size", rank_);
  answers_.resize(static_cast<std::size_t>(size));
}

RollCall::~RollCall() {
  if (!is_running()) return;
  try {
    forget_sent();
  } catch (const Error&) {  // they are kept
  }
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without memory the process ends
  static auto* const kept = new std::deque<std::deque<Sent>>;  // for ever: what is sent cannot be taken back
  if (!sent_.empty()) kept->push_back(std::move(sent_));
  MPI_Comm_free(&comm_);
}

void RollCall::ask() {
  ++number_;
  for (int other = 0; other < static_cast<int>(answers_.size()); ++other) {
    answers_[static_cast<std::size_t>(other)].clear();
    if (other != rank_) send(other, kQuestion, {.number = number_});
  }
}

void RollCall::serve(std::string_view call) {
  forget_sent();
  for (;;) {
    int has_arrived = 0;
    MPI_Status status{};
    expect_success(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &has_arrived, &status), "MPI_Iprobe", rank_);
    if (has_arrived == 0) return;
    Message message;
    expect_success(
        MPI_Recv(&message, sizeof(message), MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm_, MPI_STATUS_IGNORE),
        "MPI_Recv", rank_);
    if (status.MPI_TAG == kQuestion) {
      std::ranges::copy(call.substr(0, message.call.size() - 1), message.call.begin());
      send(status.MPI_SOURCE, kAnswer, message);
    } else if (message.number == number_) {  // else to an earlier question
      answers_[static_cast<std::size_t>(status.MPI_SOURCE)] = message.call.data();
    }
  }
}

bool RollCall::is_first_to_wait() const {
  return std::all_of(answers_.begin(), answers_.begin() + rank_, [](const auto& answer) { return answer.empty(); });
}

std::string RollCall::text(std::string_view call) const {
  std::map<std::string, std::vector<int>> ranks_in;  // by their answers
  for (std::size_t rank = 0; rank < answers_.size(); ++rank) {
    if (static_cast<int>(rank) != rank_ && answers_[rank] != call)
      ranks_in[answers_[rank]].push_back(static_cast<int>(rank));
  }
  if (ranks_in.empty()) return "all of them wait there, too";
  std::string text;
  for (const auto& [answer, ranks] : ranks_in) {
    const bool is_one = ranks.size() == 1;
    text += fmt::format("{}{} ", text.empty() ? "" : "; ", trainhook::detail::ranks_text(ranks));
    text += answer.empty() ? (is_one ? "is missing" : "are missing")
                           : fmt::format("{} in {}", is_one ? "waits" : "wait", answer);
  }
  return text;
}

void RollCall::send(int to, Tag tag, const Message& message) {
  Sent& sent = sent_.emplace_back(Sent{.message = message});
  expect_success(MPI_Isend(&sent.message, sizeof(Message), MPI_BYTE, to, tag, comm_, &sent.request), "MPI_Isend",
                 rank_);
}

void RollCall::forget_sent() {
  while (!sent_.empty()) {
    int done = 0;
    expect_success(MPI_Test(&sent_.front().request, &done, MPI_STATUS_IGNORE), "MPI_Test", rank_);
    if (done == 0) return;
    sent_.pop_front();
  }
}

}  // namespace trainhook::mpi::detail
