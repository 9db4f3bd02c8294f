// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/process_faults.hpp>

#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <vector>

#include <fmt/format.h>

#if defined(__linux__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#endif

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

#ifdef __GLIBC__

std::size_t NoThreads::stack_size() noexcept {
  ::pthread_attr_t defaults;
  std::size_t size = 0;
  if (::pthread_getattr_default_np(&defaults) != 0) return 0;
  ::pthread_attr_getstacksize(&defaults, &size);
  ::pthread_attr_destroy(&defaults);
  return size;
}

bool NoThreads::set_stack_size(std::size_t size) noexcept {
  ::pthread_attr_t defaults;
  ::pthread_attr_init(&defaults);
  const bool is_set = ::pthread_attr_setstacksize(&defaults, size) == 0 && ::pthread_setattr_default_np(&defaults) == 0;
  ::pthread_attr_destroy(&defaults);
  return is_set;
}

NoThreads::NoThreads() noexcept : before_(stack_size()) {
  constexpr std::size_t kMoreThanThereIs = std::size_t{1} << (sizeof(std::size_t) == 8 ? 46 : 31);
  works_ = before_ != 0 && set_stack_size(kMoreThanThereIs);
}

NoThreads::~NoThreads() {
  if (works_) set_stack_size(before_);
}

#else

NoThreads::NoThreads() noexcept = default;
NoThreads::~NoThreads() = default;

#endif

FileSizeLimit::FileSizeLimit(std::uint64_t bytes) noexcept {
  ::getrlimit(RLIMIT_FSIZE, &before_);
  const ::rlimit limit{.rlim_cur = static_cast<::rlim_t>(bytes), .rlim_max = before_.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

FileSizeLimit::~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

FullStandardError::FullStandardError() {
  int ends[2] = {-1, -1};
  before_ = ::dup(STDERR_FILENO);
  if (before_ < 0 || ::pipe(ends) != 0) {
    if (before_ >= 0) ::close(before_);
    throw ResourceExhaustedError("FullStandardError cannot open a pipe: allow more open files (ulimit -n)");
  }
  reader_ = ends[0];
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  while (::write(ends[1], "", 1) == 1) {}
  ::fcntl(ends[1], F_SETFL, 0);
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[1]);
}

FullStandardError::~FullStandardError() {
  ::dup2(before_, STDERR_FILENO);
  ::close(before_);
  ::close(reader_);
}

int run_in_forked_child(FunctionRef<void()> body) {
  const ::pid_t child = ::fork();
  if (child < 0) throw ResourceExhaustedError("run_in_forked_child cannot fork: free processes (ulimit -u)");
  if (child == 0) {
    ::alarm(10);
    int status = 1;
    try {
      body();
      status = 0;
    } catch (...) { fmt::print(stderr, "in a forked child: {}\n", describe(std::current_exception())); }
    ::_exit(status);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

std::optional<std::string> run_refused(std::span<const RefusedCall> refused, FunctionRef<std::string()> act) {
  return detail::run_in_child([&] { return detail::refuse_calls(refused); }, act);
}

std::optional<std::string> run_unprivileged(FunctionRef<std::string()> act) {
  return detail::run_in_child([] { return detail::give_up_root(); }, act);
}

}  // namespace trainhook::testing
