// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/process_signals.hpp>

#include <pthread.h>
#include <semaphore.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

namespace trainhook::detail {

/// What the handler touches. It is never destroyed: a handler may still run on another thread.
struct SignalTable {
  static constexpr std::size_t kSignals = 65;

  SignalTable() { sem_init(&event, 0, 0); }

  std::atomic<int> stop{0};  // the first signal to stop, until it is taken back
  std::atomic<std::uint64_t> saves{0};
  sem_t event{};
  std::array<std::atomic<bool>, kSignals> handled{};  // by a ProcessSignals now
  std::array<std::atomic<bool>, kSignals> stops{};
  std::array<struct sigaction, kSignals> before{};    // what is restored
  std::array<struct sigaction, kSignals> original{};  // what was there before the first of ours
  std::array<std::atomic<bool>, kSignals>
      stayed{};  // a handler of the program was installed over ours, and may call it
};

/// Calls what handled a signal before, unless that was the default or nothing.
inline void call_handler(const struct sigaction& before, int signal, siginfo_t* info, void* context) noexcept {
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
}

SignalTable& signal_table() noexcept {
  static SignalTable table;
  return table;
}

/// The first reason that `record_interruption` got; empty: none. Not for handlers.
struct RecordedInterruption {
  std::mutex mutex;
  std::string reason;
};

/// The object that the sessions of the process share.
struct SharedSignals {
  std::mutex mutex;  // held while handlers are installed or restored
  std::weak_ptr<ProcessSignals> present;
};

SharedSignals& shared_signals() {
  static SharedSignals* const shared = new SharedSignals;  // never destroyed, as system_clock()
  return *shared;
}

RecordedInterruption& recorded_interruption() {
  static RecordedInterruption* const recorded = new RecordedInterruption;  // never destroyed, as system_clock()
  return *recorded;
}

void ProcessSignals::on_signal(int signal, siginfo_t* info, void* context) {
  static thread_local int handling = 0;
  static thread_local bool is_nested = false;
  const int error = errno;
  SignalTable& table = signal_table();
  const auto i = static_cast<std::size_t>(signal);
  if (handling == signal) {  // a handler that was installed over ours, and is now the one before, calls back
    if (!table.stayed[i].load() || std::exchange(is_nested, true)) return;
    call_handler(table.original[i], signal, info, context);
    is_nested = false;
    errno = error;
    return;
  }
  const int outer = std::exchange(handling, signal);
  const bool is_handled = table.handled[i].load();
  const struct sigaction& before = is_handled ? table.before[i] : table.original[i];
  int none = 0;
  bool ends = false;
  if (!is_handled) {  // a handler that was installed over ours calls it
    ends = (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_DFL;
  } else if (!table.stops[i].load()) {
    ++table.saves;
  } else if (table.stop.compare_exchange_strong(none, signal)) {
    sem_post(&table.event);
  } else {
    ends = signal != SIGPIPE;
  }
  if (ends) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // takes effect when this handler returns
  } else {
    call_handler(before, signal, info, context);
  }
  handling = outer;
  errno = error;
}

std::shared_ptr<ProcessSignals> ProcessSignals::share(const Options& options, Clock& clock) {
  SharedSignals& shared = shared_signals();
  std::shared_ptr<ProcessSignals> present;  // outlives the lock, which its destructor takes
  const std::scoped_lock lock(shared.mutex);
  present = shared.present.lock();
  if (present != nullptr && present->process_.is_here()) {
    if (present->options_ == options) return present;
    throw FailedPreconditionError(
        "SignalHook: another session of this process has one with other signals or another deadline; "
        "give both the same");
  }
  auto made = std::make_shared<ProcessSignals>(options, clock);
  shared.present = made;
  return made;
}

ProcessSignals::ProcessSignals(Options options, Clock& clock) : options_(std::move(options)), clock_(clock) {
  signal_table().saves = 0;
  try {
    install();
    if (options_.deadline) watcher_ = Thread("SignalHook", [this] { watch(); });
  } catch (...) {
    restore();
    throw;
  }
}

ProcessSignals::~ProcessSignals() {
  if (!process_.is_here()) return;
  const std::scoped_lock shared(shared_signals().mutex);  // the next one begins when all of this one is gone
  restore();
  if (!watcher_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  sem_post(&signal_table().event);
  watcher_.join();
}

std::optional<std::string> ProcessSignals::interruption() {
  if (const int signal = signal_table().stop.load(); signal != 0) return signal_name(signal);
  RecordedInterruption& recorded = recorded_interruption();
  const std::scoped_lock lock(recorded.mutex);
  return recorded.reason.empty() ? std::nullopt : std::optional(recorded.reason);
}

void ProcessSignals::record_interruption(const std::string& reason) {
  RecordedInterruption& recorded = recorded_interruption();
  const std::scoped_lock lock(recorded.mutex);
  if (recorded.reason.empty()) recorded.reason = reason;
}

void ProcessSignals::forget_interruption() {
  signal_table().stop = 0;
  RecordedInterruption& recorded = recorded_interruption();
  const std::scoped_lock lock(recorded.mutex);
  recorded.reason.clear();
}

int ProcessSignals::stop_signal() const noexcept { return signal_table().stop.load(); }

std::uint64_t ProcessSignals::num_saves() const noexcept { return signal_table().saves.load(); }

bool ProcessSignals::is_ours(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &ProcessSignals::on_signal;
}

inline bool is_ignored(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
}

[[noreturn]] inline void throw_unhandled(int signal) {
  throw InvalidArgumentError("SignalHook: {} cannot be handled: {}", signal_name(signal),
                             std::generic_category().message(errno));
}

/// Restores the earlier handlers.
void ProcessSignals::leave_in_child() noexcept {
  SignalTable& table = signal_table();
  for (std::size_t i = 1; i < SignalTable::kSignals; ++i)
    if (table.handled[i].exchange(false)) restore(static_cast<int>(i));
}

void ProcessSignals::restore(int signal) noexcept {
  SignalTable& table = signal_table();
  const auto i = static_cast<std::size_t>(signal);
  struct sigaction present {};
  if (sigaction(signal, nullptr, &present) != 0) return;
  if (is_ours(present)) {
    sigaction(signal, &table.before[i], nullptr);
  } else {
    table.stayed[i] = true;
  }
}

void ProcessSignals::install() {
  [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, &ProcessSignals::leave_in_child);
  SignalTable& table = signal_table();
  struct sigaction action {};
  action.sa_sigaction = &ProcessSignals::on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const std::vector<int>* numbers : {&options_.stop, &options_.save}) {
    for (const int signal : *numbers) {
      const auto i = static_cast<std::size_t>(signal);
      if (std::ranges::find(installed_, signal) != installed_.end())
        throw InvalidArgumentError("SignalHook: {} is given twice", signal_name(signal));
      if (signal <= 0 || i >= SignalTable::kSignals)
        throw InvalidArgumentError("SignalHook: {} does not exist", signal_name(signal));
      struct sigaction present {};
      if (sigaction(signal, nullptr, &present) != 0) throw_unhandled(signal);
      if (is_ignored(present)) {
        if (signal != SIGPIPE)  // which many programs ignore on purpose
          log_info("SignalHook: {} is ignored, as whoever started the program wanted, and stays so",
                   signal_name(signal));
        continue;
      }
      table.stops[i] = numbers == &options_.stop;
      if (!is_ours(present)) {
        table.before[i] = present;
        if (!table.stayed[i]) table.original[i] = present;
      }
      if (sigaction(signal, &action, nullptr) != 0) throw_unhandled(signal);
      table.handled[i] = true;
      installed_.push_back(signal);
    }
  }
}

void ProcessSignals::restore() noexcept {
  for (const int signal : installed_) {
    restore(signal);
    signal_table().handled[static_cast<std::size_t>(signal)] = false;  // a later handler stays, and may call ours
  }
}

void ProcessSignals::watch() {
  const auto ended = [this] { return ended_; };
  std::unique_lock lock(mutex_);
  while (stop_signal() == 0) {  // a wake-up may be left from an earlier life
    if (ended_) return;
    lock.unlock();
    sem_wait(&signal_table().event);
    lock.lock();
  }
  if (clock_.wait_until(lock, changed_, clock_.monotonic_now() + *options_.deadline, ended)) return;
  log_last_line(fmt::format(
      "{} came {:g} s ago, and the run has not ended; the process ends now, without a checkpoint of its last step",
      signal_name(stop_signal()), std::chrono::duration<double>(*options_.deadline).count()));
  std::_Exit(128 + stop_signal());  // as a shell reports a process that the signal has ended
}

std::string signal_name(int signal) {
  switch (signal) {
    case SIGHUP: return "SIGHUP";
    case SIGINT: return "SIGINT";
    case SIGPIPE: return "SIGPIPE";
    case SIGQUIT: return "SIGQUIT";
    case SIGKILL: return "SIGKILL";
    case SIGUSR1: return "SIGUSR1";
    case SIGUSR2: return "SIGUSR2";
    case SIGTERM: return "SIGTERM";
    default: return fmt::format("signal {}", signal);
  }
}

}  // namespace trainhook::detail
