// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/restore_rules.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
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
#include <trainhook/core/real_numbers.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/names_in_messages.hpp>
#include <trainhook/checkpoint/rename.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

using Model = std::map<std::string, StateSpec, std::less<>>;

/// A checkpoint as the model wants it: with its names, dtypes and shapes. What the rules do not allow is left as it is,
/// for the restore to refuse.
class FittedContents final : public CheckpointContents {
 public:
  /// @param was_followed the checkpoint is of this model: rules may have been followed before it was saved
  FittedContents(const CheckpointContents& original, const RestoreRules& rules, SessionRef session, const Model& model,
                 bool was_followed)
      : original_(original), rules_(rules), session_(session), model_(model), slices_(session.graph()) {
    if (const std::optional<Variable> step = get_global_step(session.graph())) step_ = step->name();
    const auto in_model = [&model](const std::string& name) { return model.contains(name); };
    Renaming renaming(rules.rename, in_model, was_followed);
    const std::vector<std::string> names = original.names();
    for (const std::string& name : names) {
      std::string here = renaming.name_here(name);
      if (here == name) here = with_its_variable(name, renaming);
      if (here.empty()) {
        left_out_.insert(name);
        continue;
      }
      if (originals_.emplace(here, name).second || (was_followed && stays(name, here, renaming))) continue;
      throw InvalidArgumentError("restore: '{}' and '{}' of checkpoint {} would both be '{}'; rename one of them",
                                 *find_original(here), name, path(), here);
    }
    note_use(renaming.used(), names, was_followed);
    for (const auto& [name, spec] : model) {
      if (const std::string* const whole = lacking(name)) keep(spec, *whole);
    }
  }

