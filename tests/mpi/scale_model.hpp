// SPDX-License-Identifier: Apache-2.0
/// @file
/// A simulated job: a clock for each rank, messages by the LogGP model, and a file system whose directory is one
/// server.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace scale {

/// Alexandrov et al., "LogGP: Incorporating Long Messages into the LogP Model", SPAA 1995. Seconds.
struct Network {
  double latency = 0;   ///< L: on the way
  double overhead = 0;  ///< o: of the processor, for each message that it sends or takes
  double gap = 0;       ///< g: between two messages of a rank
  double per_byte = 0;  ///< G
  double call = 0;      ///< of a collective call itself, before its first message
};

/// What one client waits for an operation on a directory, and how many of them the server does for all clients
/// together.
struct Operation {
  double seconds = 0;
  double per_second = 0;
};

/// Bytes per second of one client, and of all together.
struct Bandwidth {
  double client = 0;
  double all = 0;
};

struct Storage {
  Operation create{};
  Operation rename{};  ///< or remove
  Operation open{};    ///< of a file that is there
  double sync = 0;     ///< seconds, beside the time that the bytes take
  Bandwidth write{};
  Bandwidth read{};
};

struct Machine {
  const char* name = "";
  Network network{};
  Storage storage{};
};

/// The ranks of a job. Each call advances their clocks by what it takes. A broadcast or gather sends what OpenMPI 4.1
/// sends for the non-blocking call of that kind (coll/libnbc). A rank alone sends nothing.
class Job {
 public:
  Job(const Machine& machine, int ranks)
      : machine_(machine),
        size_(static_cast<std::size_t>(ranks)),
        clock_(size_, 0),
        out_(size_, 0),
        in_(size_, 0),
        taken_(size_, 0) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] double clock(std::size_t rank) const { return clock_[rank]; }
  [[nodiscard]] double last() const { return *std::ranges::max_element(clock_); }
  [[nodiscard]] double mean() const {
    return std::accumulate(clock_.begin(), clock_.end(), 0.0) / static_cast<double>(size_);
  }
  [[nodiscard]] std::int64_t messages() const { return messages_; }
  [[nodiscard]] std::int64_t bytes() const { return std::accumulate(taken_.begin(), taken_.end(), std::int64_t{0}); }
  [[nodiscard]] std::int64_t most_bytes_of_a_rank() const { return *std::ranges::max_element(taken_); }
  [[nodiscard]] std::int64_t files() const { return files_; }

  /// All go on when the last one is here, at no cost.
  void meet_for_nothing() { std::ranges::fill(clock_, last()); }

  void compute(std::size_t rank, double seconds) { clock_[rank] += seconds; }

  /// As mpi/vote_exchange.hpp does it: each rank sends to those 1, 2 and 3 above it, then to those 4, 8 and 12 above
  /// it, and so on.
  void exchange(std::size_t bytes) {
    std::vector<double> sent(kFan * size_);
    for (std::size_t reach = 1; reach < size_; reach *= kFan) {
      const std::size_t fan = (std::min)(kFan, (size_ - 1) / reach + 1);
      for (std::size_t from = 0; from < size_; ++from)
        for (std::size_t i = 1; i < fan; ++i) sent[from * kFan + i] = send(from, bytes);
      for (std::size_t i = 1; i < fan; ++i)
        for (std::size_t from = 0; from < size_; ++from) take((from + i * reach) % size_, sent[from * kFan + i], bytes);
    }
  }

  /// From rank 0, one call.
  void broadcast(std::size_t bytes) {
    if (size_ == 1) return;
    call();
    if (size_ > 4) return spread(bytes);
    for (std::size_t to = 1; to < size_; ++to) message(0, to, bytes);
  }

  /// To rank 0, which takes one after the other.
  void gather(std::size_t bytes) {
    if (size_ == 1) return;
    call();
    for (std::size_t from = 1; from < size_; ++from) message(from, 0, bytes);
  }

  void create(std::size_t rank) {
    directory(rank, machine_.storage.create);
    ++files_;
  }
  void rename(std::size_t rank) { directory(rank, machine_.storage.rename); }
  void replace(std::size_t rank) {
    directory(rank, machine_.storage.rename);
    --files_;
  }
  void remove(std::size_t rank) { replace(rank); }
  void open(std::size_t rank) { directory(rank, machine_.storage.open); }
  void sync(std::size_t rank) { clock_[rank] += machine_.storage.sync; }
  void write(std::size_t rank, double bytes) { transfer(rank, bytes, machine_.storage.write); }
  void read(std::size_t rank, double bytes) { transfer(rank, bytes, machine_.storage.read); }

  /// All ranks from `first` on, in the order in which they come to the file system.
  [[nodiscard]] std::vector<std::size_t> in_order(std::size_t first = 0) const {
    std::vector<std::size_t> ranks(size_ - first);
    std::iota(ranks.begin(), ranks.end(), first);
    std::ranges::stable_sort(ranks, {}, [this](std::size_t rank) { return clock_[rank]; });
    return ranks;
  }

 private:
  static constexpr std::size_t kFan = 4;

  /// Most broadcasts.
  void spread(std::size_t bytes) {
    for (std::size_t have = 1; have < size_; have *= 2)
      for (std::size_t from = 0; from < have && from + have < size_; ++from) message(from, from + have, bytes);
  }

  void call() {
    for (double& clock : clock_) clock += machine_.network.call;
  }

  /// Until a rank can send or take the next message.
  [[nodiscard]] double pause(std::size_t bytes) const {
    return (std::max)(machine_.network.gap, static_cast<double>(bytes) * machine_.network.per_byte);
  }

  /// From `ready` on, once the rank is free; it is then busy for `overhead`. Returns when it is free again.
  double act(std::size_t rank, double ready) {
    clock_[rank] = (std::max)(clock_[rank], ready) + machine_.network.overhead;
    return clock_[rank];
  }

  /// Returns when the message is on its way.
  double send(std::size_t from, std::size_t bytes) {
    const double sent = act(from, out_[from]);
    out_[from] = sent - machine_.network.overhead + pause(bytes);
    return sent;
  }

  void take(std::size_t to, double sent, std::size_t bytes) {
    ++messages_;
    taken_[to] += static_cast<std::int64_t>(bytes);
    const double arrives = (std::max)(sent + machine_.network.latency, in_[to]);
    in_[to] = arrives + pause(bytes);
    act(to, arrives + static_cast<double>(bytes) * machine_.network.per_byte);
  }

  void message(std::size_t from, std::size_t to, std::size_t bytes) { take(to, send(from, bytes), bytes); }

  /// Half of what the server does not need is the way there, half the way back.
  void directory(std::size_t rank, const Operation& operation) {
    const double service = 1 / operation.per_second;
    const double way = (std::max)(0.0, operation.seconds - service) / 2;
    server_ = (std::max)(clock_[rank] + way, server_) + service;
    clock_[rank] = server_ + way;
  }

  void transfer(std::size_t rank, double bytes, const Bandwidth& bandwidth) {
    disks_ = (std::max)(clock_[rank], disks_) + bytes / bandwidth.all;
    clock_[rank] = (std::max)(clock_[rank] + bytes / bandwidth.client, disks_);
  }

  Machine machine_;
  std::size_t size_;
  std::vector<double> clock_;        ///< when each rank is free
  std::vector<double> out_;          ///< when it can send the next message
  std::vector<double> in_;           ///< when the next message can arrive
  std::vector<std::int64_t> taken_;  ///< the bytes that came to each rank
  double server_ = 0;                ///< when the directory is free
  double disks_ = 0;
  std::int64_t messages_ = 0;
  std::int64_t files_ = 0;
};

}  // namespace scale
