// SPDX-License-Identifier: Apache-2.0
/// @file
/// The VersionDef message of checkpoints and graphs.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include <trainhook/proto/message.hpp>

namespace trainhook::detail {

struct VersionMessage {
  std::int32_t producer = 0;
  std::int32_t min_consumer = 0;
  std::vector<std::int32_t> bad_consumers{};
};
template <>
inline constexpr auto kFields<VersionMessage> =
    std::tuple(field(1, "producer", &VersionMessage::producer), field(2, "min_consumer", &VersionMessage::min_consumer),
               field(3, "bad_consumers", &VersionMessage::bad_consumers));

}  // namespace trainhook::detail
