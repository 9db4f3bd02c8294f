// SPDX-License-Identifier: Apache-2.0
// A command that looks into checkpoints and training directories: lists, shows, verifies, compares, prunes,
// averages, exports and imports.

#include <exception>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

#include "commands.hpp"

namespace th = trainhook;

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
    fmt::print(stderr, "checkpoint: {}; checkpoint --help shows the commands\n", error.what());
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
