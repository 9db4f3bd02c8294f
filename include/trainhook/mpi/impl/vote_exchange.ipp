// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/vote_exchange.hpp>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace trainhook::mpi::detail {

VoteExchange::VoteExchange(Communicator comm) : comm_(std::move(comm)) {
  const std::int64_t size = comm_.size();
  const std::int64_t rank = comm_.rank();
  for (std::int64_t reach = 1; reach < size; reach *= kFan) {
    Round& round = rounds_.emplace_back();
    for (std::int64_t distance = reach; distance < reach * kFan && distance < size; distance += reach) {
      round.to.push_back(static_cast<int>((rank + distance) % size));
      round.from.push_back(static_cast<int>((rank + size - distance) % size));
    }
    round.received.resize(round.to.size());
    round.requests.resize(2 * round.to.size(), MPI_REQUEST_NULL);
  }
}

void VoteExchange::start(const Votes& mine) {
  votes_ = mine;
  round_ = 0;
  if (!rounds_.empty()) begin_round();
}

bool VoteExchange::is_done() {
  while (round_ < rounds_.size()) {
    Round& round = rounds_[round_];
    int done = 0;
    expect_success(
        MPI_Testall(static_cast<int>(round.requests.size()), round.requests.data(), &done, MPI_STATUSES_IGNORE),
        "MPI_Testall", comm_.rank());
    if (done == 0) return false;
    for (const Votes& votes : round.received) votes_.add(votes);
    if (++round_ < rounds_.size()) begin_round();
  }
  return true;
}

// Exchanges are not mixed up: a rank hears from another one in one round only, messages of a pair do not overtake each
// other, and a round's memory is used again only after all of its messages are done.
void VoteExchange::begin_round() {
  static_assert(std::is_trivially_copyable_v<Votes> && sizeof(Votes) % sizeof(std::int64_t) == 0);
  constexpr int kLength = sizeof(Votes) / sizeof(std::int64_t);
  constexpr int kTag = 1;  // other messages of the communicator have 0
  Round& round = rounds_[round_];
  round.sent = votes_;
  MPI_Request* request = round.requests.data();
  for (std::size_t i = 0; i < round.from.size(); ++i) {
    expect_success(MPI_Irecv(&round.received[i], kLength, MPI_INT64_T, round.from[i], kTag, comm_.native(), request++),
                   "MPI_Irecv", comm_.rank());
  }
  for (const int to : round.to) {
    expect_success(MPI_Isend(&round.sent, kLength, MPI_INT64_T, to, kTag, comm_.native(), request++), "MPI_Isend",
                   comm_.rank());
  }
}

}  // namespace trainhook::mpi::detail
