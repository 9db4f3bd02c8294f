// SPDX-License-Identifier: Apache-2.0
/// @file
/// The entry points of libFuzzer. With the environment variable FUZZ_SEEDS, which names a folder, the program writes
/// its seeds there and ends.
#include "fuzz.hpp"

#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>
#include <trainhook/core/log.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>

#include "data_files.hpp"

namespace th = trainhook;

std::string fuzz::data_file(std::string_view name) {
  return th::read_file(th::posix_file_system(), th::testing::data_file(name));
}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  th::set_log_sink([](th::LogLevel, std::string_view) {});
  const char* const folder = std::getenv("FUZZ_SEEDS");
  if (folder == nullptr) return 0;
  th::FileSystem& disk = th::posix_file_system();
  disk.make_directories(folder);
  int number = 0;
  for (const std::string& seed : fuzz::seeds())
    th::write_file_atomically(disk, th::join_path(folder, fmt::format("seed{}", number++)), seed);
  std::exit(0);
}

// An InternalError says that the library is wrong, not the file: it ends the fuzzer, as does whatever is no Error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    fuzz::read(fuzz::Input({reinterpret_cast<const char*>(data), size}));
  } catch (const th::InternalError&) { throw; } catch (const th::Error&) {
    return 0;  // refused
  }
  return 0;
}
