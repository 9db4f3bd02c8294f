// SPDX-License-Identifier: Apache-2.0
/// @file
/// What tests include, compiled once: half of the time that they would take otherwise. A test still includes what it
/// uses.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <complex>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/checkpoint/tensor_bundle.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/feed_fn_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/step_counter_hook.hpp>
#include <trainhook/hooks/summary_saver_hook.hpp>
#include <trainhook/testing.hpp>
#include <trainhook/trainhook.hpp>
