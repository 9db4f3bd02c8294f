// SPDX-License-Identifier: Apache-2.0
/// @file
/// The module for files of others: safetensors, and NumPy's .npy.
#pragma once

#include <trainhook/exchange/npy.hpp>
#include <trainhook/exchange/safetensors_exporter.hpp>
#include <trainhook/exchange/safetensors_reader.hpp>
#include <trainhook/exchange/write_safetensors.hpp>
