// SPDX-License-Identifier: Apache-2.0
/// @file
/// fashion_mnist: Fashion-MNIST as a dataset with random access, kept as bytes and converted to floats per batch.
#pragma once

#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/media/idx.hpp>

namespace trainhook {

/// One split of Fashion-MNIST in the order of its files. An element is an image, float32 [784] in [0, 1], and a label,
/// int64 from 0 to 9.
/// @throws NotFoundError or DataLossError, naming the file.
[[nodiscard]] TRAINHOOK_DECL Dataset fashion_mnist(const std::string& directory, Split split,
                                                   FileSystem& file_system = posix_file_system());
/// The same from the directory in which it is installed.
[[nodiscard]] inline Dataset fashion_mnist(Split split) { return fashion_mnist(fashion_mnist_directory(), split); }

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/media/impl/fashion_mnist.ipp>
#endif
