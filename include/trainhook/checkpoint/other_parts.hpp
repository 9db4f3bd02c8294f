// SPDX-License-Identifier: Apache-2.0
/// @file
/// OtherParts: what a saver knows of the parts of a checkpoint that other processes write.
#pragma once

#include <string>

#include <trainhook/checkpoint/bundle_writer.hpp>

namespace trainhook::detail {

/// PartsOfOthers, of which a program of one process has only this interface and null pointers to it.
class OtherParts {
 public:
  OtherParts() = default;
  OtherParts(const OtherParts&) = delete;
  OtherParts& operator=(const OtherParts&) = delete;
  virtual ~OtherParts() = default;

  /// True for a variable that is in one of them.
  [[nodiscard]] virtual bool has(const std::string& name) const = 0;

  /// The part that is not among them, number 0.
  [[nodiscard]] virtual const BundlePart& own() const noexcept = 0;

  /// Waits for all of them, on any thread, and adds them. To be called once. @throws the error of one of them.
  virtual void add_to(BundleWriter& writer) = 0;
};

}  // namespace trainhook::detail
