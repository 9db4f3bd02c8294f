// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of restore_rules.hpp.
#pragma once

#include <trainhook/checkpoint/restore_rules.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/checkpoint/run_record.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/cast_numbers.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/name_suggestion.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

/// A checkpoint as the model wants it: with its names, dtypes and shapes. What the rules do not allow is left as it is,
/// for the restore to refuse.
class FittedContents final : public CheckpointContents {
 public:
  FittedContents(const CheckpointContents& original, const RestoreRules& rules, SessionRef session,
                 std::vector<StateSpec> wanted)
      : original_(original), rules_(rules), session_(session), slices_(session.graph()) {
    for (StateSpec& spec : wanted) {
      std::string name = spec.name;
      wanted_.emplace(std::move(name), std::move(spec));
    }
    if (const std::optional<Variable> step = get_global_step(session.graph())) step_ = step->name();
    std::vector<std::size_t> used(rules.rename.size());
    for (const std::string& name : original.names()) {
      std::string renamed = name;
      const auto rule =
          std::ranges::find_if(rules.rename, [&](const auto& each) { return name.starts_with(each.first); });
      if (rule != rules.rename.end()) {
        ++used[static_cast<std::size_t>(rule - rules.rename.begin())];
        renamed = rule->second + name.substr(rule->first.size());
      }
      if (renamed.empty()) {
        left_out_.insert(name);
        continue;
      }
      const auto [other, is_new] = originals_.emplace(renamed, name);
      if (!is_new) {
        throw InvalidArgumentError("restore: '{}' and '{}' of checkpoint {} would both be '{}'; rename one of them",
                                   other->second, name, original.path(), renamed);
      }
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      const auto& [beginning, replacement] = rules.rename[i];
      if (used[i] == 0) {
        const std::vector<std::string> names = original.names();
        throw InvalidArgumentError("restore: no name in checkpoint {} begins with '{}', which `rename` replaces; {}",
                                   original.path(), beginning, suggest_names({names.begin(), names.end()}, beginning));
      }
      note("'{}' is '{}' here, at the beginning of {} name{}", beginning, replacement, used[i],
           used[i] == 1 ? "" : "s");
    }
  }

  /// What was not plain so far.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

  [[nodiscard]] const std::string& path() const noexcept override { return original_.path(); }

  [[nodiscard]] std::optional<Entry> find(std::string_view name) const override {
    const StateSpec* const wanted = find_wanted(name);
    const std::string* const original = find_original(name);
    if (original == nullptr) {
      if (wanted == nullptr || wanted->kind == StateKind::Auxiliary || slices_.find(name) != nullptr)
        return std::nullopt;
      const bool is_step_of_another = !rules_.from.empty() && name == step_;
      if (rules_.missing == Missing::Fail && !left_out_.contains(name) && !is_step_of_another) return std::nullopt;
      return Entry{wanted->dtype, initial(*wanted).shape()};
    }
    std::optional<Entry> found = original_.find(*original);
    if (!found || wanted == nullptr) return found;
    if (rules_.cast && found->dtype != DType::Invalid) found->dtype = wanted->dtype;
    if (rules_.reshape && !wanted->shape.compatible_with(found->shape)) found->shape = initial(*wanted).shape();
    return found;
  }

  [[nodiscard]] Tensor read(std::string_view name) const override {
    const StateSpec* const wanted = find_wanted(name);
    const std::string* const original = find_original(name);
    if (original == nullptr && wanted != nullptr) {
      note("'{}' is not in it and keeps its initial value", name);
      return initial(*wanted);
    }
    Tensor value = original_.read(original != nullptr ? *original : std::string(name));
    if (wanted == nullptr) return value;
    value = converted(*wanted, std::move(value));
    if (wanted->shape.compatible_with(value.shape())) return value;
    const Shape before = value.shape();
    const Tensor start = initial(*wanted);
    value = call_of_user("`reshape` of restore, for variable", wanted->name,
                         [&] { return rules_.reshape(wanted->name, value, start); });
    if (value.dtype() != wanted->dtype || value.shape() != start.shape()) {
      throw InvalidArgumentError("restore: `reshape` made {}{} of variable '{}', which is {}{}", value.dtype(),
                                 value.shape(), name, wanted->dtype, start.shape());
    }
    note("'{}' has shape {} there and {} here: `reshape` made its value", name, before, value.shape());
    return value;
  }

  [[nodiscard]] Tensor read(std::string_view name, const TensorSlice& region) const override {
    const std::string* const original = find_original(name);
    return original_.read(original != nullptr ? *original : std::string(name), region);
  }

