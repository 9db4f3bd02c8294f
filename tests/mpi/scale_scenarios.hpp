// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a training session of several ranks does, as the calls of a simulated job: agreement, a sharded save, a start.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "scale_model.hpp"

namespace scale {

constexpr std::size_t kVotes = 88;         ///< sizeof(trainhook::Votes)
constexpr std::size_t kLength = 8;         ///< of bytes that follow
constexpr std::size_t kRankState = 3000;   ///< what a rank has of its own
constexpr std::size_t kReport = 100;       ///< assumed: what a rank tells rank 0 at the start
constexpr std::size_t kShared = 16 << 20;  ///< of small variables that rank 0 sends together
constexpr std::size_t kEntry = 80;         ///< of a variable in the index
constexpr std::size_t kVariables = 1000;   ///< assumed
constexpr std::int64_t kKept = 5;          ///< max_to_keep
constexpr double kWork = 9.9e-3;           ///< of a step, to which comes
constexpr double kNoise = 0.1e-3;          ///< ... an exponentially distributed time of this mean; both assumed
constexpr int kSteps = 50;                 ///< that a mean is taken of

/// Seconds that steps take that do nothing but agree.
inline double agreement(const Machine& machine, int ranks) {
  Job job(machine, ranks);
  for (int step = 0; step < kSteps; ++step) job.exchange(kVotes);
  return job.last() / kSteps;
}

/// The same for steps that compute, beside the mean of what the ranks compute: they wait for the slowest one. If
/// they exchange gradients, they wait for it anyway, and an agreement adds no more than to a step that does nothing.
inline double agreement_of_independent_ranks(const Machine& machine, int ranks, std::uint64_t seed) {
  Job job(machine, ranks);
  std::mt19937_64 random(seed);
  double mean = 0;
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t rank = 0; rank < job.size(); ++rank) {
      const double uniform = static_cast<double>(random() >> 11U) * 0x1p-53;  // the same with each standard library
      const double seconds = kWork - kNoise * std::log1p(-uniform);
      job.compute(rank, seconds);
      mean += seconds / static_cast<double>(job.size());
    }
    job.exchange(kVotes);
  }
  return (job.last() - mean) / kSteps;
}

inline void broadcast(Job& job, std::size_t bytes) {
  job.broadcast(kLength);
  job.broadcast(bytes);
}

inline void gather(Job& job, std::size_t bytes) {
  job.gather(kLength);
  if (bytes > 0) job.gather(bytes);
}

/// The chief asks all ranks for something.
inline void collect(Job& job, std::size_t order, std::size_t answer) {
  job.exchange(kVotes);
  broadcast(job, order);
  job.exchange(kVotes);
  gather(job, answer);
}

inline void write_synced(Job& job, std::size_t rank, double bytes) {
  job.create(rank);
  job.write(rank, bytes);
  job.sync(rank);
}

/// By the chief, as all that follows: the file `checkpoint`, of which there is one already unless it `is_first`.
inline void write_state_file(Job& job, bool is_first) {
  write_synced(job, 0, 1000);
  is_first ? job.rename(0) : job.replace(0);
  job.sync(0);
}

/// Renames what all have written: then the checkpoint exists.
inline void commit(Job& job) {
  write_synced(job, 0, 1000);  // .meta
  write_synced(job, 0, static_cast<double>(kEntry * (std::max)(kVariables, job.size())));
  job.sync(0);
  for (std::size_t file = 0; file < job.size() + 1; ++file) job.rename(0);
  job.sync(0);
  job.rename(0);
  job.sync(0);
}

inline void remove_oldest(Job& job) {
  job.rename(0);
  job.sync(0);
  for (std::size_t file = 0; file < job.size() + 1; ++file) job.remove(0);
  write_state_file(job, false);
  job.remove(0);
}

/// Each rank writes a file of its own.
inline void write_shards(Job& job, double bytes) {
  for (const std::size_t rank : job.in_order()) write_synced(job, rank, bytes / static_cast<double>(job.size()));
}

/// What the chief does once all shards are there, if there are `kept` checkpoints before; the oldest of `kKept` goes.
/// Returns the moment when the state file lists the new one.
inline double publish(Job& job, std::int64_t kept) {
  commit(job);
  write_state_file(job, kept == 0);
  const double listed = job.clock(0);
  if (kept == kKept) remove_oldest(job);
  return listed;
}

