// SPDX-License-Identifier: Apache-2.0
/// @file
/// A simulated job: a clock for each rank, messages by the LogGP model, and a file system whose directory is one
/// server.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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

/// The ranks of a job. Each call advances their clocks by what it takes. A collective call sends what OpenMPI 4.1
/// sends for the non-blocking call of that kind (coll/libnbc), and moves on only while its ranks are in MPI: as in most
/// installations no thread does that for them while they compute. A rank alone sends nothing.
class Job {
 public:
  Job(const Machine& machine, int ranks)
      : machine_(machine), size_(static_cast<std::size_t>(ranks)), clock_(size_, 0), out_(size_, 0), in_(size_, 0) {
    away_from_ = back_ = std::vector<double>(size_, kNever);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] double clock(std::size_t rank) const { return clock_[rank]; }
  [[nodiscard]] double last() const { return *std::ranges::max_element(clock_); }
  [[nodiscard]] double mean() const {
    return std::accumulate(clock_.begin(), clock_.end(), 0.0) / static_cast<double>(size_);
  }
  [[nodiscard]] std::int64_t messages() const { return messages_; }
  [[nodiscard]] std::int64_t files() const { return files_; }

  /// All go on when the last one is here, at no cost.
  void meet_for_nothing() { std::ranges::fill(clock_, last()); }

  void compute(std::size_t rank, double seconds) { clock_[rank] += seconds; }

  /// A reduction that begins, then each rank computes, and then it is waited for. If `meets`, all wait for the slowest
  /// one in between, as an exchange of gradients does.
  void all_reduce_behind(std::size_t bytes, const std::vector<double>& work, bool meets) {
    if (size_ > 1) call();
    for (std::size_t rank = 0; rank < size_; ++rank) {
      away_from_[rank] = clock_[rank];
      back_[rank] = clock_[rank] + work[rank];
    }
    if (meets) std::ranges::fill(back_, *std::ranges::max_element(back_));
    reduce(bytes);
    spread(bytes);
    for (std::size_t rank = 0; rank < size_; ++rank) clock_[rank] = (std::max)(clock_[rank], back_[rank]);
    std::ranges::fill(away_from_, kNever);
    std::ranges::fill(back_, kNever);
  }

  void all_reduce(std::size_t bytes) {
    if (size_ == 1) return;
    call();
    reduce(bytes);
    spread(bytes);
  }

  /// To rank 0, by a binomial tree.
  void reduce(std::size_t bytes) {
    for (std::size_t half = 1; half < size_; half *= 2)
      for (std::size_t to = 0; to + half < size_; to += 2 * half) message(to + half, to, bytes);
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
  static constexpr double kNever = std::numeric_limits<double>::lowest();

  /// The down half of a reduction, and most broadcasts.
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

  /// The earliest moment from `ready` on at which a rank is in MPI; its processor is then busy for `overhead`.
  double act(std::size_t rank, double ready) {
    double begin = (std::max)(clock_[rank], ready);
    if (begin > away_from_[rank]) {
      begin = (std::max)(begin, back_[rank]);
    } else {  // before it computes, which begins later for it
      away_from_[rank] += machine_.network.overhead;
      back_[rank] += machine_.network.overhead;
    }
    clock_[rank] = begin + machine_.network.overhead;
    return clock_[rank];
  }

  void message(std::size_t from, std::size_t to, std::size_t bytes) {
    const double sent = act(from, out_[from]);
    out_[from] = sent - machine_.network.overhead + pause(bytes);
    take(to, sent, bytes);
  }

  void take(std::size_t to, double sent, std::size_t bytes) {
    ++messages_;
    const double arrives = (std::max)(sent + machine_.network.latency, in_[to]);
    in_[to] = arrives + pause(bytes);
    act(to, arrives + static_cast<double>(bytes) * machine_.network.per_byte);
  }

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
  std::vector<double> clock_;      ///< when each rank is free
  std::vector<double> out_;        ///< when it can send the next message
  std::vector<double> in_;         ///< when the next message can arrive
  std::vector<double> away_from_;  ///< while it computes behind a reduction
  std::vector<double> back_;
  double server_ = 0;  ///< when the directory is free
  double disks_ = 0;
  std::int64_t messages_ = 0;
  std::int64_t files_ = 0;
};

}  // namespace scale
