// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/exchange/safetensors_exporter.hpp>

#include <exception>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/saving/background_writer.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

struct SafetensorsExporter::State {
  std::string path{};
  SafetensorsOptions options{};
  detail::BackgroundWriter writer{};

  /// Calls `act`, and logs what it throws.
  template <class Act>
  void attempt(std::string_view from, const Act& act) const noexcept {
    try {
      act();
    } catch (...) {
      log_error("SafetensorsExporter: {} keeps its contents, because {} could not be exported: {}", path, from,
                describe(std::current_exception()));
    }
  }

  void start(const std::string& prefix, std::int64_t step) {
    attempt(prefix, [&] {
      // Opened here, before a later save can remove it.
      const auto reader = std::make_shared<const BundleReader>(
          prefix, BundleReaderOptions{.file_system = options.file_system, .files = BundleFiles::Hold});
      while (writer.take_finished()) {}
      const auto left_out =
          writer.submit({step, [this, reader](SaveCost& /*cost*/) {
                           attempt(reader->prefix(), [&] {
                             static_cast<void>(write_safetensors(path, *reader, options));
                             log_info("SafetensorsExporter: {} is checkpoint {}.", path, reader->prefix());
                           });
                           return path;
                         }});
      if (left_out) {
        log_info("SafetensorsExporter: the checkpoint of step {} is left out of {}, because that of step {} is newer",
                 left_out->step(), path, step);
      }
    });
  }
};

SafetensorsExporter::SafetensorsExporter(std::string path, SafetensorsOptions options)
    : state_(std::make_shared<State>()) {
  if (options.max_shard_size > 0) {
    throw InvalidArgumentError(
        "SafetensorsExporter: {} is replaced again and again, and shards replace no file; set max_shard_size to 0",
        path);
  }
  state_->path = std::move(path);
  state_->options = std::move(options);
}

bool SafetensorsExporter::after_save(SessionRef session, std::int64_t global_step) {
  state_->attempt("the newest checkpoint", [&] {
    const auto claims = session.graph().offered<detail::CheckpointClaim>();
    if (claims.size() != 1)
      throw FailedPreconditionError("{} hooks of this session save the model, and an exporter needs one",
                                    claims.size());
    const std::string& directory = claims.front()->directory;
    const std::optional<std::string> newest =
        latest_checkpoint(detail::given_or_posix(state_->options.file_system), directory);
    if (!newest) throw NotFoundError("there is no checkpoint in {}", directory);
    state_->start(*newest, global_step);
  });
  return false;
}

void SafetensorsExporter::end(SessionRef /*session*/, std::int64_t /*global_step*/) {
  state_->attempt("the last checkpoint", [&] { wait(); });
}

void SafetensorsExporter::operator()(const BestCheckpoint& best) const { state_->start(best.prefix, best.step); }

void SafetensorsExporter::wait() const { state_->writer.wait(); }

}  // namespace trainhook
