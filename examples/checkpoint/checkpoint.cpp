// SPDX-License-Identifier: Apache-2.0
// A command that looks into checkpoints and training directories: lists, shows, verifies, compares, prunes,
// averages, exports and imports.

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

#include "commands.hpp"

namespace th = trainhook;

namespace {

/// How many letters must be put in, left out or replaced to make one word of the other.
std::size_t distance(std::string_view from, std::string_view to) {
  if (from.empty() || to.empty()) return from.size() + to.size();
  const std::size_t replaced = distance(from.substr(1), to.substr(1)) + (from[0] == to[0] ? 0 : 1);
  if (from[0] == to[0]) return replaced;
  return std::min({replaced, distance(from.substr(1), to) + 1, distance(from, to.substr(1)) + 1});
}

/// What to say of a word that is none of the commands; nothing if it is one, or an option.
std::string why_no_command(const CLI::App& app, std::string_view word) {
  constexpr std::size_t kLongest = 8;  // of the commands, and one letter more
  if (word.empty() || word.starts_with('-')) return "";
  std::vector<std::pair<std::size_t, std::string>> commands;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string& name = each->get_name();
    commands.emplace_back(word.size() > kLongest ? word.size() : distance(word, name), name);
  }
  const auto [mistakes, nearest] = std::ranges::min(commands);
  if (mistakes == 0) return "";
  if (mistakes <= 2) return fmt::format("there is no command '{}'; did you mean '{}'?", word, nearest);
  return fmt::format("there is no command '{}'; checkpoint --help shows the commands", word);
}

}  // namespace

int main(int argc, char** argv) {
  std::string path, other, tensor;
  std::vector<std::string> inputs;
  ExportChoices choices;
  int keep = 0;
  bool as_json = false, dry_run = false;
  std::function<int()> chosen;
  CLI::App app(
      "Looks into checkpoints, of trainhook and of TensorFlow. A checkpoint is named by its path without .index; a "
      "directory means the newest one in it.\n"
      "Exit code: 0, or 1 if something is damaged, missing or different, or 2 if there is no answer.",
      "checkpoint");
  app.require_subcommand(1);

  const auto command = [&](const char* name, const char* purpose, std::function<int()> act) {
    CLI::App* added = app.add_subcommand(name, purpose);
    added->callback([&chosen, act] { chosen = act; });
    return added;
  };
  const auto add_json = [&](CLI::App* added) { added->add_flag("--json", as_json, "for programs"); };

  CLI::App* added = command("list", "the checkpoints of a directory, and what is left over there",
                            [&] { return list(path, as_json); });
  added->add_option("directory", path)->required();
  add_json(added);
  added =
      command("show", "the tensors of a checkpoint: shapes, ranges, NaN", [&] { return show(path, tensor, as_json); });
  added->add_option("checkpoint", path, "or a directory")->required();
  added->add_option("tensor", tensor, "prints the elements of this one only");
  add_json(added);
  added = command("verify", "reads everything and compares all checksums", [&] { return verify(path, as_json); });
  added->add_option("checkpoint", path, "or a directory: then all in it")->required();
  add_json(added);
  added = command("diff", "compares two checkpoints, tensor by tensor", [&] { return diff(path, other, as_json); });
  added->add_option("A", path)->required();
  added->add_option("B", other)->required();
  add_json(added);
  added = command("prune", "removes the oldest checkpoints that the state file lists",
                  [&] { return prune(path, keep, dry_run, as_json); });
  added->add_option("directory", path)->required();
  added->add_option("--keep", keep, "so many of the newest stay")->required()->check(CLI::Range(1, 1'000'000));
  added->add_flag("--dry-run", dry_run, "only says what would be removed");
  add_json(added);
  added = command("average", "writes the mean of checkpoints: floating-point tensors; others from the last",
                  [&] { return average(path, inputs); });
  added->add_option("out", path, "the new checkpoint")->required();
  added->add_option("checkpoints", inputs)->required()->expected(1, 1000);
  added = command("export", "writes the tensors of a checkpoint as a safetensors file, or one as a .npy file",
                  [&] { return export_checkpoint(path, other, choices); });
  added->add_option("checkpoint", path, "or a directory")->required();
  added->add_option("out", other, "the new file: model.safetensors, or weights.npy with --tensor")->required();
  added->add_option("--tensor", choices.tensor, "the one of a .npy file");
  added->add_option("--only", choices.only, "what the names of the tensors begin with, such as net/");
  added
      ->add_option("--rename", choices.rename,
                   "OLD=NEW: names that begin with OLD, up to a '/', a '.' or their end, begin with NEW")
      ->allow_extra_args(false);
  added->add_option("--dtype", choices.dtype, "of floating-point tensors")
      ->check(CLI::IsMember({"float32", "float64", "float16", "bfloat16"}));
  added->add_option("--max-shard-size", choices.max_shard_size, "bytes; more become several files and an index");
  added = command("import", "writes the tensors of a safetensors file as a checkpoint",
                  [&] { return import_checkpoint(path, other, choices.rename); });
  added->add_option("file", path, "or its model.safetensors.index.json")->required();
  added->add_option("out", other, "the new checkpoint")->required();
  added
      ->add_option("--rename", choices.rename,
                   "OLD=NEW: names that begin with OLD, up to a '/', a '.' or their end, begin with NEW")
      ->allow_extra_args(false);
  added = command("events", "what the event files of a directory hold", [&] { return events(path, as_json); });
  added->add_option("directory", path, "or one event file")->required();
  add_json(added);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) { return app.exit(help); } catch (const CLI::ParseError& error) {
    if (const std::string why = why_no_command(app, argc > 1 ? argv[1] : ""); !why.empty()) {
      fmt::print(stderr, "checkpoint: {}\n", why);
    } else {
      fmt::print(stderr, "checkpoint: {}; checkpoint --help shows the commands\n", error.what());
    }
    return kNoAnswer;
  }
  th::set_log_sink([said = std::set<std::string>()](th::LogLevel level, std::string_view line) mutable {
    if (level != th::LogLevel::Info && said.emplace(line).second) fmt::print(stderr, "checkpoint: {}\n", line);
  });
  try {
    return chosen();
  } catch (const std::exception& error) {
    fmt::print(stderr, "checkpoint: {}\n", error.what());
    return kNoAnswer;
  }
}
