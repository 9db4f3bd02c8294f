// SPDX-License-Identifier: Apache-2.0
/// @file
/// The parts of the soak that hurt real processes on a real disk.
#include "soak.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/testing/faulty_file_system.hpp>

namespace soak {

int kills(const Soak& soak) {
  Findings findings("kills");
  for (const Setup& setup : kSetups) {
    const Files wanted = undisturbed(soak, setup);
    const std::string directory = soak.directory("killed");
    const Setup mine = in_directory(setup, directory);
    bool killed = true;
    for (std::uint64_t at = 1 + soak.seed % soak.every; killed; at += soak.every) {
      fs::remove_all(directory);
      killed = was_killed(in_child([&] {
        th::testing::FaultyFileSystem disk(th::posix_file_system());
        disk.set_callback([&](th::testing::FileOperation, const std::string&) {
          if (disk.count() == at) raise(SIGKILL);
        });
        train(mine, disk);
      }));
      if (!killed) break;
      findings.count();
      if (!succeeded(in_child([&] { train(mine, th::posix_file_system()); }))) {
        findings.report(fmt::format("{}, killed at file call {}: it does not go on", setup.name, at));
      } else if (const auto text = difference(wanted, checkpoint_files(directory))) {
        findings.report(fmt::format("{}, killed at file call {}: {}", setup.name, at, *text));
      }
    }
  }
  return findings.finish();
}

int signals(const Soak& soak) {
  Findings findings("signals");
  std::mt19937_64 random(soak.seed);
  for (Setup setup : kSetups) {
    setup.last_step = 3'000;
    const Files wanted = undisturbed(soak, setup);
    const std::string directory = soak.directory("signalled");
    fs::remove_all(directory);
    const Setup mine = in_directory(setup, directory);
    const std::array kinds{SIGKILL, SIGTERM, SIGINT, SIGHUP};
    for (int i = 0; i < 40; ++i) {
      const auto moment = std::chrono::microseconds(random() % 60'000);
      const int signal = kinds[random() % kinds.size()];
      in_child([&] { train(mine, th::posix_file_system()); },
               [&](pid_t child) {
                 std::this_thread::sleep_for(moment);
                 kill(child, signal);
               });
      findings.count();
    }
    if (!succeeded(in_child([&] { train(mine, th::posix_file_system()); }))) {
      findings.report(fmt::format("{}: it does not go on", setup.name));
    } else if (const auto text = difference(wanted, checkpoint_files(directory))) {
      findings.report(fmt::format("{}: {}", setup.name, *text));
    }
  }
  return findings.finish();
}

// It leaves a checkpoint of the last step that was over.
int stops(const Soak& soak) {
  Findings findings("stops");
  std::mt19937_64 random(soak.seed);
  void* const shared =
      mmap(nullptr, sizeof(std::atomic<std::int64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw th::InternalError("no memory to share with the run");
  auto& finished = *new (shared) std::atomic<std::int64_t>(0);
  for (Setup setup : kSetups) {
    const std::string directory = soak.directory("stopped");
    fs::remove_all(directory);
    setup.last_step = 100'000'000;
    setup.finished = &finished;
    const Setup endless = in_directory(setup, directory);
    for (int i = 0; i < 20; ++i) {
      finished = -1;
      const auto moment = std::chrono::microseconds(random() % 30'000);
      const int signal = random() % 2 == 0 ? SIGTERM : SIGINT;
      const int status = in_child([&] { train(endless, th::posix_file_system()); },
                                  [&](pid_t child) {
                                    while (finished < 0) std::this_thread::yield();
                                    std::this_thread::sleep_for(moment);
                                    kill(child, signal);
                                  });
      findings.count();
      const auto newest = th::latest_checkpoint(th::posix_file_system(), directory);
      if (!succeeded(status)) findings.report(fmt::format("{}: it does not end by itself", setup.name));
      if (!newest || th::step_of_checkpoint(*newest) != finished)
        findings.report(fmt::format("{}: step {} is over, and {} is saved", setup.name, finished.load(),
                                    newest.value_or("nothing")));
    }
  }
  munmap(shared, sizeof(std::atomic<std::int64_t>));
  return findings.finish();
}

namespace {

/// How often two processes start together, in each setup.
constexpr int kRaces = 5;

/// Starts `train` in two processes at the same moment. Exactly one is refused; the other one is killed.
void race(const std::function<void()>& train, const std::function<void(const std::string&)>& report) {
  void* const shared =
      mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw th::InternalError("no memory to share with the runs");
  auto& ready = *new (shared) std::atomic<int>(0);
  std::array<pid_t, 2> both{};
  for (pid_t& one : both) {
    one = fork();
    if (one != 0) continue;
    ++ready;
    while (ready < 2) {}
    try {
      train();
    } catch (const th::FailedPreconditionError&) { std::_Exit(3); } catch (...) {
    }
    std::_Exit(1);
  }
  int status = 0;
  pid_t refused = 0;  // the other one has no end
  for (int i = 0; i < 60'000 && refused == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    refused = waitpid(-1, &status, WNOHANG);
  }
  if (refused == 0) report("none was refused within a minute");
  if (refused != 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 3)) report("the one that ended was not refused");
  for (const pid_t one : both) {
    if (one == refused) continue;
    if (waitpid(one, &status, WNOHANG) == 0) {
      kill(one, SIGKILL);
      waitpid(one, &status, 0);
    } else {
      report("both ended");
    }
  }
  munmap(shared, sizeof(std::atomic<int>));
}

}  // namespace

// One trains, the other says that it cannot; and when the one is killed, another can.
int two_processes(const Soak& soak) {
  Findings findings("two at once");
  for (Setup setup : kSetups) {
    setup.last_step = 100'000'000;
    const Setup endless = in_directory(setup, soak.directory("shared"));
    Setup small = endless;
    small.last_step = 5;  // soon below what is reached: only the lock counts
    fs::remove_all(endless.directory);
    for (int i = 0; i < kRaces; ++i) {
      race(
          [&] { train(endless, th::posix_file_system()); },
          [&](const std::string& what) { findings.report(fmt::format("{}, started together: {}", setup.name, what)); });
      findings.count(2);
    }
    const auto refused = [&] {
      try {
        train(small, th::posix_file_system());
      } catch (const th::FailedPreconditionError&) { std::_Exit(3); }
    };
    const auto later = [&](pid_t holder) {  // when the holder is at work for long
      const auto is_saved = [&] { return fs::exists(fs::path(endless.directory) / "checkpoint"); };
      for (int i = 0; i < 60'000 && !is_saved(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const int second = in_child(refused);
      findings.count();
      if (!WIFEXITED(second) || WEXITSTATUS(second) != 3)
        findings.report(fmt::format("{}: a second process was not refused", setup.name));
      kill(holder, SIGKILL);
    };
    fs::remove_all(endless.directory);
    const int status = in_child([&] { train(endless, th::posix_file_system()); }, later);
    findings.count();
    if (!was_killed(status)) findings.report(fmt::format("{}: the holder ended by itself", setup.name));
    if (!succeeded(in_child([&] { train(small, th::posix_file_system()); })))
      findings.report(fmt::format("{}: the lock of a killed process stays", setup.name));
  }
  return findings.finish();
}

int small_tmpfs(const Soak& soak) {
  Findings findings("tmpfs");
  const std::string mounted = soak.directory("tmpfs");
  fs::create_directories(mounted);
  const auto mount_of = [&](const std::string& options, unsigned long flags) {
    return mount("none", mounted.c_str(), "tmpfs", flags, options.c_str()) == 0;
  };
  constexpr std::uint64_t kPage = 4'096;
  for (const Setup& setup : kSetups) {
    const Files wanted = undisturbed(soak, setup);
    const Setup mine = in_directory(setup, mounted + "/run");
    for (std::uint64_t pages = 1; pages < 40; pages += soak.every) {
      if (!mount_of(fmt::format("size={}", pages * kPage), 0)) {
        fmt::print("soak: {:<12} skipped: {}; a disk in memory is tried instead, which is full_disks\n", "tmpfs",
                   std::generic_category().message(errno));
        return 0;
      }
      findings.count();
      try {
        train(mine, th::posix_file_system());
      } catch (const th::ResourceExhaustedError&) {  // as it should be
      } catch (const th::Error& error) {
        findings.report(fmt::format("{}, {} pages: {}", setup.name, pages, error.what()));
      }
      if (!mount_of("size=64m", MS_REMOUNT)) throw th::InternalError("a tmpfs cannot be made larger");
      try {
        train(mine, th::posix_file_system());
        if (const auto text = difference(wanted, checkpoint_files(mine.directory)))
          findings.report(fmt::format("{}, {} pages: {}", setup.name, pages, *text));
      } catch (const th::Error& error) {
        findings.report(fmt::format("{}, {} pages: it does not go on: {}", setup.name, pages, error.what()));
      }
      if (umount(mounted.c_str()) != 0) throw th::InternalError("a tmpfs cannot be unmounted");
    }
  }
  return findings.finish();
}

}  // namespace soak
