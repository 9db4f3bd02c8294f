// SPDX-License-Identifier: Apache-2.0
/// @file
/// A share of a session that goes on when it is closed, and is lost when a test says so.
#pragma once

#include <exception>
#include <memory>

#include <trainhook/monitored/session_creator.hpp>

namespace trainhook::support {

class SharedSessionDouble final : public SharedSession {
 public:
  void begin(std::shared_ptr<const Coordinator> /*threads*/) override {}
  [[nodiscard]] std::exception_ptr error() const override { return nullptr; }
  [[nodiscard]] std::exception_ptr cause() const override { return nullptr; }
  [[nodiscard]] bool is_lost() const noexcept override { return lost; }
  void lose() noexcept override { lost = true; }
  void close(SessionRef /*session*/) override {}

  bool lost = false;
};

}  // namespace trainhook::support
