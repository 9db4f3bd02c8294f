// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a benchmark says: our figure beside a peer's, taken in the same run, and whether the ratio holds its goal.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/core.h>

namespace trainhook::bench {

/// What ends the name of each row of a program that is compiled with other flags: "_o2".
#ifdef TRAINHOOK_BENCH_VARIANT
inline constexpr std::string_view kVariant = TRAINHOOK_BENCH_VARIANT;
#else
inline constexpr std::string_view kVariant;
#endif

/// `ratio` is ours / peer; `goal` is the most it may be. Where more is better (GB/s), set `more_is_better`: then the
/// least. Where the goal is a plain figure, the peer is that budget, and the goal 1.
struct Record {
  std::string name{};
  double ours = 0;
  double peer = 0;
  std::string peer_name{};
  std::string unit{};
  double goal = 0;
  bool more_is_better = false;
};

/// Writes one line of JSON to standard output, which tests/bench/run.sh collects, and a line of a table to standard
/// error.
inline void report(const Record& record) {
  const double ratio = record.peer > 0 ? record.ours / record.peer : 0;
  const bool holds = record.peer > 0 && (record.more_is_better ? ratio >= record.goal : ratio <= record.goal);
  constexpr std::string_view kLine =
      R"({{"name": "{}", "ours": {:.6g}, "peer": {:.6g}, "peer_name": "{}", "unit": "{}", "ratio": {:.6g}, )"
      R"("goal": {:.6g}, "holds": {}}})"
      "\n";
  const std::string name = record.name + std::string(kVariant);
  fmt::print(kLine, name, record.ours, record.peer, record.peer_name, record.unit, ratio, record.goal, holds);
  std::fflush(stdout);
  fmt::print(stderr, "{:<36}{:>10.4g}{:>10.4g} {:<12}{:<22}{:>10.4g}  {} {:.4g}{}\n", name, record.ours, record.peer,
             record.unit, record.peer_name, ratio, record.more_is_better ? ">=" : "<=", record.goal,
             holds ? "" : "  MISSED");
}

[[nodiscard]] inline double median(std::vector<double> figures) {
  if (figures.empty()) return 0;
  const auto middle = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
  std::ranges::nth_element(figures, middle);
  return *middle;
}

/// Seconds that `work` takes.
template <class Work>
[[nodiscard]] double seconds(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  std::forward<Work>(work)();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// TensorFlow, in a process of its own that measures one figure for each question, so that rounds of ours and of theirs
/// take turns. tests/bench/run.sh starts it (tensorflow_peers.py) and says where: the folder of two named pipes,
/// `questions` and `answers`.
class TensorFlow {
 public:
  /// `variable` is that of the environment that says where the process is: one with one thread, or another.
  explicit TensorFlow(std::string question, const char* variable = "TRAINHOOK_BENCH_PEERS")
      : question_(std::move(question)), variable_(variable) {}

  /// Measures once; without such a process nothing happens.
  void measure() {
    if (const std::optional<double> figure = ask()) figures_.push_back(*figure);
  }

  /// The record with the median of what was measured as its peer, or a line that it is missing.
  void report(Record record) const {
    record.peer_name = "TensorFlow 2.15";
    record.peer = median(figures_);
    if (!figures_.empty()) return bench::report(record);
    fmt::print(stderr, "{:<36}{:>10.4g}{:>10} {:<12}{}\n", record.name, record.ours, "missing", record.unit,
               record.peer_name);
  }

 private:
  [[nodiscard]] std::optional<double> ask() const {
    const char* folder = std::getenv(variable_);
    if (folder == nullptr) return std::nullopt;
    const int questions =
        ::open((std::string(folder) + "/questions").c_str(), O_WRONLY | O_NONBLOCK);  // fails where nobody reads them
    if (questions < 0) return std::nullopt;
    const int answers = ::open((std::string(folder) + "/answers").c_str(), O_RDONLY);
    const std::string line = question_ + '\n';
    std::string answer;
    if (answers >= 0 && ::write(questions, line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
      for (char letter = 0; ::read(answers, &letter, 1) == 1 && letter != '\n';) answer += letter;
    }
    ::close(answers);
    ::close(questions);
    char* end = nullptr;
    const double figure = std::strtod(answer.c_str(), &end);
    return end != answer.c_str() && figure > 0 ? std::optional(figure) : std::nullopt;
  }

  std::string question_;
  const char* variable_;
  std::vector<double> figures_;
};

}  // namespace trainhook::bench
