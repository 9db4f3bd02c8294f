// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shared objects with one type of control block.
#include <trainhook/core/shared.hpp>

#include <memory>

#include <gtest/gtest.h>

namespace trainhook::detail {
namespace {

class Counted {
 public:
  Counted(int& alive, int given) : value(given), alive_(&alive) { ++alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive_; }

  const int value;

 private:
  int* alive_;
};

TEST(MakeSharedObject, IsDeletedOnceWithItsLastOwner) {
  int alive = 0;
  std::shared_ptr<Counted> first = make_shared_object<Counted>(alive, 7);
  EXPECT_EQ(first->value, 7);
  std::shared_ptr<const void> second = first;
  const std::weak_ptr<Counted> observer = first;
  first.reset();
  EXPECT_EQ(alive, 1);
  EXPECT_NE(observer.lock(), nullptr);
  second.reset();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(observer.lock(), nullptr);
}

}  // namespace
}  // namespace trainhook::detail
