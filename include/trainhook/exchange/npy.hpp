// SPDX-License-Identifier: Apache-2.0
/// @file
/// write_npy, read_npy: one tensor as a file of NumPy.
///
///     "\x93NUMPY" major:u8 minor:u8 length:u16 (major 1) or u32 (2, 3) header data
///
///     header   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, then spaces and a newline
///
/// Numbers are little-endian. The data begins at a multiple of 64 bytes in what this library writes.
#pragma once

#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

/// Writes a tensor as `numpy.save` does, byte for byte, and replaces a file of that format as a whole. The directory
/// must exist.
/// @throws InvalidArgumentError for texts and bfloat16, which NumPy lacks, FailedPreconditionError if a file of that
/// name is no file of NumPy; otherwise as FileSystem. After an error there is no new file.
TRAINHOOK_DECL void write_npy(FileSystem& file_system, const std::string& path, const Tensor& tensor);
inline void write_npy(const std::string& path, const Tensor& tensor) { write_npy(posix_file_system(), path, tensor); }

/// Reads what `numpy.save` wrote. An array in Fortran's order, in which Julia and R write, gets the order of C++: its
/// shape stays, its elements move.
/// @throws NotFoundError, DataLossError for a damaged file, UnimplementedError, which says what to do, for elements
/// that tensors lack or that are big-endian.
[[nodiscard]] TRAINHOOK_DECL Tensor read_npy(FileSystem& file_system, const std::string& path);
[[nodiscard]] inline Tensor read_npy(const std::string& path) { return read_npy(posix_file_system(), path); }

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/exchange/impl/npy.ipp>
#endif
