// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/exchange/strict_json.hpp>

#include <unordered_set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/core/utf8.hpp>

namespace trainhook::detail {

/// Receives what nlohmann's parser finds. The parser keeps one bit for each level and calls no function of its own in
/// itself, so that depth costs no stack.
class StrictJson {
 public:
  using Kind = JsonValue::Kind;

  StrictJson(std::string_view what, JsonVisitor visit) : what_(what), visit_(visit) {}

  // The names are nlohmann's.
  bool null() { return other(); }
  bool boolean(bool /*value*/) { return other(); }
  bool number_integer(std::int64_t /*value*/) { return other(); }
  bool number_unsigned(std::uint64_t value) { return found({.kind = Kind::Number, .number = value}); }
  bool number_float(double /*value*/, const std::string& /*text*/) { return other(); }
  bool string(std::string& value) { return found({.kind = Kind::Text, .text = value}); }
  bool binary(std::vector<std::uint8_t>& /*value*/) { return other(); }

  bool start_object(std::size_t /*size*/) {
    found({.kind = Kind::Object});
    path_.emplace_back();
    names_.emplace_back();
    return deeper();
  }
  bool key(std::string& name) {
    if (!names_.back().insert(name).second)
      throw DataLossError("{} is damaged: it has the name '{}' twice in one object", what_, shown(name));
    if (names_.back().size() > kMostNames)
      throw DataLossError("{} is damaged: it has more than {} names in one object", what_, kMostNames);
    path_.back() = name;
    return true;
  }
  bool end_object() {
    path_.pop_back();
    names_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(std::size_t /*size*/) {
    found({.kind = Kind::Array});
    ++arrays_;
    return deeper();
  }
  bool end_array() {
    --arrays_;
    --depth_;
    return true;
  }

  /// Its own message may repeat megabytes of the text.
  bool parse_error(std::size_t position, const std::string& /*token*/, const nlohmann::json::exception& /*error*/) {
    throw DataLossError("{} is damaged: byte {} is not JSON", what_, position);
  }

 private:
  bool other() { return found({.kind = Kind::Other}); }
  bool found(JsonValue value) {
    value.arrays = arrays_;
    visit_(path_, value);
    return true;
  }
  bool deeper() {
    constexpr std::size_t kMostDepth = 8;
    if (++depth_ > kMostDepth) throw DataLossError("{} is damaged: it has more than {} levels", what_, kMostDepth);
    return true;
  }

  std::string_view what_;
  JsonVisitor visit_;
  std::vector<std::string> path_;                       // for each open object the name of the present member
  std::vector<std::unordered_set<std::string>> names_;  // and those that it has had
  std::size_t arrays_ = 0;
  std::size_t depth_ = 0;
};

void visit_json(std::string_view json, std::string_view what, JsonVisitor visit) {
  StrictJson strict(what, visit);
  static_cast<void>(nlohmann::json::sax_parse(json.begin(), json.end(), &strict));
}

std::string json_text(std::string_view text, std::string_view what) {
  expect_utf8(text, what);
  return nlohmann::json(text).dump();
}

std::string_view shown(std::string_view name) noexcept { return utf8_prefix(name, 200); }

}  // namespace trainhook::detail
