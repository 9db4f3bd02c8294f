// SPDX-License-Identifier: Apache-2.0
/// @file
/// Hurts training runs in every way that a machine can, and compares what they end with to a run that nothing happened
/// to: soak <part> <folder> <every> <seed>. Prints one line for each part and ends 1 if anything was lost.
#include "soak.hpp"

#include <csignal>
#include <exception>
#include <map>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <trainhook/core/log.hpp>

int main(int count, char** arguments) {
  using namespace soak;
  const std::map<std::string_view, int (*)(const Soak&)> parts{
      {"audits", audits},    {"kills", kills},           {"signals", signals},         {"stops", stops},
      {"damage", damage},    {"full_disks", full_disks}, {"small_tmpfs", small_tmpfs}, {"two_processes", two_processes},
      {"long_run", long_run}};
  if (count != 5 || !parts.contains(arguments[1])) {
    fmt::print(stderr, "soak <part> <folder> <every n-th crash point> <seed>; the parts are");
    for (const auto& [name, part] : parts) fmt::print(stderr, " {}", name);
    fmt::print(stderr, "\n");
    return 2;
  }
  th::set_log_sink([](th::LogLevel, std::string_view) {});
  for (const int signal : {SIGINT, SIGHUP, SIGTERM}) std::signal(signal, SIG_DFL);  // a background job ignores some
  try {
    return parts.at(arguments[1])(
        Soak{.folder = arguments[2], .every = std::stoull(arguments[3]), .seed = std::stoull(arguments[4])});
  } catch (const std::exception& error) {
    fmt::print(stderr, "soak: {}: {}\n", arguments[1], error.what());
    return 1;
  }
}
