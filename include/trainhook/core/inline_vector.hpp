// SPDX-License-Identifier: Apache-2.0
/// @file
/// InlineVector: a vector whose first few elements need no allocation.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Holds up to `Inline` elements in place and more on the heap. Constructors write only the counts, not the space for
/// elements, so returning a small struct of empty vectors costs nothing.
template <class T, std::size_t Inline>
class InlineVector {
 public:
  InlineVector() noexcept : size_(0), capacity_(Inline) {}
  InlineVector(std::initializer_list<T> items) : InlineVector() {
    for (const T& item : items) push_back(item);
  }
  explicit InlineVector(std::span<const T> items) : InlineVector() {
    for (const T& item : items) push_back(item);
  }
  InlineVector(const InlineVector& other) : InlineVector() {
    for (const T& item : other) push_back(item);
  }
  InlineVector(InlineVector&& other) noexcept : InlineVector() { take(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) {
      InlineVector copy(other);
      clear_and_free();
      take(copy);
    }
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this != &other) {
      clear_and_free();
      take(other);
    }
    return *this;
  }
  ~InlineVector() { clear_and_free(); }

  void push_back(T item) {
    if (size_ == capacity_) grow();
    ::new (static_cast<void*>(data() + size_)) T(std::move(item));
    ++size_;
  }
  void clear() noexcept {
    std::destroy_n(data(), size_);
    size_ = 0;
  }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T* data() noexcept { return is_inline() ? reinterpret_cast<T*>(room_.bytes) : room_.heap; }
  [[nodiscard]] const T* data() const noexcept {
    return is_inline() ? reinterpret_cast<const T*>(room_.bytes) : room_.heap;
  }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size_; }

 private:
  [[nodiscard]] bool is_inline() const noexcept { return capacity_ == Inline; }

  void grow() {
    const std::size_t capacity = capacity_ * 2 + 1;  // never Inline, which marks elements in place
    T* heap = std::allocator<T>().allocate(capacity);
    std::uninitialized_move_n(data(), size_, heap);
    const std::size_t size = size_;
    clear_and_free();
    room_.heap = heap;
    size_ = size;
    capacity_ = capacity;
  }

  void take(InlineVector& other) noexcept {
    if (other.is_inline()) {
      std::uninitialized_move_n(other.data(), other.size_, data());
      size_ = other.size_;
      other.clear();
    } else {
      room_.heap = other.room_.heap;
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, Inline);
    }
  }

  void clear_and_free() noexcept {
    clear();
    if (!is_inline()) std::allocator<T>().deallocate(room_.heap, capacity_);
    capacity_ = Inline;
  }

  union Room {
    Room() noexcept : heap(nullptr) {}  // g++ under sanitizers cannot tell that it is never read unset
    alignas(T) std::byte bytes[Inline * sizeof(T)];
    T* heap;
  } room_;
  std::size_t size_;
  std::size_t capacity_;
};

}  // namespace trainhook::detail
