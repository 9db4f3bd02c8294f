// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writes every kind of summary and event for test_summaries.py, into `ours/old` as TensorFlow 1 encodes them and into
/// `ours/new` as TensorFlow 2; into `ours/loop` images, audio and text of a loop's own memory; prints what it reads in
/// the event files that TensorFlow wrote, under `theirs`.

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <trainhook/events/dashboard_summaries.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/hooks/summary_saver_hook.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/media/loop_summaries.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace {

namespace th = trainhook;

constexpr std::int64_t kSteps = 3;

/// What is counted under each tag, exact in binary so that both sides have the same numbers.
struct Counted {
  const char* tag;
  std::vector<double> values;
};

std::vector<Counted> counted(std::int64_t step) {
  std::vector<double> curve;
  for (int i = 0; i < 50; ++i) curve.push_back(0.25 * i * i - 5 * static_cast<double>(step));
  return {{"curve", curve}, {"equal", {2.5, 2.5, 2.5}}, {"none", {}}, {"far", {-1e30, -1.0, 0.0, 1e-15, 3.0, 1e30}}};
}

constexpr float kScalars[] = {0.1F, 0.0F, -1e30F};  // at each step

struct Pictures {
  std::string first;
  std::string second;

  explicit Pictures(const std::string& directory)
      : first(th::read_file(th::posix_file_system(), th::join_path(directory, "first.png"))),
        second(th::read_file(th::posix_file_system(), th::join_path(directory, "second.png"))) {}

  [[nodiscard]] std::array<th::EncodedImage, 2> encoded() const {
    return {th::EncodedImage{.height = 2, .width = 3, .channels = 3, .bytes = first},
            th::EncodedImage{.height = 2, .width = 3, .channels = 3, .bytes = second}};
  }
};

void write_old(const std::string& directory, const Pictures& pictures) {
  th::FileWriter writer(th::join_path(directory, "ours/old"));
  writer.add_session_log({th::SessionLog::Start}, 1);
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    writer.add_scalar("loss", static_cast<double>(kScalars[step - 1]), step);
    for (const Counted& each : counted(step)) writer.add_histogram(each.tag, each.values, step);
    writer.add_image("pictures/image/0", pictures.encoded()[0], step);
    writer.add_image("pictures/image/1", pictures.encoded()[1], step);
    writer.add_text("notes", fmt::format("step *{}*", step), step);
  }
  writer.add_session_log({th::SessionLog::Checkpoint, "model.ckpt"}, kSteps);
  writer.close();
}

void write_new(const std::string& directory, const Pictures& pictures) {
  th::FileWriter writer(th::join_path(directory, "ours/new"));
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    writer.add_summary(th::scalar_tensor_summary("loss", kScalars[step - 1]), step);
    for (const Counted& each : counted(step)) {
      writer.add_summary(th::histogram_tensor_summary(each.tag, std::span<const double>(each.values)), step);
    }
    writer.add_summary(th::image_tensor_summary("pictures", pictures.encoded()), step);
    writer.add_text("notes", fmt::format("step *{}*", step), step);
  }
  writer.close();
}

/// The messages are TensorFlow's, out of files.
void write_events(const std::string& directory) {
  th::FileSystem& disk = th::posix_file_system();
  const auto message = [&](const char* name) { return th::read_file(disk, th::join_path(directory, name)); };
  th::FileWriter writer(th::join_path(directory, "ours/events"));
  writer.add_graph(message("graph.pb"));
  writer.add_meta_graph(message("meta_graph.pb"));
  writer.add_run_metadata(message("run_metadata.pb"), "step_2", 2);
  writer.add_session_log({th::SessionLog::Start}, 1);
  for (std::int64_t step = 1; step <= 5; ++step) writer.add_scalar("loss", static_cast<double>(step), step);
  writer.add_session_log({th::SessionLog::Checkpoint, "model.ckpt", "saved"}, 3);
  writer.add_session_log({th::SessionLog::Start}, 4);  // restored at step 3: what came later is gone
  for (std::int64_t step = 4; step <= 6; ++step) writer.add_scalar("loss", static_cast<double>(10 * step), step);
  writer.add_session_log({th::SessionLog::Stop}, 6);
  writer.close();
}

