// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of io/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/io/impl/crc32c.ipp>
#include <trainhook/io/impl/failure.ipp>
#include <trainhook/io/impl/file_system.ipp>
#include <trainhook/io/impl/path.ipp>
#include <trainhook/io/impl/posix_file.ipp>
#include <trainhook/io/impl/posix_file_system.ipp>
#include <trainhook/io/impl/posix_stream.ipp>
#include <trainhook/io/impl/process_identity.ipp>
#include <trainhook/io/impl/random_number.ipp>
#include <trainhook/io/impl/records.ipp>
#include <trainhook/io/impl/tables.ipp>
#include <trainhook/io/impl/whole_file.ipp>
