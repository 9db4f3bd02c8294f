// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/io/record_writer.hpp>

#include <trainhook/core/coding.hpp>
#include <trainhook/io/crc32c.hpp>

namespace trainhook::detail {

void append_record(std::string& batch, std::string_view payload) {
  batch.reserve(batch.size() + payload.size() + kRecordOverhead);
  const std::size_t start = batch.size();
  append_fixed(batch, std::uint64_t{payload.size()});
  append_fixed(batch, crc32c::mask(crc32c::value(std::string_view(batch).substr(start, 8))));
  batch.append(payload);
  append_fixed(batch, crc32c::mask(crc32c::value(payload)));
}

void RecordWriter::write(std::string_view payload) {
  std::string record;
  append_record(record, payload);
  write_batch(record);
}

}  // namespace trainhook::detail
