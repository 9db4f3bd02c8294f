// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/background_input.hpp>

#include <chrono>
#include <cstddef>
#include <string>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

SourceThreads::~SourceThreads() = default;

void SourceThreads::start_thread(std::function<void()> body) {
  threads_.reserve(threads_.size() + 1);
  const std::scoped_lock lock(mutex_);
  threads_.emplace_back(what_, [this, self = shared_from_this(), body = std::move(body)]() mutable {
    body();
    {
      const std::scoped_lock done(mutex_);
      --running_;
      changed_.notify_all();
    }
    body = nullptr;
    self.reset();  // of a thread that is left behind it is the last one
  });
  ++running_;
}

void SourceThreads::end() noexcept {
  if (!process_.is_here()) return;
  bool have_ended = false;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, longest_wait_for_a_source, [this] { return running_ == 0; });
    have_ended = running_ == 0;
  }
  if (!have_ended) {
    log_error(
        "{}: its source has not returned for {} s, and its thread is left behind; let a source return when nothing "
        "more comes",
        what_, std::chrono::duration_cast<std::chrono::seconds>(longest_wait_for_a_source).count());
  }
  for (Thread& thread : threads_) have_ended ? thread.join() : thread.detach();
}

inline constexpr std::size_t kShortPosition = 4096;    // bytes; a position up to this size is taken before each read
inline constexpr std::uint64_t kBytesPerPosition = 4;  // bytes read per byte of a longer position before the next one

inline std::uint64_t bytes_in(const Element& element) {
  std::uint64_t bytes = 0;
  for (const Tensor& component : element) {
    bytes += component.byte_size();
    if (component.dtype() != DType::String) continue;
    for (const std::string& item : component.data<std::string>()) bytes += item.size();
  }
  return bytes;
}

BackgroundInput::Outcome BackgroundInput::next(std::unique_lock<std::mutex>& lock, Element& element) {
  if (is_saved_) take_position();
  is_reading_ = true;
  lock.unlock();
  bool got = false;
  std::exception_ptr error;
  try {
    got = stream_->next(element);
  } catch (...) { error = std::current_exception(); }
  lock.lock();
  is_reading_ = false;
  if (error != nullptr) {
    needs_position_ = true;  // after an error it is unknown whether the stream has moved
    std::rethrow_exception(error);
  }
  if (!got) return Outcome::End;
  bytes_since_ += 1 + bytes_in(element);
  if (to_replay_ > 0) {
    --to_replay_;
    return Outcome::Dropped;
  }
  ++replay_position_;
  return Outcome::Element;
}

void BackgroundInput::save(StateWriter& writer) const {
  if (is_reading_ && position_failure_ != nullptr) std::rethrow_exception(position_failure_);
  writer.replay(is_reading_ ? replay_position_ : to_replay_);
  if (is_reading_) {
    writer.append(*position_);
  } else {
    stream_->save(writer);
  }
}

void BackgroundInput::restore(StateReader& reader) {
  to_replay_ = reader.replay();
  stream_->restore(reader);
}

void BackgroundInput::take_position() noexcept {
  const std::size_t size = position_ ? position_->bytes().size() : 0;
  if (!needs_position_ && size > kShortPosition && bytes_since_ < kBytesPerPosition * size) return;
  try {
    position_.emplace(true);  // allows external state to be missing; `append` checks that
    stream_->save(*position_);
    position_failure_ = nullptr;
  } catch (...) {
    position_.reset();
    position_failure_ = std::current_exception();
  }
  replay_position_ = to_replay_;
  bytes_since_ = 0;
  needs_position_ = false;
}

}  // namespace trainhook::detail
