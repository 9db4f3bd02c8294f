// SPDX-License-Identifier: Apache-2.0
/// @file
/// A precompiled header needs a source to belong to; the test programs reuse this one's.
