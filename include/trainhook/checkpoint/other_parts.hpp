// SPDX-License-Identifier: Apache-2.0
/// @file
/// OtherParts: the parts of a checkpoint that other processes write.
#pragma once

#include <string>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>

namespace trainhook::detail {

/// The interface of PartsOfOthers, so that programs of one process contain none of its code.
class OtherParts {
 public:
  OtherParts() = default;
  OtherParts(const OtherParts&) = delete;
  OtherParts& operator=(const OtherParts&) = delete;
  virtual ~OtherParts() = default;

  /// True if another part has the variable.
  [[nodiscard]] virtual bool has(const std::string& name) const = 0;

  /// This process's part, number 0.
  [[nodiscard]] virtual const BundlePart& own() const noexcept = 0;

  /// Waits for all other parts and adds them. Call it once, on any thread. @throws the error of a part.
  virtual void add_to(BundleWriter& writer) = 0;
};

}  // namespace trainhook::detail
