// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the system's error numbers mean.
#include <trainhook/io/posix_file.hpp>

#include <cerrno>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

TEST(PosixFile, MapsTheSystemsErrors) {
  const auto code_of = [](int number) { return detail::errno_meaning(number).code; };
  EXPECT_EQ(code_of(ENOENT), ErrorCode::NotFound);
  EXPECT_EQ(code_of(EACCES), ErrorCode::PermissionDenied);
  EXPECT_EQ(code_of(EROFS), ErrorCode::PermissionDenied);
  EXPECT_EQ(code_of(EEXIST), ErrorCode::AlreadyExists);
  for (int full : {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EFBIG})
    EXPECT_EQ(code_of(full), ErrorCode::ResourceExhausted) << full;
  for (int absent : {ENOSYS, EOPNOTSUPP, ENOLCK}) EXPECT_EQ(code_of(absent), ErrorCode::Unimplemented) << absent;
  EXPECT_EQ(code_of(EIO), ErrorCode::DataLoss);
  EXPECT_EQ(code_of(9999), ErrorCode::Unknown);
}

}  // namespace
}  // namespace trainhook
