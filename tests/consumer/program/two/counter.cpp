// SPDX-License-Identifier: Apache-2.0
/// @file
/// A program that uses the library of count.cpp.
int count();

int main() { return count() == 3 ? 0 : 1; }
