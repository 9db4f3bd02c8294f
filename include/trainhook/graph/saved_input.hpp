// SPDX-License-Identifier: Apache-2.0
/// @file
/// SavedInput: an input of a graph whose position can be saved. ExternalStatePolicy: what to do if it has state that no
/// checkpoint can contain.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>

namespace trainhook {

class Graph;

/// Tells whether a save throws, logs a warning or does nothing if a pipeline has state that cannot be saved with it, as
/// in `tf.data`.
enum class ExternalStatePolicy { Fail, Warn, Ignore };

namespace detail {

/// An item of the collection `saved_inputs`. The session has its position as state of kind `Input`.
struct SavedInput {
  std::string name{};                                          ///< of the iterator
  std::function<std::vector<std::string>()> external_state{};  ///< descriptions of what no checkpoint can contain

  /// Applies `policy` to such state: `Warn` logs it. @throws FailedPreconditionError, naming iterator and stage, for
  /// `Fail`.
  TRAINHOOK_DECL void check_external_state(ExternalStatePolicy policy, std::string_view who) const;
};

inline constexpr std::string_view kSavedInputs = "saved_inputs";

/// The collection for the names of such state, as std::string, that the saver of the model takes, too.
inline constexpr std::string_view kInputsWithModel = "inputs_with_model";

/// The collection for the ExternalStatePolicy that applies when a session is saved.
inline constexpr std::string_view kExternalStatePolicies = "external_state_policies";

/// The last policy in that collection, or `Fail`.
[[nodiscard]] TRAINHOOK_DECL ExternalStatePolicy external_state_policy(const Graph& graph);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/saved_input.ipp>
#endif
