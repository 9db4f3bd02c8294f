// SPDX-License-Identifier: Apache-2.0
/// @file
/// Measures on this machine what scale_machines.hpp has for it: mpirun -n 2 mpi_scale_measure <folder that is on the
/// disk>. Rank 0 prints; the folder is left as it was.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <mpi.h>
#include <unistd.h>

#include <trainhook/ranks/collective.hpp>

#include "scale_scenarios.hpp"

namespace {

static_assert(sizeof(trainhook::Votes) == scale::kVotes);

using Times = std::vector<double>;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The median of what `work` takes, divided by `parts`.
template <class Work>
double seconds(int rounds, int parts, Work work) {
  Times times;
  for (int i = 0; i < rounds; ++i) {
    const double begin = now();
    work(i);
    times.push_back((now() - begin) / parts);
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[static_cast<std::size_t>(rounds / 2)];
}

void expect(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string(what) + " has failed");
}

/// One way.
double ping_pong(int rank, int bytes) {
  constexpr int kTimes = 200;
  std::vector<char> buffer(static_cast<std::size_t>(bytes));
  return seconds(51, 2 * kTimes, [&](int) {
    for (int i = 0; i < kTimes; ++i) {
      if (rank == 0) MPI_Send(buffer.data(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(buffer.data(), bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(buffer.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
  });
}

/// What the sender is busy for each of many messages, and the time from one to the next of them.
std::array<double, 2> burst(int rank) {
  constexpr int kTimes = 64;
  std::array<std::array<char, scale::kVotes>, kTimes> buffers{};
  std::array<MPI_Request, kTimes> requests{};
  Times busy;
  const double gap = seconds(201, kTimes, [&](int) {
    const double begin = now();
    for (std::size_t i = 0; i < kTimes; ++i) {
      if (rank == 0) MPI_Isend(buffers[i].data(), scale::kVotes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
      if (rank == 1) MPI_Irecv(buffers[i].data(), scale::kVotes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
    }
    busy.push_back((now() - begin) / kTimes);
    MPI_Waitall(kTimes, requests.data(), MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  });
  std::ranges::nth_element(busy, busy.begin() + 100);
  return {busy[100], gap};
}

/// Until a broadcast has begun. The sender's part of its message is in it.
double collective_call() {
  std::array<std::int64_t, scale::kVotes / sizeof(std::int64_t)> bytes{};
  Times times;
  for (int i = 0; i < 201; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now();
    MPI_Ibcast(bytes.data(), static_cast<int>(bytes.size()), MPI_INT64_T, 0, MPI_COMM_WORLD, &request);
    times.push_back(now() - begin);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  std::ranges::nth_element(times, times.begin() + 100);
  return times[100];
}

void network(int rank) {
  const double small = ping_pong(rank, scale::kVotes);
  const double large = ping_pong(rank, 1 << 20);
  const auto [overhead, gap] = burst(rank);
  const double call = collective_call();
  if (rank != 0) return;
  fmt::print(
      "88 bytes one way  {:.2f} us, so L {:.2f} us  o {:.2f} us  g {:.2f} us  G {:.3f} ns/byte  call {:.2f} us\n",
      1e6 * small, 1e6 * (small - 2 * overhead), 1e6 * overhead, 1e6 * gap, 1e9 * (large - small) / (1 << 20),
      1e6 * (call - overhead));
}

void sync_folder(const std::string& folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  expect(fsync(file) == 0, "fsync of the folder");
  close(file);
}

void directory(const std::string& folder) {
  constexpr int kFiles = 1000;
  const auto path = [&](int i) { return folder + "/scale-" + std::to_string(i); };
  const auto each = [&](auto work) { return seconds(kFiles, 1, [&](int i) { work(path(i)); }); };
  const double create =
      each([](const std::string& name) { close(open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600)); });
  sync_folder(folder);
  const double rename = each([](const std::string& name) { std::rename(name.c_str(), (name + "x").c_str()); });
  const double opening = each([](const std::string& name) { close(open((name + "x").c_str(), O_RDONLY)); });
  const double sync = seconds(51, 1, [&](int i) {
    std::rename((path(i) + "x").c_str(), path(i).c_str());
    sync_folder(folder);
    std::rename(path(i).c_str(), (path(i) + "x").c_str());
  });
  const double remove = each([](const std::string& name) { unlink((name + "x").c_str()); });
  fmt::print(
      "create {:.1f} us  rename {:.1f} us  open {:.1f} us  remove {:.1f} us  sync of a changed folder {:.0f} us\n",
      1e6 * create, 1e6 * rename, 1e6 * opening, 1e6 * remove, 1e6 * sync);
}

/// Each rank writes and reads a file of its own, at the same time if `together`.
void bytes(const std::string& folder, int rank, bool together) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  constexpr int kBlocks = 512;
  const std::string name = folder + "/scale-bytes-" + std::to_string(rank);
  std::vector<char> block(kBlock, 'x');
  MPI_Barrier(MPI_COMM_WORLD);
  if (!together && rank != 0) return;
  const int file = open(name.c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600);
  const double write_seconds = seconds(1, 1, [&](int) {
    for (int i = 0; i < kBlocks; ++i) expect(write(file, block.data(), kBlock) == ssize_t{kBlock}, "write");
    expect(fsync(file) == 0, "fsync");
  });
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);  // so that the disk is read
  lseek(file, 0, SEEK_SET);
  const double read_seconds = seconds(1, 1, [&](int) {
    for (int i = 0; i < kBlocks; ++i) expect(read(file, block.data(), kBlock) == ssize_t{kBlock}, "read");
  });
  close(file);
  unlink(name.c_str());
  const double megabytes = 1e-6 * static_cast<double>(kBlock) * kBlocks;
  fmt::print("rank {}, {}, writes {:.0f} MB/s, synced, and reads {:.0f} MB/s\n", rank,
             together ? "with the other one" : "alone", megabytes / write_seconds, megabytes / read_seconds);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2 || argc != 2) {
    fmt::print(stderr, "mpirun -n 2 mpi_scale_measure <folder>\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  network(rank);
  if (rank == 0) directory(argv[1]);
  bytes(argv[1], rank, false);
  bytes(argv[1], rank, true);
  MPI_Finalize();
  return 0;
}
