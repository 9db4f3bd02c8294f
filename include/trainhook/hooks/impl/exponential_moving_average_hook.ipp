// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/exponential_moving_average_hook.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/real_numbers.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

template <class T, class Value>
void move_towards(std::span<T> averages, std::span<const Value> values, double decay) noexcept {
  for (std::size_t i = 0; i < averages.size(); ++i)
    averages[i] -= static_cast<T>(1 - decay) * (averages[i] - static_cast<T>(values[i]));  // as TensorFlow's assign_sub
}

inline Tensor in_dtype(const Tensor& numbers, DType dtype) {
  if (numbers.dtype() == dtype) return numbers;
  Tensor others(dtype, numbers.shape());
  cast_floats(numbers, 0, dtype, others.mutable_bytes());
  return others;
}

inline void move_towards(NamedTensor& average, const Tensor& value, double decay) {
  if (average.tensor.shape() != value.shape()) {
    throw FailedPreconditionError(
        "ExponentialMovingAverageHook: variable '{}' has changed its shape from {} to {}; let `variables` name only "
        "others, or register it with trainable = false",
        average.name, average.tensor.shape(), value.shape());
  }
  switch (value.dtype()) {
    case DType::Double: return move_towards(average.tensor.mutable_data<double>(), value.data<double>(), decay);
    case DType::Half: return move_towards(average.tensor.mutable_data<float>(), value.data<Half>(), decay);
    case DType::BFloat16: return move_towards(average.tensor.mutable_data<float>(), value.data<BFloat16>(), decay);
    default: return move_towards(average.tensor.mutable_data<float>(), value.data<float>(), decay);
  }
}

/// What an average of such numbers is kept in: half and bfloat16 would lose most of its small steps.
inline DType wide(DType dtype) noexcept { return dtype == DType::Double ? DType::Double : DType::Float; }

inline std::string average_entry(const std::string& variable) { return fmt::format("average/{}", variable); }

/// A part has the name of its tensor and says where it is, so that another cut finds it.
inline std::string average_entry(const Variable& variable) {
  const SaveSliceInfo* const slice = variable.save_slice_info.get();
  return slice == nullptr || std::ranges::count(slice->var_shape, 0) > 0
             ? average_entry(variable.name())
             : fmt::format("{}{}/{}", kPartOfTensor, slice->full_name, slice->spec());
}

/// The average of a variable, put together from parts of its tensor; nothing if they do not cover it.
inline std::optional<Tensor> average_of_parts(const StateValues& saved, const SaveSliceInfo& slice, DType dtype) {
  if (slice.var_shape.empty() || std::ranges::count(slice.var_shape, 0) > 0) return std::nullopt;
  const Shape full = full_shape_of(slice);
  const TensorSlice region = region_of(slice).within(full);
  const std::string spec = slice.spec();
  const std::string whole = average_entry(slice.full_name);
  const std::string beginning =
      fmt::format("{}{}/{}", kPartOfTensor, slice.full_name, spec.substr(0, spec.rfind(' ') + 1));
  Tensor average(dtype, region.shape_in(full));
  std::int64_t missing = average.num_elements();
  for (const NamedTensor& entry : saved.entries()) {
    const bool is_whole = entry.name == whole;
    if ((!is_whole && !entry.name.starts_with(beginning)) || !is_floating(entry.tensor.dtype())) continue;
    const TensorSlice part = (is_whole ? TensorSlice::all_of(full.rank())
                                       : TensorSlice::parse(std::string_view(entry.name).substr(beginning.size())))
                                 .within(full);
    const std::optional<TensorSlice> shared = intersection(part, region);
    if (!shared || part.shape_in(full) != entry.tensor.shape()) continue;
    const Tensor numbers = in_dtype(entry.tensor, dtype);
    copy_shared(numbers.bytes(), part, average.mutable_bytes(), region, dtype_size(dtype));
    missing -= shared->shape_in(full).num_elements();
  }
  return missing == 0 ? std::optional(average) : std::nullopt;
}

/// The saved average of a variable with this value; nothing if there is none.
inline std::optional<Tensor> average_of(const StateValues& saved, const Tensor* entry, const Variable& variable,
                                        const Tensor& value) {
  const DType dtype = wide(value.dtype());
  const SaveSliceInfo* const slice = variable.save_slice_info.get();
  if (slice != nullptr)
    if (auto average = average_of_parts(saved, *slice, dtype)) return average;
  // By its own name: of a part, too, as an earlier version saved it.
  if (entry != nullptr && is_floating(entry->dtype()) && entry->shape() == value.shape())
    return in_dtype(*entry, dtype);
  if (slice != nullptr) return std::nullopt;
  const auto dims = value.shape().dims();
  const std::vector<std::int64_t> shape(dims.begin(), dims.end());
  return average_of_parts(saved,
                          {.full_name = variable.name(),
                           .full_shape = shape,
                           .var_offset = std::vector<std::int64_t>(shape.size()),
                           .var_shape = shape},
                          dtype);
}

