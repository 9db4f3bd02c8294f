// SPDX-License-Identifier: Apache-2.0
// The command that reads everything: which checkpoints are whole, and what is wrong with the others.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/posix_file_system.hpp>

#include "commands.hpp"
#include "report.hpp"

namespace th = trainhook;

namespace {

/// Verifies checkpoints, and says at once what it finds, or all at the end in JSON.
class Verification {
 public:
  explicit Verification(bool as_json) : as_json_(as_json) {}

  void read(const std::string& prefix) {
    std::vector<std::string> problems;
    bool is_read = true;
    std::int64_t verified = 0, unknown = 0;
    std::uint64_t size = 0;
    try {
      const th::BundleReader reader = th::load_checkpoint(prefix);
      for (const auto& [name, entry] : reader.entries()) {
        try {
          if (entry.unsupported) {
            ++unknown;
          } else {
            static_cast<void>(reader.get_tensor(name));
            size += bytes_of(entry);
            ++verified;
          }
        } catch (const th::Error& error) { problems.emplace_back(error.what()); }
      }
    } catch (const th::UnimplementedError& error) {
      is_read = false;
      problems.emplace_back(error.what());
    } catch (const th::Error& error) { problems.emplace_back(error.what()); }
    is_all_read_ = is_all_read_ && is_read;
    is_good_ = is_good_ && (problems.empty() || !is_read);
    add_row(prefix, problems.empty() ? "good" : is_read ? "damaged" : "not read", verified, size, unknown, problems);
    if (problems.empty()) {
      say(fmt::format(
          "{}: {}, {}: good{}", prefix, counted(static_cast<std::size_t>(verified), "tensor"), bytes(size).text,
          unknown == 0 ? "" : fmt::format("; {} not verified, because trainhook cannot hold them", unknown)));
    }
    for (const std::string& problem : problems) say(fmt::format("{}: {}", prefix, problem), kBad);
  }

  void is_missing(const std::string& prefix) {
    is_good_ = false;
    add_row(prefix, "missing", 0, 0, 0, {});
    say(fmt::format("{}: listed, but not there; a restore takes another one", prefix), kBad);
  }

  void is_damaged(std::string state_file) {
    is_good_ = false;
    say(state_file, kBad);
    report_.notes.push_back(std::move(state_file));
  }

  [[nodiscard]] bool is_good() const noexcept { return is_good_; }

  void note(std::string line) {
    say(line);
    report_.notes.push_back(std::move(line));
  }

  int finish() {
    report_.facts = {{"good", truth(is_good_ && is_all_read_)}};
    if (as_json_) print_json(report_);
    if (!is_good_) return kDamagedOrDifferent;
    return is_all_read_ ? kFine : kNoAnswer;
  }

 private:
  void add_row(const std::string& prefix, const char* result, std::int64_t verified, std::uint64_t size,
               std::int64_t unknown, const std::vector<std::string>& problems) {
    report_.rows.push_back({{prefix, result, count(verified), bytes(size), count(unknown),
                             problems.empty() ? Cell() : Cell(fmt::format("{}", fmt::join(problems, "; ")))}});
  }

  void say(const std::string& line, const fmt::text_style& style = {}) const {
    if (as_json_) return;
    fmt::print(in_colour(style), "{}", Cell(line).text);
    fmt::print("\n");
  }

  bool as_json_;
  bool is_good_ = true;  // as far as it could be read
  bool is_all_read_ = true;
  Report report_{
      .rows_key = "checkpoints",
      .columns = {{"", "name"}, {"", "result"}, {"", "tensors"}, {"", "bytes"}, {"", "unknown"}, {"", "problem"}}};
};

}  // namespace

int verify(const std::string& prefix_or_directory, bool as_json) {
  Verification verification(as_json);
  if (!th::posix_file_system().is_directory(prefix_or_directory)) {
    if (!th::checkpoint_exists(prefix_or_directory)) static_cast<void>(th::load_checkpoint(prefix_or_directory));
    verification.read(prefix_or_directory);
    return verification.finish();
  }
  if (std::optional<std::string> damage = damage_of_state_file(prefix_or_directory))
    verification.is_damaged(*std::move(damage));
  const std::vector<std::string> all = checkpoints_in(prefix_or_directory);
  if (all.empty() && verification.is_good()) verification.read(th::load_checkpoint(prefix_or_directory).prefix());
  for (const std::string& prefix : all) {
    if (th::checkpoint_exists(prefix) || prefix == all.back())
      verification.read(prefix);
    else
      verification.is_missing(prefix);
  }
  for (std::string& line : left_over_in(prefix_or_directory)) verification.note(std::move(line));
  return verification.finish();
}
