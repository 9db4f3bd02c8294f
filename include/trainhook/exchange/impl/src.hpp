// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of exchange/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/exchange/impl/npy.ipp>
#include <trainhook/exchange/impl/safetensors_exporter.ipp>
#include <trainhook/exchange/impl/safetensors_format.ipp>
#include <trainhook/exchange/impl/safetensors_reader.ipp>
#include <trainhook/exchange/impl/strict_json.ipp>
#include <trainhook/exchange/impl/write_safetensors.ipp>
