// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of testing/, for the one file of a program that compiles them itself.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/testing/impl/faulty_file_system.ipp>
#include <trainhook/testing/impl/log_lines.ipp>
#include <trainhook/testing/impl/manual_clock.ipp>
#include <trainhook/testing/impl/memory_disk.ipp>
#include <trainhook/testing/impl/memory_file_system.ipp>
#include <trainhook/testing/impl/process_faults.ipp>
#include <trainhook/testing/impl/recording_hook.ipp>
#include <trainhook/testing/impl/recording_writer.ipp>
#include <trainhook/testing/impl/resume_auditor.ipp>
#include <trainhook/testing/impl/run_steps.ipp>
#include <trainhook/testing/impl/scripted_session.ipp>
