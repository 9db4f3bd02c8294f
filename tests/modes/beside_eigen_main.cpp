// SPDX-License-Identifier: Apache-2.0
/// @file
/// The program around beside_eigen.cpp, which may be in a shared library.
int beside_eigen();

int main() { return beside_eigen(); }
