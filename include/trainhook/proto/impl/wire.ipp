// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/proto/wire.hpp>

#include <fmt/format.h>

namespace trainhook::detail {

WireReader::WireReader(std::string_view bytes, std::string_view what) : WireReader(bytes, what, bytes.data(), 0) {}

bool WireReader::next() {
  return guarded([&] { return reader_.next(); });
}

void WireReader::skip() {
  guarded([&] { return reader_.skip(), true; });
}

std::uint64_t WireReader::get_uint64() {
  demand(protozero::pbf_wire_type::varint);
  return guarded([&] { return reader_.get_uint64(); });
}

std::uint32_t WireReader::get_fixed32() {
  demand(protozero::pbf_wire_type::fixed32);
  return guarded([&] { return reader_.get_fixed32(); });
}

std::uint64_t WireReader::get_fixed64() {
  demand(protozero::pbf_wire_type::fixed64);
  return guarded([&] { return reader_.get_fixed64(); });
}

float WireReader::get_float() { return std::bit_cast<float>(get_fixed32()); }

double WireReader::get_double() { return std::bit_cast<double>(get_fixed64()); }

std::string_view WireReader::get_bytes() {
  demand(protozero::pbf_wire_type::length_delimited);
  return guarded([&] {
    const protozero::data_view view = reader_.get_view();
    return std::string_view(view.data(), view.size());
  });
}

WireReader WireReader::message_in(std::string_view bytes) const {
  if (depth_ >= kMaxDepth) throw DataLossError("{} holds messages nested deeper than {} levels", what_, kMaxDepth);
  return WireReader(bytes, what_, begin_, depth_ + 1);
}

WireReader::WireReader(std::string_view bytes, std::string_view what, const char* begin, int depth)
    : reader_(protozero::data_view(bytes.data(), bytes.size())), what_(what), begin_(begin), depth_(depth) {}

DataLossError WireReader::malformed(std::string_view problem) const {
  return DataLossError("{} is damaged or of another format: {} near byte {} of the message", what_, problem,
                       reader_.data().data() - begin_);
}

void WireReader::demand(protozero::pbf_wire_type wanted) const {
  if (reader_.wire_type() == wanted) return;
  throw malformed(fmt::format("field {} has wire type {}, not {}", reader_.tag(),
                              static_cast<std::uint32_t>(reader_.wire_type()), static_cast<std::uint32_t>(wanted)));
}

}  // namespace trainhook::detail
