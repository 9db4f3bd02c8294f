// SPDX-License-Identifier: Apache-2.0
/// @file
/// All test doubles for hooks, loops and files: a manual clock, disks in memory, failing disks, faults of processes,
/// scripted sessions, and recorders of callbacks, log lines and events.
#pragma once

#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_disk.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/process_faults.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/testing/recording_writer.hpp>
#include <trainhook/testing/resume_auditor.hpp>
#include <trainhook/testing/run_steps.hpp>
#include <trainhook/testing/scripted_session.hpp>
