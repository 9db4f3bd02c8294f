// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/failure.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <mutex>
#include <set>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include <trainhook/core/log.hpp>

namespace trainhook::detail {

inline constexpr std::array kErrnoMeanings{
    ErrnoMeaning{ENOENT, ErrorCode::NotFound, "check the path and that its directory exists"},
    ErrnoMeaning{EEXIST, ErrorCode::AlreadyExists, "remove it or choose another name"},
    ErrnoMeaning{EACCES, ErrorCode::PermissionDenied, "check owner and permissions of the file and its directory"},
    ErrnoMeaning{EPERM, ErrorCode::PermissionDenied, "check owner and permissions of the file and its directory"},
    ErrnoMeaning{EROFS, ErrorCode::PermissionDenied, "choose a directory on a file system that can be written"},
    ErrnoMeaning{ENOSPC, ErrorCode::ResourceExhausted, "free space on this disk"},
    ErrnoMeaning{EDQUOT, ErrorCode::ResourceExhausted, "free space or raise the quota"},
    ErrnoMeaning{EFBIG, ErrorCode::ResourceExhausted, "raise the limit of file sizes (ulimit -f)"},
    ErrnoMeaning{EMFILE, ErrorCode::ResourceExhausted, "raise the limit of open files (ulimit -n)"},
    ErrnoMeaning{ENFILE, ErrorCode::ResourceExhausted, "raise the limit of open files (ulimit -n)"},
    ErrnoMeaning{ENOMEM, ErrorCode::ResourceExhausted, "free memory"},
    ErrnoMeaning{EISDIR, ErrorCode::FailedPrecondition, "give the path of a file"},
    ErrnoMeaning{ENOTDIR, ErrorCode::FailedPrecondition, "a part of the path is a file; choose another directory"},
    ErrnoMeaning{ENOTEMPTY, ErrorCode::FailedPrecondition, "empty the directory first"},
    ErrnoMeaning{EXDEV, ErrorCode::FailedPrecondition, "keep both names on one file system"},
    ErrnoMeaning{EBUSY, ErrorCode::FailedPrecondition, "another program uses it"},
    ErrnoMeaning{ETXTBSY, ErrorCode::FailedPrecondition, "another program uses it"},
    ErrnoMeaning{EINVAL, ErrorCode::InvalidArgument, "choose another path"},
    ErrnoMeaning{ELOOP, ErrorCode::InvalidArgument, "choose another path"},
    ErrnoMeaning{ENAMETOOLONG, ErrorCode::InvalidArgument, "choose another path"},
    ErrnoMeaning{ENOSYS, ErrorCode::Unimplemented, "this file system does not support it"},
    ErrnoMeaning{EOPNOTSUPP, ErrorCode::Unimplemented, "this file system does not support it"},
    ErrnoMeaning{ENOTSUP, ErrorCode::Unimplemented, "this file system does not support it"},
    ErrnoMeaning{ENOLCK, ErrorCode::Unimplemented, "this file system does not support it"},
    ErrnoMeaning{EPIPE, ErrorCode::FailedPrecondition, "its reader is gone; start it again, or give a file"},
    ErrnoMeaning{ENXIO, ErrorCode::FailedPrecondition, "nobody reads it; start its reader first, or give a file"},
    ErrnoMeaning{EIO, ErrorCode::DataLoss, "the device failed: check it before trusting this file"},
    ErrnoMeaning{ESTALE, ErrorCode::Unknown, "the network file system lost the file: check its server"},
};

/// What happens to a failure that is not thrown.
struct FailureRule {
  SystemCall call;
  int number;
  OnFailure action;
};

inline constexpr std::array kFailureRules{
    FailureRule{SystemCall::Read, EINTR, OnFailure::Repeat},
    FailureRule{SystemCall::Read, ESTALE, OnFailure::RepeatAFewTimes},
    FailureRule{SystemCall::Write, EINTR, OnFailure::Repeat},
    FailureRule{SystemCall::Find, EINTR, OnFailure::Repeat},
    FailureRule{SystemCall::Find, ESTALE, OnFailure::RepeatAFewTimes},
    FailureRule{SystemCall::Find, ENOENT, OnFailure::NothingThere},
    FailureRule{SystemCall::Find, ENOTDIR, OnFailure::NothingThere},
    FailureRule{SystemCall::Reserve, EINTR, OnFailure::Repeat},
    FailureRule{SystemCall::SyncDirectory, EINTR, OnFailure::Repeat},
    FailureRule{SystemCall::SyncDirectory, ESTALE, OnFailure::RepeatAFewTimes},
    FailureRule{SystemCall::SyncDirectory, EINVAL, OnFailure::SayOnce},
    FailureRule{SystemCall::SyncDirectory, ENOTSUP, OnFailure::SayOnce},
    FailureRule{SystemCall::SyncDirectory, EOPNOTSUPP, OnFailure::SayOnce},
    FailureRule{SystemCall::SyncDirectory, ENOSYS, OnFailure::SayOnce},
    FailureRule{SystemCall::SyncDirectory, EBADF, OnFailure::SayOnce},
    FailureRule{SystemCall::SyncDirectory, EACCES, OnFailure::SayOnce},
    FailureRule{SystemCall::SyncDirectory, EPERM, OnFailure::SayOnce},
    FailureRule{SystemCall::SyncDirectory, EROFS, OnFailure::SayOnce},
    FailureRule{SystemCall::Lock, EINTR, OnFailure::Repeat},
    FailureRule{SystemCall::Lock, EINVAL, OnFailure::Unsupported},
    FailureRule{SystemCall::Lock, EPERM, OnFailure::Unsupported},
    FailureRule{SystemCall::Close, EINTR, OnFailure::Ignore},
};

ErrnoMeaning errno_meaning(int number) noexcept {
  const auto found = std::ranges::find(kErrnoMeanings, number, &ErrnoMeaning::number);
  return found != kErrnoMeanings.end() ? *found : ErrnoMeaning{.number = number};
}

OnFailure on_failure(SystemCall call, int number) noexcept {
  for (const FailureRule& rule : kFailureRules) {
    if (rule.call == call && rule.number == number) return rule.action;
  }
  const bool is_full = errno_meaning(number).code == ErrorCode::ResourceExhausted;
  return call == SystemCall::Reserve && !is_full ? OnFailure::Ignore : OnFailure::Throw;
}

void throw_errno(std::string_view operation, std::string_view path, int number) {
  ErrnoMeaning meaning = errno_meaning(number);
  std::array<char, PATH_MAX> current{};
  if (number == ENOENT && !path.starts_with('/') && ::getcwd(current.data(), current.size()) == nullptr)
    meaning.way_out = "the current directory was removed: start in one that exists, or give absolute paths";
  throw_error(meaning.code, fmt::format("cannot {} {}: {} ({})", operation, path,
                                        std::generic_category().message(number), meaning.way_out));
}

void warn_once(std::string_view subject, std::string_view warning) {
  static std::mutex mutex;
  static auto* const warned = new std::set<std::string>;  // never destroyed, as posix_file_system()
  {
    const std::scoped_lock lock(mutex);
    if (!warned->insert(std::string(subject)).second) return;
  }
  log_warning("{}", warning);
}

}  // namespace trainhook::detail
