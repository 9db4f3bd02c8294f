// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of an input that is saved while a thread reads it.
#include <trainhook/data/background_input.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {
namespace {

using Outcome = BackgroundInput::Outcome;

/// 0, 1, 2, ... with a position as long as one likes.
class Counter final : public ElementStream {
 public:
  explicit Counter(std::size_t position_size) : position_size_(position_size) {}
  bool next(Element& element) override {
    if (during_next) during_next();
    if (next_ == fails_at && stays) {
      fails_at = -1;
      throw UnavailableError("busy");
    }
    if (next_++ == fails_at) throw DataLossError("broken");
    element.assign(1, Tensor(next_ - 1));
    return true;
  }
  void save(StateWriter& writer) override {
    ++saves;
    writer.integer(static_cast<std::uint64_t>(next_));
    writer.string(std::string(position_size_, 'x'));
  }
  void restore(StateReader& reader) override {
    next_ = reader.position("the counter");
    EXPECT_EQ(reader.string("padding").size(), position_size_);
  }

  std::function<void()> during_next;
  std::int64_t fails_at = -1;
  bool stays = false;  // it gives the same element after the error
  int saves = 0;

 private:
  std::size_t position_size_;
  std::int64_t next_ = 0;
};

struct Input {
  explicit Input(std::size_t position_size)
      : counter(new Counter(position_size)), input(std::unique_ptr<ElementStream>(counter), true) {}

  Outcome next() {
    std::unique_lock lock(mutex);
    return input.next(lock, element);
  }
  [[nodiscard]] std::string saved() {
    StateWriter writer;
    input.save(writer);
    return writer.bytes();
  }
  /// The element that is delivered next.
  std::int64_t restored(const std::string& state) {
    StateReader reader(state);
    input.restore(reader);
    EXPECT_TRUE(reader.at_end());
    while (next() == Outcome::Dropped) ++dropped;
    return element.at(0).scalar<std::int64_t>();
  }

  std::mutex mutex;
  Counter* counter;
  BackgroundInput input;
  Element element;
  int dropped = 0;
};

/// A state that is restored by five elements being dropped.
std::string saved_in_the_sixth_read() {
  Input input(5'000);
  for (int i = 0; i < 5; ++i) static_cast<void>(input.next());
  std::string state;
  input.counter->during_next = [&] { state = input.saved(); };
  static_cast<void>(input.next());
  return state;
}

/// What a save during each of the first reads leads to after a restore.
void expect_exact_saves(std::size_t position_size, std::int64_t fails_at, int most_dropped) {
  Input input(position_size);
  input.counter->fails_at = fails_at;
  for (std::int64_t reads = 0; reads < 2000; ++reads) {
    std::string during;
    input.counter->during_next = [&] { during = input.saved(); };
    try {
      ASSERT_EQ(input.next(), Outcome::Element);
    } catch (const DataLossError&) { ASSERT_EQ(reads, fails_at); }
    if (reads % 97 != 0) continue;
    Input other(position_size);
    ASSERT_EQ(other.restored(during), reads);
    ASSERT_LE(other.dropped, most_dropped);
    Input after(position_size);
    ASSERT_EQ(after.restored(input.saved()), reads + 1);
    ASSERT_EQ(after.dropped, 0);
  }
}

TEST(BackgroundInput, SavesThePositionBeforeTheReadInProgress) { expect_exact_saves(10, -1, 0); }

TEST(BackgroundInput, CountsTheElementsAfterALongPosition) { expect_exact_saves(5'000, -1, 2'500); }

TEST(BackgroundInput, CountsAnErrorAsAnElement) { expect_exact_saves(5'000, 3, 2'500); }

TEST(BackgroundInput, NeitherSkipsNorRepeatsAnElementThatFailedOnce) {
  for (std::int64_t fails_at = 0; fails_at < 9; ++fails_at) {
    Input input(5'000);
    input.counter->stays = true;
    input.counter->fails_at = fails_at;
    for (std::int64_t delivered = 0; delivered < 20;) {
      std::string during;
      input.counter->during_next = [&] { during = input.saved(); };
      const std::int64_t before = delivered;
      try {
        ASSERT_EQ(input.next(), Outcome::Element);
        ASSERT_EQ(input.element.at(0).scalar<std::int64_t>(), delivered++);
      } catch (const UnavailableError&) { ASSERT_EQ(delivered, fails_at); }
      Input other(5'000);
      ASSERT_EQ(other.restored(during), before);
      Input after(5'000);
      ASSERT_EQ(after.restored(input.saved()), delivered);
    }
  }
}

TEST(BackgroundInput, AnErrorWhileElementsAreDroppedIsDelivered) {
  const std::string state = saved_in_the_sixth_read();
  Input second(5'000);
  second.counter->stays = true;
  second.counter->fails_at = 2;
  StateReader reader(state);
  second.input.restore(reader);
  int errors = 0;
  Outcome outcome = Outcome::Dropped;
  while (outcome == Outcome::Dropped) {
    try {
      outcome = second.next();
    } catch (const UnavailableError&) { ++errors; }
  }
  EXPECT_EQ(errors, 1);
  EXPECT_EQ(second.element.at(0).scalar<std::int64_t>(), 5);
}

TEST(BackgroundInput, TakesALongPositionSeldom) {
  Input input(5'000);
  for (int i = 0; i < 10'000; ++i) static_cast<void>(input.next());
  EXPECT_LE(input.counter->saves, 6);
}

TEST(BackgroundInput, CanBeSavedWhileItDropsElements) {
  const std::string state = saved_in_the_sixth_read();
  Input second(5'000);
  StateReader reader(state);
  second.input.restore(reader);
  EXPECT_EQ(second.saved(), state);
  for (int i = 0; i < 5; ++i) {
    second.counter->during_next = [&] {
      Input third(5'000);
      EXPECT_EQ(third.restored(second.saved()), 5);
    };
    EXPECT_EQ(second.next(), Outcome::Dropped);
    Input third(5'000);
    EXPECT_EQ(third.restored(second.saved()), 5);
  }
}

TEST(BackgroundInput, RefusesMoreReplaysThanAPositionCanNeed) {
  StateWriter writer;
  writer.replay(1'000'000'000);
  writer.integer(0);
  writer.string("x");
  Input input(1);
  StateReader reader(writer.bytes());
  EXPECT_THROW(input.input.restore(reader), DataLossError);
}

TEST(BackgroundInput, MissesExternalStateOnlyIfTheSaveAllowsThat) {
  struct Sensor final : ElementStream {
    bool next(Element&) override { return during_next(), true; }
    void save(StateWriter& writer) override { writer.add_external_state("the sensor"); }
    void restore(StateReader&) override {}
    std::function<void()> during_next;
  };
  auto sensor = std::make_unique<Sensor>();
  Sensor& seen = *sensor;
  BackgroundInput input(std::move(sensor), true);
  seen.during_next = [&input] {
    StateWriter strict, loose(true);
    EXPECT_THROW(input.save(strict), FailedPreconditionError);
    input.save(loose);
  };
  std::mutex mutex;
  std::unique_lock lock(mutex);
  Element element;
  static_cast<void>(input.next(lock, element));
}

}  // namespace
}  // namespace trainhook::detail
