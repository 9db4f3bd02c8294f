// SPDX-License-Identifier: Apache-2.0
/// @file
/// The one file of a program that compiles the library itself, as the README describes it for builds without CMake; it
/// also trains.
#include <trainhook/impl/src.hpp>

#include <trainhook/engine/impl/src.hpp>
#include <trainhook/media/impl/src.hpp>
#include <trainhook/model/impl/src.hpp>

#include "train_graph.cpp"
