// SPDX-License-Identifier: Apache-2.0
/// @file
/// Hurts training runs in every way that a machine can, and compares what they end with to a run that nothing happened
/// to: soak <part> <folder> <every> <seed>. Prints one line for each part and ends 1 if anything was lost.
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/resume_auditor.hpp>

#include "training.hpp"

namespace {

using soak::kSetups;
using soak::Setup;
using soak::train;
namespace th = trainhook;
namespace fs = std::filesystem;

/// The arguments of the program.
struct Soak {
  fs::path folder{};
  std::uint64_t every = 1;  ///< only each n-th crash point
  std::uint64_t seed = 1;

  [[nodiscard]] std::string directory(std::string_view name) const { return (folder / name).string(); }
};

/// What a part has found.
class Findings {
 public:
  explicit Findings(std::string_view part) : part_(part) {}

  void count(std::uint64_t cases = 1) noexcept { cases_ += cases; }
  void report(const std::string& finding) {
    ++lost_;
    fmt::print(stderr, "soak: {}: {}\n", part_, finding);
  }
  [[nodiscard]] int finish() const {
    fmt::print("soak: {:<12}{:>8} cases, {} lost\n", part_, cases_, lost_);
    return lost_ == 0 ? 0 : 1;
  }

 private:
  std::string_view part_;
  std::uint64_t cases_ = 0;
  std::uint64_t lost_ = 0;
};

/// The contents of every checkpoint in a directory, by file name.
using Files = std::map<std::string, std::string>;

bool is_kept(const std::string& name) {
  return name.find(".ckpt-") != std::string::npos || name == "checkpoint" || name == "checkpoint_input";
}

Files checkpoint_files(const fs::path& directory) {
  Files files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (is_kept(name)) files[name] = th::read_file(th::posix_file_system(), entry.path().string());
  }
  return files;
}

/// How a directory differs from one of a run that nothing happened to, or nothing.
std::optional<std::string> difference(const Files& wanted, const Files& mine) {
  for (const auto& [name, contents] : wanted) {
    const auto found = mine.find(name);
    if (found == mine.end()) return fmt::format("{} is missing", name);
    if (found->second != contents) return fmt::format("{} differs", name);
  }
  for (const auto& [name, contents] : mine) {
    if (!wanted.contains(name)) return fmt::format("{} is left over", name);
  }
  return std::nullopt;
}

/// Runs `body` in a process of its own; returns its wait status.
int in_child(
    const std::function<void()>& body, const std::function<void(pid_t)>& meanwhile = [](pid_t) {}) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      body();
    } catch (const std::exception& error) {
      fmt::print(stderr, "soak: a run failed: {}\n", error.what());
      std::_Exit(1);
    }
    std::_Exit(0);
  }
  meanwhile(child);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