  [[nodiscard]] std::vector<std::string> names(std::string_view beginning) const override {
    std::vector<std::string> names;
    for (auto each = originals_.lower_bound(beginning); each != originals_.end() && each->first.starts_with(beginning);
         ++each)
      names.push_back(each->first);
    return names;
  }

  [[noreturn]] void refuse(std::string_view variable) const override {
    throw NotFoundError(
        "restore: checkpoint {} has no variable '{}'; name it in `rename`, or set `missing` to Missing::KeepInitial; "
        "{}",
        path(), variable, suggest_keys(originals_, variable));
  }

 private:
  template <class... Args>
  void note(fmt::format_string<Args...> text, Args&&... args) const {
    notes_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  [[nodiscard]] const StateSpec* find_wanted(std::string_view name) const {
    const auto found = wanted_.find(name);
    return found == wanted_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const std::string* find_original(std::string_view name) const {
    const auto found = originals_.find(name);
    return found == originals_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] Tensor initial(const StateSpec& wanted) const {
    return session_.snapshot(std::span(&wanted.name, 1)).at(0).tensor;
  }

  [[nodiscard]] Tensor converted(const StateSpec& wanted, Tensor value) const try {
    if (value.dtype() == wanted.dtype) return value;
    CastNumbers cast = cast_numbers(value, wanted.dtype);
    const std::string loss = cast.rounded == 0
                                 ? "no number changed"
                                 : fmt::format("{} of {} numbers were rounded, by at most {:.1e} of their size",
                                               cast.rounded, value.num_elements(), cast.largest_change);
    note("'{}' is {} there and {} here: {}", wanted.name, value.dtype(), wanted.dtype, loss);
    return std::move(cast.values);
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("restore: variable '{}' of checkpoint {} cannot be converted: {}", wanted.name, path(),
                               error.what());
  }

  const CheckpointContents& original_;
  const RestoreRules& rules_;
  SessionRef session_;
  std::map<std::string, StateSpec, std::less<>> wanted_;
  std::map<std::string, std::string, std::less<>> originals_;  // the names there, by those here
  std::set<std::string, std::less<>> left_out_;
  VariableSlices slices_;  // parts are read as regions of the whole
  std::string step_;
  mutable std::vector<std::string> notes_;
};

class RulesPolicy final : public RestorePolicy {
 public:
  explicit RulesPolicy(RestoreRules rules) : rules_(std::move(rules)) {}

  [[nodiscard]] const CheckpointSource& from() const noexcept override { return rules_.from; }

  void restore(SessionRef session, const Saver& saver, const CheckpointSource& checkpoint, const std::string& directory,
               FunctionRef<void()> initialize) const override {
    FileSystem& file_system = saver.file_system();
    const CheckpointSource source(checkpoint_prefix(file_system, checkpoint.path()), checkpoint.format());
    const auto original = source.open(saver.options().format, file_system, BundleFiles::Hold);
    std::vector<StateSpec> wanted = saver.chosen_state(session);
    if (rules_.from.empty() && fits(*original, wanted, VariableSlices(session.graph())))
      return saver.restore(session, *original);
    initialize();
    const FittedContents fitted(*original, rules_, session, std::move(wanted));
    saver.restore(session, fitted);
    if (!rules_.from.empty()) log_info("Began with {}.", original->path());
    std::string text;
    for (const std::string& each : fitted.notes()) {
      log_info("restored from {}: {}.", original->path(), each);
      text += fmt::format("{}{}", text.empty() ? "" : "; ", each);
    }
    if (directory.empty()) return;
    try {
      RunRecord record = read_run_record(file_system, directory).value_or(RunRecord());
      record.restored = fmt::format("from {}: {}", original->path(), text);
      write_run_record(file_system, directory, record);
    } catch (const Error& error) { log_warning("run.pbtxt does not say how the run began: {}", error); }
  }

 private:
  static bool fits(const CheckpointContents& contents, const std::vector<StateSpec>& wanted,
                   const VariableSlices& slices) {
    return std::ranges::all_of(wanted, [&](const StateSpec& spec) {
      if (slices.find(spec.name) != nullptr) return true;
      const auto found = contents.find(spec.name);
      if (!found) return spec.kind == StateKind::Auxiliary;
      return found->dtype == spec.dtype && spec.shape.compatible_with(found->shape);
    });
  }

  RestoreRules rules_;
};

}  // namespace trainhook::detail

namespace trainhook {

RestoreRules::operator std::shared_ptr<const RestorePolicy>() const {
  return std::make_shared<const detail::RulesPolicy>(*this);
}

}  // namespace trainhook
