// SPDX-License-Identifier: Apache-2.0
/// @file
/// Input pipelines: datasets, iterators of loops and graphs, and the position of an iterator as part of a checkpoint.
#pragma once

#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