/// The variables to average. @throws InvalidArgumentError for a name of none.
inline std::vector<Variable> averaged_variables(const Graph& graph, const std::vector<std::string>& names) {
  if (names.empty()) {
    std::vector<Variable> all = trainable_variables(graph);
    std::erase_if(all, [](const Variable& one) { return !is_floating(one.dtype()); });
    if (!all.empty()) return all;
    throw InvalidArgumentError(
        "ExponentialMovingAverageHook: there is no trainable variable of a floating-point dtype to average");
  }
  std::vector<Variable> chosen;
  std::unordered_map<std::string, Variable> all;
  for (const Variable& variable : global_variables(graph)) all.emplace(variable.name(), variable);
  for (const std::string& name : names) {
    const auto found = all.find(name);
    if (found == all.end())
      throw InvalidArgumentError("ExponentialMovingAverageHook: there is no variable '{}' to average", name);
    const Variable& variable = found->second;
    if (!is_floating(variable.dtype())) {
      throw InvalidArgumentError(
          "ExponentialMovingAverageHook: variable '{}' is {}, and only numbers of a "
          "floating-point dtype have averages",
          name, variable.dtype());
    }
    chosen.push_back(variable);
  }
  return chosen;
}

}  // namespace trainhook::detail

namespace trainhook {

ExponentialMovingAverageHook::Swapped::Swapped(SessionRef session, const std::vector<NamedTensor>& averages)
    : session_(session) {
  std::vector<std::string> names;
  for (const NamedTensor& average : averages) names.push_back(average.name);
  values_ = session_.snapshot(names);
  std::vector<NamedTensor> in_their_dtypes = averages;
  for (std::size_t i = 0; i < values_.size(); ++i)
    in_their_dtypes[i].tensor = detail::in_dtype(averages[i].tensor, values_[i].tensor.dtype());
  session_.load(in_their_dtypes);
}

ExponentialMovingAverageHook::Swapped::~Swapped() {
  try {
    session_.load(values_);
  } catch (...) {
    log_error(
        "ExponentialMovingAverageHook: "
        "the variables still hold their averages, because their values could not be put back: {}",
        describe(std::current_exception()));
  }
}

ExponentialMovingAverageHook::ExponentialMovingAverageHook(Options options) : options_(std::move(options)) {
  if (!(options_.decay >= 0 && options_.decay < 1)) {
    throw InvalidArgumentError("ExponentialMovingAverageHook: decay is {}; it must be at least 0 and below 1",
                               options_.decay);
  }
}

ExponentialMovingAverageHook::ExponentialMovingAverageHook(ExponentialMovingAverageHook&& other) noexcept = default;
ExponentialMovingAverageHook::~ExponentialMovingAverageHook() = default;

ExponentialMovingAverageHook::Swapped ExponentialMovingAverageHook::use_averages() const {
  if (!session_.has_value() || averages_.empty()) {
    throw FailedPreconditionError(
        "ExponentialMovingAverageHook: there are no averages before the session is created; call use_averages in a "
        "callback of a hook");
  }
  return {session_, averages_};
}

void ExponentialMovingAverageHook::begin(Graph& graph) {
  variables_ = detail::averaged_variables(graph, options_.variables);
  names_.clear();
  for (const Variable& variable : variables_) names_.push_back(variable.name());
  averages_.clear();
  updates_ = 0;
  loaded_ = {};
}

void ExponentialMovingAverageHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  session_ = session;
  const StateValues saved = std::exchange(loaded_, {});
  const Tensor* const updates = saved.find("updates");
  updates_ = updates != nullptr ? updates->scalar<std::int64_t>() : 0;
  averages_ = session.snapshot(names_);
  std::unordered_map<std::string_view, const Tensor*> entries;
  for (const NamedTensor& entry : saved.entries()) entries.emplace(entry.name, &entry.tensor);
  std::vector<std::string> fresh;
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    Tensor& value = averages_[i].tensor;
    const auto entry = entries.find(detail::average_entry(names_[i]));
    const std::optional<Tensor> average =
        detail::average_of(saved, entry == entries.end() ? nullptr : entry->second, variables_[i], value);
    if (!average && !saved.empty() && value.num_elements() > 0) fresh.push_back(names_[i]);
    value = average ? *average : detail::in_dtype(value, detail::wide(value.dtype()));
  }
  if (fresh.empty()) return;
  log_warning(
      "ExponentialMovingAverageHook: the checkpoint has no average of {} of {} variables in their shapes, '{}' for "
      "example; those start from the present values",
      fresh.size(), names_.size(), fresh.front());
}

void ExponentialMovingAverageHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  ++updates_;
  const double n = static_cast<double>(updates_);
  const double decay = options_.warm_up ? (std::min)(options_.decay, (1 + n) / (10 + n)) : options_.decay;
  const std::vector<NamedTensor> values = context.session().snapshot(names_);
  for (std::size_t i = 0; i < averages_.size(); ++i) detail::move_towards(averages_[i], values[i].tensor, decay);
}

StateValues ExponentialMovingAverageHook::save_state() {
  StateValues state;
  if (averages_.empty()) return state;
  state.set("updates", Tensor(updates_));
  for (std::size_t i = 0; i < averages_.size(); ++i)
    state.set(detail::average_entry(variables_[i]), averages_[i].tensor);
  return state;
}

void ExponentialMovingAverageHook::load_state(const StateValues& state) { loaded_ = state; }

}  // namespace trainhook
