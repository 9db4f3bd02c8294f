// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/testing/process_faults.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>

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

}  // namespace trainhook::testing
