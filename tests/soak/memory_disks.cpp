// SPDX-License-Identifier: Apache-2.0
/// @file
/// The parts of the soak whose disks are in memory.
#include "soak.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <trainhook/core/error.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/resume_auditor.hpp>

namespace soak {

int audits(const Soak& soak) {
  using enum th::testing::Interruption;
  Findings findings("audits");
  for (const Setup& setup : kSetups) {
    const auto two_lives = [&](th::FileSystem& disk) {  // so that the start of the second is interrupted, too
      Setup first = setup;
      first.last_step = 20;
      train(first, disk);
      train(setup, disk);
    };
    const auto audit = [&](std::vector<th::testing::Interruption> interruptions, th::ErrorCode error) {
      const auto result = th::testing::audit_resume(two_lives, {.interruptions = std::move(interruptions),
                                                                .every = soak.every,
                                                                .power_losses = 4,
                                                                .error = error,
                                                                .seed = soak.seed});
      findings.count(result.interruptions);
      for (const std::string& text : result.differences)
        findings.report(fmt::format("{}, {}: {}", setup.name, th::error_code_name(error), text));
    };
    audit({Kill, PowerLoss}, th::ErrorCode::Internal);
    for (const th::ErrorCode error : {th::ErrorCode::ResourceExhausted, th::ErrorCode::DataLoss,
                                      th::ErrorCode::PermissionDenied})  // ENOSPC, EIO, EACCES
      audit({Error, ErrorForGood}, error);
  }
  return findings.finish();
}

namespace {

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

}  // namespace

// A run goes on from what is whole and ends the same, or it refuses and names a file; it never ends otherwise.
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

// The run fails with an error that says so, and goes on when there is room.
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

}  // namespace soak
