// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/random_number.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include <trainhook/core/random.hpp>
#include <trainhook/io/failure.hpp>
#include <trainhook/io/posix_file.hpp>

namespace trainhook::detail {

/// For a system that gives no random bytes: mixes the process, the moment, and where its stack happens to be.
inline std::uint64_t mixed_number(std::uint64_t count) noexcept {
  struct ::timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto place = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&now));
  const auto moment = static_cast<std::uint64_t>(now.tv_sec) << 30 ^ static_cast<std::uint64_t>(now.tv_nsec);
  return derive_seed(derive_seed(moment, place), static_cast<std::uint64_t>(::getpid()) << 32 ^ count);
}

std::uint64_t random_number() noexcept {
  static std::atomic<std::uint64_t> count{0};
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof number) == 0) return number;
  const FileDescriptor device(
      repeat_call(SystemCall::Read, [] { return ::open("/dev/urandom", O_RDONLY | O_CLOEXEC); }));
  const auto read = [&] { return ::read(device.number(), &number, sizeof number); };
  if (device.is_open() && repeat_call(SystemCall::Read, read) == sizeof number) return number;
  return mixed_number(count++);
}

}  // namespace trainhook::detail