/// Before the shards are written, and after.
inline void first_rounds(Job& job) {
  collect(job, 1, kRankState);
  collect(job, 100 + 40 * kVariables, 0);
}

inline void second_rounds(Job& job) { collect(job, 1, kEntry * (std::max)(std::size_t{1}, kVariables / job.size())); }

/// Seconds from the begin of a save.
struct Save {
  double rounds = 0;  ///< of what the ranks tell each other, if the files took no time
  double listed = 0;  ///< until the state file lists it
  double loop = 0;    ///< until all ranks go on
};

/// A sharded save in the loop.
inline Save save(const Machine& machine, int ranks, double bytes) {
  Job talking(machine, ranks);
  first_rounds(talking);
  second_rounds(talking);
  talking.exchange(kVotes);
  Job job(machine, ranks);
  first_rounds(job);
  write_shards(job, bytes);
  second_rounds(job);
  const double listed = publish(job, kKept);
  job.exchange(kVotes);  // in which the others wait for the chief
  return {.rounds = talking.last(), .listed = listed, .loop = job.last()};
}

/// The files in the directory once a job has saved until the first of its checkpoints went.
inline std::int64_t files(const Machine& machine, int ranks) {
  Job job(machine, ranks);
  for (std::int64_t kept = 0; kept <= kKept; ++kept) {
    write_shards(job, 0);
    publish(job, kept);
  }
  return job.files();
}

/// So many bytes, from `files` of its files.
inline void read_checkpoint(Job& job, const std::vector<std::size_t>& ranks, std::size_t files, double bytes) {
  for (const std::size_t rank : ranks) {
    job.open(rank);
    job.read(rank, static_cast<double>(kEntry * kVariables));
  }
  for (std::size_t file = 0; file < files; ++file) {
    for (const std::size_t rank : ranks) {
      job.open(rank);
      job.read(rank, bytes / static_cast<double>(files));
    }
  }
}

/// Rank 0 tells the others something, if no rank has failed.
inline void tell(Job& job, std::size_t bytes) {
  job.exchange(kVotes);
  broadcast(job, bytes);
}

/// The ranks see that their options and programs are equal, and rank 0 hears of their parts and outputs.
inline void compare(Job& job) {
  job.exchange(kVotes);
  job.exchange(kVotes);
  gather(job, kReport);
  broadcast(job, kReport);
}

/// Rank 0 sends the others all variables.
inline void share_variables(Job& job, std::size_t bytes) {
  const std::size_t of_one = bytes / kVariables;
  const std::size_t together = (std::min)((std::max)(kShared / of_one, std::size_t{1}), kVariables);
  for (std::size_t sent = 0; sent < kVariables; sent += together)
    tell(job, of_one * (std::min)(together, kVariables - sent));
}

/// A start of a new model of so many bytes, without the files.
inline Job start(const Machine& machine, int ranks, std::size_t bytes) {
  Job job(machine, ranks);
  compare(job);
  tell(job, 30);  // the name of a file, which shows that all see one directory
  job.exchange(kVotes);
  tell(job, 50);  // that nothing was restored
  share_variables(job, bytes);
  job.exchange(kVotes);
  return job;
}

/// Seconds of a start that restores: each rank checks what it has of its own, which is in one file; the chief, which
/// has looked at all files, reads all and gives the others its variables; each of them reads its own once more.
inline double restore(const Machine& machine, int ranks, double bytes) {
  Job job(machine, ranks);
  compare(job);
  tell(job, 30);  // the name of a file, which shows that all see one directory
  for (const std::size_t rank : job.in_order(1)) job.open(rank);
  job.exchange(kVotes);
  const std::vector<std::size_t> others = job.in_order(1);
  if (ranks > 1) {
    for (std::size_t file = 0; file < 1 + job.size(); ++file) job.open(0);  // looks at it
    tell(job, 50);                                                          // the prefix
    for (const std::size_t rank : others) job.open(rank);                   // whether it is there
    read_checkpoint(job, others, 1, static_cast<double>(kRankState));
    job.exchange(kVotes);
    gather(job, 1);
  }
  read_checkpoint(job, {0}, job.size(), bytes);
  tell(job, 50);
  for (const std::size_t rank : others) job.open(rank);
  share_variables(job, static_cast<std::size_t>(bytes));
  read_checkpoint(job, others, 1, static_cast<double>(kRankState));
  job.exchange(kVotes);
  job.exchange(kVotes);  // of the hook that collects the states of ranks
  return job.last();
}

}  // namespace scale
