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
#include <trainhook/core/rename.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

/// What the names of a checkpoint are in a model.
class Renaming {
 public:
  using Model = std::map<std::string, StateSpec, std::less<>>;

  Renaming(const Renames& renames, const Model& model) : renames_(renames), model_(model), used_(renames.size()) {}

  /// By what it begins with, or, if the model lacks it and has the other name, by what is inside. Empty: it is left
  /// out.
  [[nodiscard]] std::string name_here(const std::string& name) {
    const auto rename = find_rename(renames_, name);
    if (rename != renames_.end() && !(rename->first.empty() && name.starts_with("_trainhook/"))) {
      ++used_[static_cast<std::size_t>(rename - renames_.begin())];
      std::string other = renamed(name, renames_);
      return other.starts_with('/') || other.starts_with('.') ? std::string() : other;
    }
    if (model_.contains(name)) return name;
    std::optional<std::string> found;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const auto [before, after] = without_common_scope(renames_[i]);
      if (before.empty()) continue;
      for (std::size_t at = find_parts(name, before, 0); at != std::string::npos;
           at = find_parts(name, before, at + 1)) {
        std::string other = std::string(name).replace(at, before.size(), after);
        if (!model_.contains(other) || other == found) continue;
        if (found) {
          throw InvalidArgumentError("restore: `rename` makes both '{}' and '{}' of '{}'; give it the whole name",
                                     *found, other, name);
        }
        found = std::move(other);
        ++used_[i];
      }
    }
    return found.value_or(name);
  }

  /// How many names each pair was about.
  [[nodiscard]] const std::vector<std::size_t>& used() const noexcept { return used_; }

 private:
  // An optimizer's names need not have the scope, such as the name that a module was given.
  static std::pair<std::string_view, std::string_view> without_common_scope(const Renames::value_type& rename) {
    std::string_view before = rename.first;
    std::string_view after = rename.second;
    const auto common = static_cast<std::size_t>(std::ranges::mismatch(before, after).in1 - before.begin());
    const std::size_t scope = before.substr(0, common).rfind('/') + 1;
    return {before.substr(scope), after.substr(scope)};
  }

  const Renames& renames_;
  const Model& model_;
  std::vector<std::size_t> used_;
};

/// A checkpoint as the model wants it: with its names, dtypes and shapes. What the rules do not allow is left as it is,
/// for the restore to refuse.
class FittedContents final : public CheckpointContents {
 public:
  /// @param own the prefix of what one rank of a job has of its own in the checkpoint, as Saver::restore takes it
  FittedContents(const CheckpointContents& original, const RestoreRules& rules, SessionRef session,
                 const Renaming::Model& model, const std::string& own)
      : original_(original), rules_(rules), session_(session), model_(model), own_(own), slices_(session.graph()) {
    if (const std::optional<Variable> step = get_global_step(session.graph())) step_ = step->name();
    Renaming renaming(rules.rename, model);
    for (const std::string& name : original.names()) {
      const std::size_t prefix = name.starts_with(own) ? own.size() : 0;
      const std::string rest = name.substr(prefix);
      const std::string here = renaming.name_here(rest);
      add(name, name.substr(0, prefix), here == rest ? with_its_variable(rest, renaming) : here);
    }
    expect_all_used(renaming.used());
  }

  /// What was not plain so far.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

  [[nodiscard]] const std::string& path() const noexcept override { return original_.path(); }

  [[nodiscard]] std::optional<Entry> find(std::string_view name) const override {
    const std::string* const original = find_original(name);
    if (const StateSpec* const part = find_part(name)) return find_whole(original, *part);
    const StateSpec* wanted = find_wanted(name);
    if (original == nullptr) {
      if (wanted == nullptr || wanted->kind == StateKind::Auxiliary || slices_.find(name) != nullptr)
        return std::nullopt;
      const bool is_step_of_another = !rules_.from.empty() && name == step_;
      if (rules_.missing == Missing::Fail && !left_out_.contains(name) && !is_step_of_another) return std::nullopt;
      return Entry{wanted->dtype, initial_shape(*wanted)};
    }
    std::optional<Entry> found = original_.find(*original);
    wanted = find_wanted_by(name);
    if (!found || wanted == nullptr) return found;
    if (rules_.cast && found->dtype != DType::Invalid) found->dtype = wanted->dtype;
    if (rules_.reshape && !wanted->shape.compatible_with(found->shape)) found->shape = initial_shape(*wanted);
    return found;
  }

