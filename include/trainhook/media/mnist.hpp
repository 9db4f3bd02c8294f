// SPDX-License-Identifier: Apache-2.0
/// @file
/// IDX files, the format of MNIST and Fashion-MNIST, plain or compressed with gzip. fashion_mnist: the latter as a
/// dataset with random access, kept as bytes and converted to floats per batch.
#pragma once

#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

/// Reads the tensor in an IDX file: `uint8`, of the shape in its header. The header is checked before memory is
/// allocated.
/// @throws NotFoundError, DataLossError (foreign, truncated or damaged) or UnimplementedError (other element types),
/// naming the file.
[[nodiscard]] TRAINHOOK_DECL Tensor read_idx_file(FileSystem& file_system, const std::string& path);

/// A part of a data set.
enum class Split { Train, Test };

/// Images as `uint8` [n, 28, 28] and labels, 0 to 9, as `uint8` [n].
struct FashionMnist {
  Tensor images;
  Tensor labels;
};

/// The directory of the Fashion-MNIST files: the environment variable `FASHION_MNIST_DIR`, or the directory of Debian's
/// package.
/// @throws NotFoundError, which says how to install them.
[[nodiscard]] TRAINHOOK_DECL std::string fashion_mnist_directory(FileSystem& file_system = posix_file_system());

/// Reads images and labels of one split. @throws NotFoundError or DataLossError, naming the file.
[[nodiscard]] TRAINHOOK_DECL FashionMnist load_fashion_mnist(Split split, const std::string& directory,
                                                             FileSystem& file_system = posix_file_system());

[[nodiscard]] inline FashionMnist load_fashion_mnist(Split split) {
  return load_fashion_mnist(split, fashion_mnist_directory());
}

/// One split of Fashion-MNIST in the order of its files. An element is an image, float32 [784] in [0, 1], and a label,
/// int64 from 0 to 9.
/// @throws NotFoundError or DataLossError, naming the file.
[[nodiscard]] TRAINHOOK_DECL Dataset fashion_mnist(const std::string& directory, Split split,
                                                   FileSystem& file_system = posix_file_system());
/// The same from the directory in which it is installed.
[[nodiscard]] inline Dataset fashion_mnist(Split split) { return fashion_mnist(fashion_mnist_directory(), split); }

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/media/impl/mnist.ipp>
#endif
