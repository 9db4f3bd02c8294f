// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/source_digest.hpp>

#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

std::optional<SourceDigest> digest_of_strings(const Element& element) {
  constexpr std::string_view kEnd("\0", 1);
  std::size_t count = 0;
  std::uint32_t checksum = 0;
  for (const Tensor& component : element) {
    if (component.dtype() != DType::String) continue;
    for (const std::string& item : component.data<std::string>()) {
      checksum = crc32c::extend(crc32c::extend(checksum, base_name(item)), kEnd);
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return SourceDigest{.name = fmt::format("{} strings with the checksum {:08x}", count, checksum)};
}

void save_sources(const std::vector<SourceDigest>& sources, StateWriter& writer) {
  if (sources.empty()) return;
  writer.begin("sources");
  writer.integer(sources.size());
  for (const SourceDigest& source : sources) {
    writer.string(source.name);
    writer.boolean(source.size.has_value());
    writer.integer(source.size.value_or(0));
  }
  writer.end();
}

inline std::string text_of(const std::optional<SourceDigest>& digest) {
  if (!digest) return "nothing";
  return digest->size ? fmt::format("{} of {} bytes", digest->name, *digest->size) : digest->name;
}

inline bool same_source(const SourceDigest& a, const SourceDigest& b) noexcept {
  return a.name == b.name && (!a.size || !b.size || a.size == b.size);
}

bool check_sources(const std::vector<SourceDigest>& sources, StateReader& reader) {
  if (!reader.at_section()) return false;
  std::string difference;
  reader.begin("sources");
  const std::uint64_t count = reader.integer("the number of sources");
  for (std::uint64_t i = 0; i < count || i < sources.size(); ++i) {
    std::optional<SourceDigest> saved, now;
    if (i < count) {
      saved = SourceDigest{.name = std::string(reader.string("the name of a source"))};
      const bool has_size = reader.boolean("whether the size of a source is known");
      const std::uint64_t size = reader.integer("the size of a source");
      if (has_size) saved->size = size;
    }
    if (i < sources.size()) now = sources[static_cast<std::size_t>(i)];
    if (!difference.empty() || (saved && now && same_source(*saved, *now))) continue;
    difference = fmt::format("source {} was {}, here it is {}", i + 1, text_of(saved), text_of(now));
  }
  reader.end();
  if (difference.empty()) return false;
  if (!reader.allows_changed_sources()) {
    throw InvalidArgumentError(
        "the input pipeline reads other data than when this state was saved: {}; give it the same files in the same "
        "order, start without this state, or call allow_changed_sources() on the dataset to go on with the new data",
        difference);
  }
  log_warning("the input pipeline reads other data than when its state was saved: {}; it goes on at the saved position",
              difference);
  return true;
}

}  // namespace trainhook::detail
