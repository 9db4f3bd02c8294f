// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/roll_call.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/mpi/calls.hpp>
#include <trainhook/ranks/collective.hpp>

namespace trainhook::mpi::detail {

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
