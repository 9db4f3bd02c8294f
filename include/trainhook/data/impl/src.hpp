// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of data/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/data/impl/background_input.ipp>
#include <trainhook/data/impl/batch.ipp>
#include <trainhook/data/impl/dataset.ipp>
#include <trainhook/data/impl/dataset_iterator.ipp>
#include <trainhook/data/impl/dataset_node.ipp>
#include <trainhook/data/impl/element.ipp>
#include <trainhook/data/impl/file_sources.ipp>
#include <trainhook/data/impl/functional.ipp>
#include <trainhook/data/impl/interleave.ipp>
#include <trainhook/data/impl/iterator.ipp>
#include <trainhook/data/impl/iterator_resource.ipp>
#include <trainhook/data/impl/iterator_state.ipp>
#include <trainhook/data/impl/loop_iterator.ipp>
#include <trainhook/data/impl/parallel_map.ipp>
#include <trainhook/data/impl/prefetch.ipp>
#include <trainhook/data/impl/selection.ipp>
#include <trainhook/data/impl/shuffle.ipp>
#include <trainhook/data/impl/sources.ipp>