/// The pictures and samples of test_summaries.py, through the hook.
void write_loop(const std::string& directory) {
  std::vector<std::uint8_t> bytes(2UL * 2 * 3 * 3);
  std::vector<float> floats(4UL * 3 * 2);
  std::vector<float> samples(2UL * 5 * 2);
  std::string note;
  std::int64_t step = 0;
  th::LoopSession loop;
  th::summary::image(loop, "bytes", bytes, {.height = 2, .width = 3, .channels = 3});
  th::summary::image(loop, "floats", floats, {.height = 3, .width = 2});
  th::summary::image(loop, "one", std::span(floats), {.height = 3, .width = 2, .max_outputs = 1});
  th::summary::audio(loop, "mono", samples, {.sample_rate = 8000});
  th::summary::audio(loop, "stereo", samples, {.sample_rate = 44100.5F, .channels = 2, .frames = 5, .max_outputs = 1});
  th::summary::text("notes", loop.value("note", [&] { return note; }));
  auto session = th::monitored_training_session(
      loop, {.save_summaries_steps = std::nullopt,
             .hooks = {th::SummarySaverHook({.save_steps = 1,
                                             .output_dir = th::join_path(directory, "ours/loop"),
                                             .summary_op = *th::summary::merge_all(loop.graph())}),
                       th::StopAtStepHook({.last_step = kSteps})}});
  while (!session.should_stop()) {
    session.run([&] {
      ++step;
      for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(i * 7 + static_cast<std::size_t>(step));
      for (std::size_t i = 0; i < floats.size(); ++i)
        floats[i] = 0.25F * static_cast<float>(i) - (i < 12 ? 0.0F : static_cast<float>(step));
      for (std::size_t i = 0; i < samples.size(); ++i)
        samples[i] = 0.125F * static_cast<float>(i) - 1.0F / static_cast<float>(step);
      note = fmt::format("step *{}*", step);
    });
  }
  session.close();
}

/// Precision-recall curves, and a layout of charts.
void write_curves(const std::string& directory) {
  th::FileWriter writer(th::join_path(directory, "ours/curves"));
  writer.add_summary(
      th::custom_scalars_summary(
          {{.title = "fit", .charts = {{"loss", {"loss", "eval/.*"}}, {.title = "band", .margins = {{"a", "b", "c"}}}}},
           {.title = "rest", .charts = {{"rate", {"rate"}}}, .closed = true}}),
      0);
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    std::vector<bool> labels;
    std::vector<float> predictions;
    std::vector<float> weights;
    for (int i = 0; i < 97; ++i) {
      labels.push_back(i * i % 7 < 3);
      predictions.push_back(static_cast<float>((i * 37 + 11 * static_cast<int>(step)) % 97) / 96.0F);
      weights.push_back(static_cast<float>(i % 5) * 0.25F);
    }
    writer.add_summary(th::pr_curve_summary("whole", labels, predictions), step);
    writer.add_summary(
        th::pr_curve_summary("weighted", labels, predictions, {.num_thresholds = 11, .weights = weights}), step);
  }
  writer.close();
}

void print_value(std::int64_t step, const th::SummaryValue& value) {
  fmt::print("{}\t{}\t{}", step, value.tag, value.plugin);
  if (value.scalar) fmt::print("\tscalar {:a}", *value.scalar);
  if (value.histogram) {
    fmt::print("\thistogram {:a} {:a} {:a} {:a} {:a}", value.histogram->min, value.histogram->max, value.histogram->num,
               value.histogram->sum, value.histogram->sum_squares);
    for (const double limit : value.histogram->bucket_limit) fmt::print(" {:a}", limit);
    for (const double count : value.histogram->bucket) fmt::print(" {:a}", count);
  }
  for (const th::SummaryImage& image : value.images) {
    fmt::print("\timage {} {} {} {}", image.height, image.width, image.channels, th::crc32c::value(image.bytes));
  }
  if (value.text) fmt::print("\ttext {}", *value.text);
  fmt::print("\n");
}

void print_event(const th::Event& event) {
  const auto line = [&](const char* kind, const std::string& text) {
    fmt::print("{}\t{}\t{}\n", event.step, kind, text);
  };
  const auto checksum = [](const std::string& bytes) {
    return fmt::format("{} {}", bytes.size(), th::crc32c::value(bytes));
  };
  if (!event.file_version.empty()) line("version", event.file_version);
  if (!event.graph_def.empty()) line("graph", checksum(event.graph_def));
  if (!event.meta_graph_def.empty()) line("meta graph", checksum(event.meta_graph_def));
  if (event.run_metadata)
    line("run metadata", event.run_metadata->tag + " " + checksum(event.run_metadata->run_metadata));
  if (event.session_log) {
    line("session log",
         fmt::format("{} {}", static_cast<int>(event.session_log->status), event.session_log->checkpoint_path));
  }
  for (const th::SummaryValue& value : event.values) print_value(event.step, value);
}

void print_events(const std::string& directory) {
  for (const std::string& path : th::list_event_files(th::posix_file_system(), directory)) {
    const th::EventFileContents contents = th::read_events(th::posix_file_system(), path);
    if (!contents.problems.empty()) throw th::DataLossError(contents.problems.front());
    for (const th::Event& event : contents.events) print_event(event);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw th::InvalidArgumentError("usage: write_summaries <directory>");
    const std::string directory = argv[1];
    const Pictures pictures(directory);
    write_old(directory, pictures);
    write_new(directory, pictures);
    write_events(directory);
    write_loop(directory);
    write_curves(directory);
    for (const char* part : {"theirs/old", "theirs/new", "theirs/events"}) print_events(th::join_path(directory, part));
  } catch (const std::exception& error) {
    fmt::print(stderr, "write_summaries: {}\n", error.what());
    return 1;
  }
}