  [[nodiscard]] Tensor read(std::string_view name) const override {
    const StateSpec* wanted = find_wanted(name);
    const std::string* const original = find_original(name);
    if (original == nullptr && wanted != nullptr) {
      note("'{}' is not in it and keeps its initial value", name);
      return initial(*wanted);
    }
    Tensor value = original_.read(original != nullptr ? *original : std::string(name));
    wanted = find_wanted_by(name);
    if (wanted == nullptr) wanted = find_owner(name, value.shape());
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
    const StateSpec* const part = find_part(name, &region);
    if (original == nullptr && part != nullptr) {
      note("'{}', of which '{}' is a part, is not in it, and the part keeps its initial value", name, part->name);
      return initial(*part);
    }
    Tensor value = original_.read(original != nullptr ? *original : std::string(name), region);
    return part != nullptr ? converted(*part, std::move(value)) : value;
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

  void add(const std::string& whole, const std::string& prefix, const std::string& here) {
    if (here.empty()) {
      left_out_.insert(whole);
      return;
    }
    const auto [other, is_new] = originals_.emplace(prefix + here, whole);
    if (!is_new) {
      throw InvalidArgumentError("restore: '{}' and '{}' of checkpoint {} would both be '{}'; rename one of them",
                                 other->second, whole, path(), other->first);
    }
  }

  // The value of a hook that belongs to a variable of the checkpoint, `_trainhook/hooks/<hook>/<key>/<variable>`, or to
  // a part of it, follows the variable.
  [[nodiscard]] std::string with_its_variable(const std::string& name, Renaming& renaming) {
    constexpr std::string_view kHooks = "_trainhook/hooks/";
    std::size_t at = name.find(kHooks);
    const std::size_t hook = at == std::string::npos ? at : name.find('/', at + kHooks.size());
    const std::size_t key = hook == std::string::npos ? hook : name.find('/', hook + 1);
    if (key == std::string::npos) return name;
    at = key + 1;
    std::string variable = name.substr(at);
    std::string part;
    if (!original_.find(variable) && variable.find('/') != std::string::npos) {
      part = variable.substr(variable.rfind('/'));
      variable.resize(variable.size() - part.size());
    }
    if (!original_.find(variable)) return name;
    const std::string here = renaming.name_here(variable);
    if (here.empty()) return here;
    if (part.empty()) owners_.emplace(name.substr(0, at) + here, here);
    return name.substr(0, at) + here + part;
  }

  void expect_all_used(const std::vector<std::size_t>& used) const {
    for (std::size_t i = 0; i < used.size(); ++i) {
      const auto& [before, after] = rules_.rename[i];
      if (used[i] == 0) {
        const std::vector<std::string> names = original_.names();
        throw InvalidArgumentError(
            "restore: no name in checkpoint {} begins with '{}', up to a '/', a '.' or its end, and `rename` replaces "
            "that; {}",
            path(), before, suggest_names({names.begin(), names.end()}, before));
      }
      note("'{}' is '{}' here, in {} name{}", before, after, used[i], used[i] == 1 ? "" : "s");
    }
  }

  [[nodiscard]] const StateSpec* find_wanted(std::string_view name) const {
    const auto found = model_.find(name);
    return found == model_.end() ? nullptr : &found->second;
  }
  // That may be a rank's own.
  [[nodiscard]] const StateSpec* find_wanted_by(std::string_view name) const {
    return find_wanted(name.substr(name.starts_with(own_) ? own_.size() : 0));
  }
  // The variable whose hook's value has another shape; null if it has that one, or nothing reshapes it.
  [[nodiscard]] const StateSpec* find_owner(std::string_view name, const Shape& shape) const {
    const auto owner = owners_.find(name.substr(name.starts_with(own_) ? own_.size() : 0));
    const StateSpec* const wanted = owner == owners_.end() || !rules_.reshape ? nullptr : find_wanted(owner->second);
    return wanted == nullptr || wanted->shape.compatible_with(shape) ? nullptr : wanted;
  }
  // A part of that tensor that this process has: the first, or the one of a region.
  [[nodiscard]] const StateSpec* find_part(std::string_view tensor, const TensorSlice* region = nullptr) const {
    for (const std::string& name : slices_.own()) {
      const SaveSliceInfo& part = *slices_.find(name);
      const StateSpec* const wanted = find_wanted(name);
      if (part.full_name == tensor && wanted != nullptr && (region == nullptr || region_of(part) == *region))
        return wanted;
    }
    return nullptr;
  }
  [[nodiscard]] std::optional<Entry> find_whole(const std::string* original, const StateSpec& part) const {
    const SaveSliceInfo& slice = *slices_.find(part.name);
    if (original == nullptr)
      return rules_.missing == Missing::Fail ? std::nullopt : std::optional(Entry{part.dtype, full_shape_of(slice)});
    std::optional<Entry> found = original_.find(*original);
    if (found && rules_.cast && found->dtype != DType::Invalid) found->dtype = part.dtype;
    return found;
  }
  [[nodiscard]] const std::string* find_original(std::string_view name) const {
    const auto found = originals_.find(name);
    return found == originals_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] Shape initial_shape(const StateSpec& wanted) const {
    return wanted.shape.is_fully_known() ? wanted.shape.known() : initial(wanted).shape();
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
  const Renaming::Model& model_;
  const std::string& own_;
  std::map<std::string, std::string, std::less<>> originals_;  // the names there, by those here
  std::map<std::string, std::string, std::less<>> owners_;     // the variables of hooks' values, by the names here
  std::set<std::string, std::less<>> left_out_;
  VariableSlices slices_;  // parts are read as regions of the whole
  std::string step_;
  mutable std::vector<std::string> notes_;
};

class RulesPolicy final : public RestorePolicy {
 public:
  explicit RulesPolicy(RestoreRules rules) : rules_(std::move(rules)) {}

  [[nodiscard]] const CheckpointSource& from() const noexcept override { return rules_.from; }

  [[nodiscard]] std::string text() const override {
    std::string text = rules_.from.empty() ? "" : fmt::format("from {}, ", rules_.from.path());
    for (const auto& [before, after] : rules_.rename) text += fmt::format("{} -> {}, ", before, after);
    return text + fmt::format("missing {}, {}, {}",
                              rules_.missing == Missing::Fail ? "fails" : "keeps its initial value",
                              rules_.cast ? "cast" : "no cast", rules_.reshape ? "reshape" : "no reshape");
  }

  void restore(SessionRef session, const Saver& saver, const CheckpointSource& checkpoint, const std::string& directory,
               FunctionRef<void()> initialize, const std::string& own,
               const std::function<bool(const std::string& name)>& keeps) const override {
    FileSystem& file_system = saver.file_system();
    const CheckpointSource source(checkpoint_prefix(file_system, checkpoint.path()), checkpoint.format());
    const VariableSlices slices(session.graph());
    const auto original = source.open(saver.options().format, file_system, slices.files_of_restore(own.empty()));
    Renaming::Model model;
    for (StateSpec& spec : saver.chosen_state(session)) {
      std::string name = spec.name;
      model.emplace(std::move(name), std::move(spec));
    }
    if (rules_.from.empty() && fits(*original, model, slices, own))
      return saver.restore(session, *original, own, keeps);
    initialize();
    const FittedContents fitted(*original, rules_, session, model, own);
    saver.restore(session, fitted, own, keeps);
    if (!own.empty()) return;  // the chief says it
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
  // Whether the checkpoint is one of this model, and has no name from before.
  [[nodiscard]] bool fits(const CheckpointContents& contents, const Renaming::Model& model,
                          const VariableSlices& slices, const std::string& own) const {
    Renaming renaming(rules_.rename, model);
    return std::ranges::all_of(model,
                               [&](const auto& each) {
                                 const StateSpec& spec = each.second;
                                 if (const SaveSliceInfo* const slice = slices.find(spec.name)) {
                                   if (!slice->is_own || std::ranges::count(slice->var_shape, 0) > 0) return true;
                                   const auto whole = contents.find(slice->full_name);
                                   return whole && whole->dtype == spec.dtype && whole->shape == full_shape_of(*slice);
                                 }
                                 const auto found = contents.find(spec.name);
                                 if (!found) return spec.kind == StateKind::Auxiliary;
                                 return found->dtype == spec.dtype && spec.shape.compatible_with(found->shape);
                               }) &&
           std::ranges::all_of(contents.names(), [&](const std::string& name) {
             const std::string rest = name.starts_with(own) ? name.substr(own.size()) : name;
             return model.contains(rest) || renaming.name_here(rest) == rest;
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
