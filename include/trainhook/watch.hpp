// SPDX-License-Identifier: Apache-2.0
/// @file
/// The module that watches a run: its time and speed, whether it hangs, and its state for Prometheus.
#pragma once

#include <trainhook/watch/prometheus_textfile_hook.hpp>
#include <trainhook/watch/throughput_hook.hpp>
#include <trainhook/watch/time_limit_hook.hpp>
#include <trainhook/watch/watchdog_hook.hpp>
