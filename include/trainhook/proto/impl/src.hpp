// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of proto/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/proto/impl/message_text.ipp>
#include <trainhook/proto/impl/shared_messages.ipp>
#include <trainhook/proto/impl/text_proto.ipp>
#include <trainhook/proto/impl/wire.ipp>
