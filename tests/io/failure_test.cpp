// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the system's error numbers mean, and which calls are tried again.
#include <trainhook/io/failure.hpp>

#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/testing/log_lines.hpp>

namespace trainhook::detail {
namespace {

/// How often a call is made that fails with these errors one after the other, and then works.
int times_called(SystemCall what, const std::vector<int>& errors) {
  std::size_t called = 0;
  repeat_call(what, [&] {
    if (called == errors.size()) return called++, 0;
    errno = errors[called++];
    return -1;
  });
  return static_cast<int>(called);
}

TEST(Failure, MapsTheSystemsErrors) {
  const auto code_of = [](int number) { return errno_meaning(number).code; };
  EXPECT_EQ(code_of(ENOENT), ErrorCode::NotFound);
  EXPECT_EQ(code_of(EACCES), ErrorCode::PermissionDenied);
  EXPECT_EQ(code_of(EROFS), ErrorCode::PermissionDenied);
  EXPECT_EQ(code_of(EEXIST), ErrorCode::AlreadyExists);
  for (int full : {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EFBIG})
    EXPECT_EQ(code_of(full), ErrorCode::ResourceExhausted) << full;
  for (int absent : {ENOSYS, EOPNOTSUPP, ENOLCK}) EXPECT_EQ(code_of(absent), ErrorCode::Unimplemented) << absent;
  EXPECT_EQ(code_of(EIO), ErrorCode::DataLoss);
  EXPECT_EQ(code_of(ESTALE), ErrorCode::Unknown) << "the file may be whole";
  EXPECT_EQ(code_of(9999), ErrorCode::Unknown);
}

TEST(Failure, WhatASignalInterruptedIsRepeatedAlways) {
  for (const SystemCall call : {SystemCall::Read, SystemCall::Write, SystemCall::Find, SystemCall::Reserve})
    EXPECT_EQ(times_called(call, std::vector<int>(20, EINTR)), 21);
  EXPECT_EQ(on_failure(SystemCall::Close, EINTR), OnFailure::Ignore) << "the descriptor is closed";
}

TEST(Failure, AHandleThatANetworkFileSystemLostIsTriedAFewTimes) {
  for (const SystemCall call : {SystemCall::Read, SystemCall::Find, SystemCall::SyncDirectory}) {
    EXPECT_EQ(times_called(call, {ESTALE}), 2);
    EXPECT_EQ(times_called(call, std::vector<int>(20, ESTALE)), 4);
  }
  EXPECT_EQ(times_called(SystemCall::Write, {ESTALE}), 1) << "what was written before may be gone";
}

TEST(Failure, EverythingElseIsAnError) {
  EXPECT_EQ(times_called(SystemCall::Read, {EIO}), 1);
  EXPECT_EQ(on_failure(SystemCall::Read, EACCES), OnFailure::Throw);
  EXPECT_EQ(on_failure(SystemCall::Write, EINVAL), OnFailure::Throw) << "the sync of a file";
  EXPECT_EQ(on_failure(SystemCall::SyncDirectory, EIO), OnFailure::Throw);
  EXPECT_EQ(on_failure(SystemCall::SyncDirectory, ENOENT), OnFailure::Throw);
  EXPECT_EQ(on_failure(SystemCall::Reserve, ENOSPC), OnFailure::Throw);
}

TEST(Failure, WhatAnUnusualSystemLacksIsNone) {
  for (const int number : {EINVAL, ENOTSUP, ENOSYS, EACCES, EPERM})
    EXPECT_EQ(on_failure(SystemCall::SyncDirectory, number), OnFailure::SayOnce) << number;
  for (const int number : {EOPNOTSUPP, ENOSYS, EPERM, EINVAL})
    EXPECT_EQ(on_failure(SystemCall::Reserve, number), OnFailure::Ignore) << number;
  for (const int number : {ENOENT, ENOTDIR})
    EXPECT_EQ(on_failure(SystemCall::Find, number), OnFailure::NothingThere) << number;
}

TEST(Failure, IsSaidOnceForEachSubject) {
  const testing::LogLines log;
  for (int i = 0; i < 3; ++i) warn_once("a test's first", "one");
  warn_once("a test's second", "two");
  EXPECT_EQ(log.lines, (std::vector<std::string>{"W one", "W two"}));
}

}  // namespace
}  // namespace trainhook::detail
