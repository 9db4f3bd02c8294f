// SPDX-License-Identifier: Apache-2.0
/// @file
/// Random numbers, also in a sandbox that refuses them.
#include <trainhook/io/random_number.hpp>

#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/testing/process_faults.hpp>

namespace trainhook::detail {
namespace {

using testing::RefusedCall;

std::set<std::uint64_t> many_numbers() {
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 100; ++i) numbers.insert(random_number());
  return numbers;
}

TEST(RandomNumber, DiffersFromCallToCall) { EXPECT_EQ(many_numbers().size(), 100U); }

TEST(RandomNumber, DiffersInASandboxThatRefusesThem) {
  const std::vector<std::vector<RefusedCall>> sandboxes{
      {{SYS_getrandom, ENOSYS}}, {{SYS_getrandom, EPERM}}, {{SYS_getrandom, ENOSYS}, {SYS_openat, EACCES}}};
  for (const std::vector<RefusedCall>& sandbox : sandboxes) {
    std::vector<std::string> first;
    for (int process = 0; process < 2; ++process) {
      const std::optional<std::string> said = testing::run_refused(sandbox, [&] {
        const std::set<std::uint64_t> numbers = many_numbers();
        return fmt::format("{} numbers from {}", numbers.size(), *numbers.begin());
      });
      if (!said) GTEST_SKIP() << "this system cannot refuse calls";
      EXPECT_TRUE(said->starts_with("100 numbers from ")) << *said;
      first.push_back(*said);
    }
    EXPECT_NE(first[0], first[1]) << "of two processes";
  }
}

}  // namespace
}  // namespace trainhook::detail