  /// What was not plain so far, at the end what keeps its initial value.
  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> notes = notes_;
    std::ranges::copy(notes_of_kept_, std::back_inserter(notes));
    return notes;
  }

  /// One line about the restore, of what is not plain only the first few. `left_over`: names as they are here.
  [[nodiscard]] std::string summary(std::vector<std::string> left_over) const {
    for (std::string& name : left_over)
      if (const std::string* const original = find_original(name)) name = *original;
    const auto counted = [](const std::vector<std::string>& names) {
      return names.empty() ? std::string("0") : fmt::format("{} ({})", names.size(), list_names(names));
    };
    std::string text = fmt::format("names restored: {}, kept at the initial value: {}, left over: {}", read_.size(),
                                   counted({kept_.begin(), kept_.end()}), counted(left_over));
    constexpr std::size_t kMost = 5;
    for (std::size_t i = 0; i < (std::min)(notes_.size(), kMost); ++i) text += fmt::format("; {}", notes_[i]);
    if (notes_.size() > kMost) text += fmt::format("; {} more differences", notes_.size() - kMost);
    return text;
  }

  /// @throws NotFoundError if the checkpoint has no variable of the model, the step aside.
  void expect_a_variable() const {
    std::vector<std::string> lacked;
    for (const auto& [name, spec] : model_) {
      if (spec.kind != StateKind::Variable || name == step_ || left_out_.contains(name)) continue;
      if (lacking(name) == nullptr) return;
      lacked.push_back(name);
    }
    if (lacked.empty()) return;
    throw NotFoundError(
        "restore: checkpoint {} has no variable of the model: it has {}, and the model {}; say by `rename` what they "
        "are called here",
        path(), list_names(original_.names()), list_names(lacked));
  }

  [[nodiscard]] bool keeps_initial(std::string_view name) const override {
    return kept_.contains(name) || original_.keeps_initial(name);
  }

  [[nodiscard]] bool is_partial() const noexcept override { return original_.is_partial(); }

  [[nodiscard]] const std::string& path() const noexcept override { return original_.path(); }

  [[nodiscard]] std::optional<Entry> find(std::string_view name) const override {
    const std::string* const original = find_original(name);
    if (original == nullptr) return std::nullopt;
    std::optional<Entry> found = original_.find(*original);
    const StateSpec* const part = find_part(name);
    const StateSpec* const wanted = part != nullptr ? part : find_wanted(name);
    if (!found || wanted == nullptr) return found;
    if (rules_.cast && found->dtype != DType::Invalid) found->dtype = wanted->dtype;
    if (part == nullptr && rules_.reshape && !wanted->shape.compatible_with(found->shape))
      found->shape = initial_shape(*wanted);
    return found;
  }

  [[nodiscard]] Tensor read(std::string_view name) const override {
    Tensor value = original_.read(original_name(name));
    const StateSpec* wanted = find_wanted(name);
    if (wanted == nullptr) wanted = find_owner(name, value.shape());
    if (wanted == nullptr) return value;
    value = converted(*wanted, std::move(value));
    if (wanted->shape.compatible_with(value.shape())) return value;
    const Shape before = value.shape();
    const Tensor start = initial(*wanted);
    value = call_of_user("`reshape` of restore, for variable", wanted->name,
                         [&] { return rules_.reshape(wanted->name, value, start); });
    if (value.dtype() != wanted->dtype || value.shape() != start.shape()) {
      throw InvalidArgumentError(
          "restore: `reshape` made {}{} of variable '{}', which is {}{}; make that, or let it begin anew by `rename` = "
          "{{{{\"{}\", \"\"}}}}",
          value.dtype(), value.shape(), name, wanted->dtype, start.shape(), original_name(name));
    }
    note("'{}' has shape {} there and {} here: `reshape` made its value", name, before, value.shape());
    return value;
  }

  [[nodiscard]] Tensor read(std::string_view name, const TensorSlice& region) const override {
    const StateSpec* const part = find_part(name, &region);
    Tensor value = original_.read(original_name(name), region);
    return part != nullptr ? converted(*part, std::move(value)) : value;
  }

  void read_into(std::string_view name, const TensorSlice& region, std::span<std::byte> to) const override {
    if (rules_.cast) return CheckpointContents::read_into(name, region, to);
    static_cast<void>(find_part(name, &region));
    original_.read_into(original_name(name), region, to);
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

  // Of two names that would be the same here, the renamed one stays what it was if the model has that name: the rule
  // was followed before, and both were saved since.
  bool stays(const std::string& name, const std::string& here, Renaming& renaming) {
    const std::string other = originals_.at(here);
    for (const std::string& each : {other, name}) {
      if (each == here || find_wanted(each) == nullptr || !originals_.emplace(each, each).second) continue;
      originals_[here] = each == other ? name : other;
      renaming.take_back(each);
      return true;
    }
    return false;
  }

  void note_use(const std::vector<std::size_t>& used, const std::vector<std::string>& names, bool was_followed) {
    for (std::size_t i = 0; i < used.size(); ++i) {
      const std::string& before = rules_.rename[i].first;
      const std::string& after = rules_.rename[i].second;
      const char* const s = used[i] == 1 ? "" : "s";
      if (used[i] > 0 && after.empty()) {
        note("'{}' is left out, in {} name{}", before, used[i], s);
      } else if (used[i] > 0) {
        note("'{}' is '{}' here, in {} name{}", before, after, used[i], s);
      } else if (!was_followed) {
        throw InvalidArgumentError(
            "restore: no name in checkpoint {} begins with '{}', up to a '/', a '.' or its end, and `rename` replaces "
            "that; {}",
            path(), before, suggest_names({names.begin(), names.end()}, before));
      } else if (after.empty() ||
                 std::ranges::none_of(names, [&](const auto& name) { return find_parts(name, after, 0) == 0; })) {
        note("no name begins with '{}', which `rename` replaces", before);
      }
    }
  }

  // The name of the tensor that a piece of state lacks; null if it is there, or needs none.
  [[nodiscard]] const std::string* lacking(const std::string& name) const {
    if (originals_.contains(name)) return nullptr;
    const SaveSliceInfo* const slice = slices_.find(name);
    if (slice == nullptr) return &model_.find(name)->first;
    const bool is_empty = slice->is_own && std::ranges::count(slice->var_shape, 0) > 0;
    return is_empty || originals_.contains(slice->full_name) ? nullptr : &slice->full_name;
  }

  // If a rule allows it; a checkpoint of another model need not have the step and what is no variable.
  void keep(const StateSpec& spec, const std::string& whole) {
    const bool is_left_out = left_out_.contains(whole);
    const bool is_of_another = !rules_.from.empty() && (spec.name == step_ || spec.kind == StateKind::Auxiliary);
    if (rules_.missing == Missing::Fail && !is_left_out && !is_of_another) return;
    kept_.insert(spec.name);
    notes_of_kept_.push_back(
        slices_.is_own(spec.name)
            ? fmt::format("'{}', of which '{}' is a part, is not in it, and the part keeps its initial value", whole,
                          spec.name)
            : fmt::format("'{}' is {} and keeps its initial value", spec.name, is_left_out ? "left out" : "not in it"));
  }

  [[nodiscard]] const StateSpec* find_wanted(std::string_view name) const {
    const auto found = model_.find(name);
    return found == model_.end() ? nullptr : &found->second;
  }
  // The variable whose hook's value has another shape; null if it has that one, or nothing reshapes it.
  [[nodiscard]] const StateSpec* find_owner(std::string_view name, const Shape& shape) const {
    const auto owner = owners_.find(name);
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
  [[nodiscard]] const std::string* find_original(std::string_view name) const {
    const auto found = originals_.find(name);
    return found == originals_.end() ? nullptr : &found->second;
  }
  // To read.
  [[nodiscard]] std::string original_name(std::string_view name) const {
    const std::string* const original = find_original(name);
    return *read_.insert(original != nullptr ? *original : std::string(name)).first;
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
    const std::string loss =
        cast.rounded == 0
            ? "no number changed"
            : fmt::format("{} of {} numbers were rounded, {}", cast.rounded, value.num_elements(),
                          cast.largest_change < 1 ? fmt::format("by at most {:.1e} of their size", cast.largest_change)
                                                  : std::string("and those that are too small for it are 0 now"));
    note("'{}' is {} there and {} here: {}", wanted.name, value.dtype(), wanted.dtype, loss);
    return std::move(cast.values);
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("restore: variable '{}' of checkpoint {} cannot be converted: {}", wanted.name, path(),
                               error.what());
  }

  const CheckpointContents& original_;
  const RestoreRules& rules_;
  SessionRef session_;
  const Model& model_;
  std::map<std::string, std::string, std::less<>> originals_;  // the names there, by those here
  std::map<std::string, std::string, std::less<>> owners_;     // the variables of hooks' values, by the names here
  std::set<std::string, std::less<>> left_out_;
  std::set<std::string, std::less<>> kept_;  // of the model
  VariableSlices slices_;                    // parts are read as regions of the whole
  std::string step_;
  std::vector<std::string> notes_of_kept_;
  mutable std::vector<std::string> notes_;
  mutable std::set<std::string> read_;
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
               FunctionRef<void()> initialize) const override {
    FileSystem& file_system = saver.file_system();
    const CheckpointSource source(checkpoint_prefix(file_system, checkpoint.path()), checkpoint.format());
    const VariableSlices slices(session.graph());
    const auto original = source.open(saver.options().format, file_system, slices.files_of_restore());
    Model model;
    for (const StateSpec& spec : saver.chosen_state(session)) model.emplace(spec.name, spec);
    const bool begins = !rules_.from.empty();
    const bool was_followed = !begins && fits(*original, model, slices);
    const FittedContents fitted(*original, rules_, session, model, was_followed);
    if (begins && !original->is_partial()) fitted.expect_a_variable();
    if (!was_followed || !fitted.notes().empty()) initialize();
    saver.restore(session, fitted, !begins);
    if (original->is_partial()) return;
    const std::vector<std::string> left_over = saver.take_left_over();
    const std::vector<std::string> notes = fitted.notes();
    if (!begins && notes.empty() && left_over.empty()) return;
    log_info("{} {}: {}.", begins ? "Began with" : "Followed the rules of `restore` for", original->path(),
             fitted.summary(left_over));
    if (!directory.empty() && (begins || !notes.empty())) record(file_system, directory, original->path(), notes);
  }

 private:
  static void record(FileSystem& file_system, const std::string& directory, const std::string& from,
                     const std::vector<std::string>& notes) try {
    RunRecord record = read_run_record(file_system, directory).value_or(RunRecord());
    record.restored = fmt::format("from {}:", from);
    for (const std::string& note : notes) record.restored += fmt::format("{} {}", &note == &notes[0] ? "" : ";", note);
    write_run_record(file_system, directory, record);
  } catch (const Error& error) { log_warning("run.pbtxt does not say how the run began: {}", error); }

  // Whether the checkpoint is one of this model, and has no name from before.
  [[nodiscard]] bool fits(const CheckpointContents& contents, const Model& model, const VariableSlices& slices) const {
    for (const auto& [name, spec] : model) {
      const SaveSliceInfo* const slice = slices.find(name);
      if (slice != nullptr && (!slice->is_own || std::ranges::count(slice->var_shape, 0) > 0)) continue;
      const auto found = contents.find(slice != nullptr ? slice->full_name : name);
      if (!found && slice == nullptr && spec.kind == StateKind::Auxiliary) continue;
      if (!found || found->dtype != spec.dtype) return false;
      if (slice != nullptr ? found->shape != full_shape_of(*slice) : !spec.shape.compatible_with(found->shape))
        return false;
    }
    const auto in_model = [&model](const std::string& name) { return model.contains(name); };
    Renaming renaming(rules_.rename, in_model, false);
    return std::ranges::all_of(
        contents.names(), [&](const std::string& name) { return in_model(name) || renaming.name_here(name) == name; });
  }

  RestoreRules rules_;
};

}  // namespace trainhook::detail

namespace trainhook {

RestoreRules::operator std::shared_ptr<const RestorePolicy>() const {
  return std::make_shared<const detail::RulesPolicy>(*this);
}

}  // namespace trainhook
