// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/unusual_systems.hpp>

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#endif

#include <array>
#include <bit>
#include <cstddef>
#include <exception>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>

namespace trainhook::testing::detail {

/// Makes these calls fail in this process from now on. Returns false if that is impossible.
inline bool refuse_calls([[maybe_unused]] std::span<const RefusedCall> refused) {
#if defined(__linux__)
  constexpr std::uint32_t kNumber = offsetof(::seccomp_data, nr);
  constexpr std::uint32_t kHigh = std::endian::native == std::endian::big ? 4 : 0;
  constexpr std::uint32_t kThird = offsetof(::seccomp_data, args) + 2 * sizeof(std::uint64_t) + kHigh;
  constexpr std::uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
  constexpr std::uint16_t kReturn = BPF_RET | BPF_K;
  std::vector<::sock_filter> filter;
  for (const RefusedCall& call : refused) {  // if a call does not match, jumps past the return
    const std::uint8_t rest = call.flags != 0 ? 3 : 1;
    filter.push_back(BPF_STMT(kLoad, kNumber));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call.number), 0, rest));
    if (call.flags != 0) {
      filter.push_back(BPF_STMT(kLoad, kThird));
      filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, call.flags, 0, 1));
    }
    filter.push_back(BPF_STMT(kReturn, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(call.error)));
  }
  filter.push_back(BPF_STMT(kReturn, SECCOMP_RET_ALLOW));
  const ::sock_fprog program{.len = static_cast<unsigned short>(filter.size()), .filter = filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
  return false;
#endif
}

inline bool give_up_root() {
  if (::geteuid() != 0) return true;
  return ::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
}

inline constexpr int kNotPrepared = 77;       // the exit status of a child whose `prepare` failed
inline constexpr unsigned kMostSeconds = 60;  // after that, SIGALRM ends a child that hangs

/// Calls `act` in a forked child for which `prepare` worked.
inline std::optional<std::string> run_in_child(FunctionRef<bool()> prepare, FunctionRef<std::string()> act) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child < 0) throw UnknownError("no child could be forked");
  if (child == 0) {
    ::alarm(kMostSeconds);
    std::string said;
    try {
      if (!prepare()) ::_exit(kNotPrepared);
      said = act();
    } catch (const std::exception& error) { said = fmt::format("error: {}", error.what()); }
    const ssize_t sent = ::write(pipe[1], said.data(), said.size());
    ::_exit(sent == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  ::close(pipe[1]);
  std::string said;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(pipe[0], part.data(), part.size())) > 0;)
    said.append(part.data(), static_cast<std::size_t>(got));
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return fmt::format("error: ended by signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == kNotPrepared) return std::nullopt;
  return WEXITSTATUS(status) == 0 ? said : fmt::format("error: ended with {}", WEXITSTATUS(status));
}

}  // namespace trainhook::testing::detail

namespace trainhook::testing {

std::optional<std::string> run_refused(std::span<const RefusedCall> refused, FunctionRef<std::string()> act) {
  return detail::run_in_child([&] { return detail::refuse_calls(refused); }, act);
}

std::optional<std::string> run_unprivileged(FunctionRef<std::string()> act) {
  return detail::run_in_child([] { return detail::give_up_root(); }, act);
}

}  // namespace trainhook::testing
