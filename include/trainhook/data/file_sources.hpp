// SPDX-License-Identifier: Apache-2.0
/// @file
/// Datasets of text files and TFRecord files. A saved position can be restored if the files have the same order, names
/// and sizes, in whatever folder they are now.
#pragma once

#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

/// The lines of text files as string scalars, without newlines. A file is opened when the iterator reaches it, from the
/// directory that is current now. `file_system` must outlive every iterator.
[[nodiscard]] TRAINHOOK_DECL Dataset text_line_dataset(std::vector<std::string> paths,
                                                       FileSystem& file_system = posix_file_system());

/// The records of TFRecord files as string scalars. A wrong checksum or a truncated record is a DataLossError that
/// names file and offset. `file_system` must outlive every iterator.
[[nodiscard]] TRAINHOOK_DECL Dataset tf_record_dataset(std::vector<std::string> paths,
                                                       FileSystem& file_system = posix_file_system());

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/file_sources.ipp>
#endif
