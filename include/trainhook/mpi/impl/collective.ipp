// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/collective.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/mpi/request.hpp>

namespace trainhook::mpi::detail {

/// See `mpi::collective`.
class MpiCollective final : public Collective {
 public:
  explicit MpiCollective(Communicator comm)
      : comm_(std::move(comm)), exchange_(std::make_unique<VoteExchange>(comm_)) {}
  MpiCollective(const MpiCollective&) = delete;
  MpiCollective& operator=(const MpiCollective&) = delete;
  ~MpiCollective() override {
    // MPI still uses its memory, and its messages must not reach a communicator that is made later.
    if (is_reducing_) static_cast<void>(exchange_.release());
  }

  [[nodiscard]] int rank() const noexcept override { return comm_.rank(); }
  [[nodiscard]] int size() const noexcept override { return comm_.size(); }

  [[nodiscard]] std::string broadcast(std::string bytes, int root, Duration max_wait) override {
    expect_rank("broadcast", root);
    std::uint64_t length = bytes.size();
    call("MPI_Ibcast", max_wait,
         [&](MPI_Request* request) { return MPI_Ibcast(&length, 1, MPI_UINT64_T, root, comm_.native(), request); });
    bytes.resize(length);
    in_parts(bytes, [&](char* part, int part_length) {
      call("MPI_Ibcast", max_wait, [&](MPI_Request* request) {
        return MPI_Ibcast(part, part_length, MPI_BYTE, root, comm_.native(), request);
      });
    });
    return bytes;
  }

  [[nodiscard]] std::vector<std::string> gather(const std::string& bytes, int root, Duration max_wait) override {
    expect_rank("gather", root);
    const std::vector<std::uint64_t> lengths = lengths_at(root, bytes.size(), max_wait);
    if (rank() != root) {
      std::string copy = bytes;  // MPI may not take constant memory
      in_parts(copy, [&](char* part, int length) {
        call("MPI_Isend", max_wait,
             [&](MPI_Request* request) { return MPI_Isend(part, length, MPI_BYTE, root, 0, comm_.native(), request); });
      });
      return {};
    }
    std::vector<std::string> all;
    for (int source = 0; source < size(); ++source) {
      if (source == root) {
        all.push_back(bytes);
        continue;
      }
      in_parts(all.emplace_back(lengths[static_cast<std::size_t>(source)], '\0'), [&](char* part, int length) {
        call("MPI_Irecv", max_wait, [&](MPI_Request* request) {
          return MPI_Irecv(part, length, MPI_BYTE, source, 0, comm_.native(), request);
        });
      });
    }
    return all;
  }

  void begin(const Votes& votes) override {
    expect_no_reduction("begin");
    is_reducing_ = true;
    exchange_->start(votes);
  }

  [[nodiscard]] Votes finish(Duration max_wait) override {
    if (!is_reducing_) throw FailedPreconditionError("finish: there is no reduction to finish; call begin first");
    wait_until([this] { return exchange_->is_done(); }, "an agreement", rank(), max_wait, &comm_.roll_call());
    is_reducing_ = false;
    return exchange_->votes();
  }

  void barrier(Duration max_wait) override {
    call("MPI_Ibarrier", max_wait, [&](MPI_Request* request) { return MPI_Ibarrier(comm_.native(), request); });
  }

  void end_job(const std::string& why) noexcept override { detail::end_job(rank(), why); }

 private:
  static constexpr std::size_t kLongestPart = std::size_t{1} << 30;  // MPI counts with int

  template <class Start>
  void call(const char* name, Duration max_wait, Start start) {
    expect_no_reduction(name);
    Request request(name, rank(), &comm_.roll_call());
    expect_success(start(request.native()), name, rank());
    request.wait(max_wait);
  }

  template <class Transfer>
  static void in_parts(std::string& bytes, Transfer transfer) {
    for (std::size_t begin = 0; begin < bytes.size(); begin += kLongestPart)
      transfer(bytes.data() + begin, static_cast<int>((std::min)(kLongestPart, bytes.size() - begin)));
  }

  // Those of all ranks, on one of them.
  [[nodiscard]] std::vector<std::uint64_t> lengths_at(int root, std::uint64_t mine, Duration max_wait) {
    std::vector<std::uint64_t> all(rank() == root ? static_cast<std::size_t>(size()) : 0);
    call("MPI_Igather", max_wait, [&](MPI_Request* request) {
      return MPI_Igather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, root, comm_.native(), request);
    });
    return all;
  }

  void expect_rank(const char* who, int rank) const {
    if (rank < 0 || rank >= size())
      throw InvalidArgumentError("{}: there is no rank {}, only 0 to {}", who, rank, size() - 1);
  }

  void expect_no_reduction(const char* who) const {
    if (is_reducing_) throw FailedPreconditionError("{}: a reduction is under way; call finish first", who);
  }

  Communicator comm_;
  std::unique_ptr<VoteExchange> exchange_;
  bool is_reducing_ = false;
};

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

namespace trainhook::mpi {

std::shared_ptr<Collective> collective(const Communicator& comm, Duration max_wait) {
  detail::expect_threads("mpi::collective", false);
  return std::make_shared<detail::MpiCollective>(comm.duplicate(max_wait));
}

std::shared_ptr<SessionPeers> peers(const Communicator& comm, const ranks::PeersOptions& options) {
  const bool waits = options.max_wait_secs > Duration::zero();  // or else ranks::peers refuses it
  return ranks::peers(collective(comm, waits ? options.max_wait_secs : kMaxWait), options);
}

}  // namespace trainhook::mpi