bool was_killed(int status) { return WIFSIGNALED(status); }
bool succeeded(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

/// The same setup in a directory of the disk.
Setup in_directory(Setup setup, std::string directory) {
  setup.directory = std::move(directory);
  return setup;
}

/// What the setup leaves on the disk if nothing happens.
Files undisturbed(const Soak& soak, const Setup& setup) {
  const std::string directory = soak.directory("whole");
  fs::remove_all(directory);
  if (!succeeded(in_child([&] { train(in_directory(setup, directory), th::posix_file_system()); })))
    throw th::InternalError("the run that nothing happens to fails");
  return checkpoint_files(directory);
}

/// Kills, power losses and failing calls at each file call, on disks in memory.
int audits(const Soak& soak) {
  using enum th::testing::Interruption;
  Findings findings("audits");
  for (const Setup& setup : kSetups) {
    const auto audit = th::testing::audit_resume([&](th::FileSystem& disk) { train(setup, disk); },
                                                 {.interruptions = {Kill, PowerLoss, Error, ErrorForGood},
                                                  .every = soak.every,
                                                  .power_losses = 4,
                                                  .seed = soak.seed});
    findings.count(audit.interruptions);
    for (const std::string& text : audit.differences) findings.report(fmt::format("{}: {}", setup.name, text));
  }
  return findings.finish();
}

/// SIGKILL at each file call of a real process on a real disk.
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

/// Forty signals at any moment, to one run.
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

/// Signals that end a run, at any moment: it leaves a checkpoint of the last step that was over.
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

/// What may happen to a file.
std::string damaged(std::string contents, std::size_t kind, std::uint64_t place) {
  switch (kind) {
    case 0:
      contents.empty() ? void() : void(contents[place % contents.size()] ^= static_cast<char>(1 << place % 8));
      break;
    case 1: contents.resize(contents.empty() ? 0 : place % contents.size()); break;
    case 2: contents.assign(contents.size(), '\0'); break;
    default: contents.append(place % 5'000 + 1, 'x');
  }
  return contents;
}

/// Files flipped, cut, zeroed, grown and removed between two halves of a run. It goes on from what is whole and ends
/// the same, or it refuses and names a file; it never ends otherwise.
int damage(const Soak& soak) {
  Findings findings("damage");
  std::mt19937_64 random(soak.seed);
  const auto half = [](const Setup& setup, th::FileSystem& disk) {
    Setup first = setup;
    first.last_step = 20;
    train(first, disk);
  };
  const auto newest = [](th::testing::MemoryFileSystem& disk) {
    return disk.contents("run/model.ckpt-30.index") + disk.contents("run/model.ckpt-30.data-00000-of-00001");
  };
  for (const Setup& setup : kSetups) {
    th::testing::MemoryFileSystem whole;
    half(setup, whole);
    const std::vector<std::string> files = whole.files();
    train(setup, whole);
    const std::string wanted = newest(whole);
    for (const std::string& file : files) {
      for (std::size_t kind = 0; kind < 5; ++kind) {
        for (std::uint64_t i = 0; i < 1 + 24 / soak.every; ++i) {
          th::testing::MemoryFileSystem disk;
          half(setup, disk);
          if (!disk.exists(file)) continue;  // its name holds a time or a number
          // A model without an input file of its step is whole: the input goes on from an earlier one, with a warning.
          if (kind == 4 && file.find("input.ckpt-") != std::string::npos && file.ends_with(".index")) continue;
          if (kind == 4) {
            disk.remove_file(file);
          } else {
            disk.write_file(file, damaged(disk.contents(file), kind, random()));
          }
          findings.count();
          try {
            train(setup, disk);
            if (newest(disk) != wanted) findings.report(fmt::format("{}: {} damaged, another end", setup.name, file));
          } catch (const th::Error& error) {
            if (std::string_view(error.what()).find("run") == std::string_view::npos)
              findings.report(fmt::format("{}: {} damaged, and no file is named: {}", setup.name, file, error.what()));
          }
        }
      }
    }
  }
  return findings.finish();
}

/// Disks that are too small, in all sizes: the run fails with an error that says so, and goes on when there is room.
int full_disks(const Soak& soak) {
  Findings findings("full disks");
  constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
  for (const Setup& setup : kSetups) {
    th::testing::MemoryFileSystem whole;
    train(setup, whole);
    const std::string wanted = whole.contents("run/model.ckpt-30.data-00000-of-00001");
    for (std::uint64_t capacity = 1; capacity < 60'000; capacity += 97 * soak.every) {
      th::testing::MemoryFileSystem disk;
      disk.set_capacity(capacity);
      findings.count();
      try {
        train(setup, disk);
      } catch (const th::ResourceExhaustedError&) {  // as it should be
      } catch (const th::Error& error) {
        findings.report(fmt::format("{}, a disk of {} bytes: {}", setup.name, capacity, error.what()));
      }
      disk.set_capacity(kNoLimit);
      train(setup, disk);
      if (disk.contents("run/model.ckpt-30.data-00000-of-00001") != wanted)
        findings.report(fmt::format("{}, a disk of {} bytes: it ends otherwise", setup.name, capacity));
    }
  }
  return findings.finish();
}

/// Two processes that start together on one directory: one trains, the other says that it cannot; and when the one is
/// killed, the other can.
int two_processes(const Soak& soak) {
  Findings findings("two at once");
  for (Setup setup : kSetups) {
    setup.last_step = 100'000'000;
    const Setup endless = in_directory(setup, soak.directory("shared"));
    fs::remove_all(endless.directory);
    const auto refused = [&] {
      try {
        Setup small = endless;
        small.last_step = 5;
        train(small, th::posix_file_system());
      } catch (const th::FailedPreconditionError&) { std::_Exit(3); }
    };
    const int status = in_child([&] { train(endless, th::posix_file_system()); },
                                [&](pid_t holder) {
                                  while (!fs::exists(fs::path(endless.directory) / "checkpoint"))
                                    std::this_thread::yield();
                                  const int second = in_child(refused);
                                  findings.count();
                                  if (!WIFEXITED(second) || WEXITSTATUS(second) != 3)
                                    findings.report(fmt::format("{}: a second process was not refused", setup.name));
                                  kill(holder, SIGKILL);
                                });
    findings.count();
    if (!was_killed(status)) findings.report(fmt::format("{}: the holder ended by itself", setup.name));
    Setup more = endless;
    more.last_step = 5;  // below what is reached: only the lock counts
    if (!succeeded(in_child([&] { train(more, th::posix_file_system()); })))
      findings.report(fmt::format("{}: the lock of a killed process stays", setup.name));
  }
  return findings.finish();
}

std::uint64_t entries_of(const char* directory) {
  return static_cast<std::uint64_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

/// Resident memory in KiB, threads, and open files of this process.
std::array<std::uint64_t, 3> footprint() {
  std::ifstream status("/proc/self/status");
  std::uint64_t memory = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) std::istringstream(line.substr(6)) >> memory;
  }
  return {memory, entries_of("/proc/self/task"), entries_of("/proc/self/fd")};
}

/// Takes a look every so many steps.
class FootprintHook final : public th::SessionRunHook {
 public:
  FootprintHook(std::int64_t steps, Findings& findings) : steps_(steps), findings_(&findings) {}

  void after_run(th::SessionRunContext&, const th::SessionRunValues&) override {
    if (++step_ == steps_ / 10) {
      early_ = footprint();
    } else if (step_ % (steps_ / 10) == 0 && step_ < steps_) {
      const auto now = footprint();
      findings_->count();
      constexpr std::uint64_t kNoise = 2'048;  // KiB
      if (now[0] > early_[0] + kNoise || now[1] != early_[1] || now[2] != early_[2]) {
        findings_->report(fmt::format("after {} steps {} KiB, {} threads, {} files instead of {}, {}, {}", step_,
                                      now[0], now[1], now[2], early_[0], early_[1], early_[2]));
      }
    }
  }

 private:
  std::int64_t steps_;
  Findings* findings_;
  std::int64_t step_ = 0;
  std::array<std::uint64_t, 3> early_{};
};

/// Three million steps, fewer if `every` says so: memory, threads and open files stay what they are.
int long_run(const Soak& soak) {
  Findings findings("long run");
  const std::int64_t steps = 3'000'000 / static_cast<std::int64_t>(soak.every);
  const std::string directory = soak.directory("long");
  fs::remove_all(directory);
  float weight = 0;
  th::LoopSession loop;
  th::summary::scalar("training_weight", loop.variable("weight", weight));
  auto session = th::monitored_training_session(
      loop, {.checkpoint_dir = directory,
             .save_checkpoint_steps = steps / 100,
             .save_summaries_steps = 1'000,
             .log_step_count_steps = 10'000,
             .hooks = {th::StopAtStepHook({.last_step = steps}), FootprintHook(steps, findings)}});
  while (!session.should_stop()) session.run([&] { weight += 1e-6F; });
  session.close();
  return findings.finish();
}

}  // namespace

int main(int count, char** arguments) {
  const std::map<std::string_view, int (*)(const Soak&)> parts{{"audits", audits},
                                                               {"kills", kills},
                                                               {"signals", signals},
                                                               {"stops", stops},
                                                               {"damage", damage},
                                                               {"full_disks", full_disks},
                                                               {"two_processes", two_processes},
                                                               {"long_run", long_run}};
  if (count != 5 || !parts.contains(arguments[1])) {
    fmt::print(stderr, "soak <part> <folder> <every n-th crash point> <seed>; the parts are");
    for (const auto& [name, part] : parts) fmt::print(stderr, " {}", name);
    fmt::print(stderr, "\n");
    return 2;
  }
  th::set_log_sink([](th::LogLevel, std::string_view) {});
  try {
    return parts.at(arguments[1])(
        Soak{.folder = arguments[2], .every = std::stoull(arguments[3]), .seed = std::stoull(arguments[4])});
  } catch (const std::exception& error) {
    fmt::print(stderr, "soak: {}: {}\n", arguments[1], error.what());
    return 1;
  }
}
