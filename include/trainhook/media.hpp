// SPDX-License-Identifier: Apache-2.0
/// @file
/// All of media/: PNG, WAV, gzip and IDX files, Fashion-MNIST, summaries of images and audio.
#pragma once

#include <trainhook/media/batch_summary.hpp>
#include <trainhook/media/gzip.hpp>
#include <trainhook/media/loop_summaries.hpp>
#include <trainhook/media/mnist.hpp>
#include <trainhook/media/png.hpp>
#include <trainhook/media/wav.hpp>
