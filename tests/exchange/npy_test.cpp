// SPDX-License-Identifier: Apache-2.0
/// @file
/// Files of NumPy: its bytes, its versions and orders, and damaged ones. tests/interop compares more with NumPy.
#include <trainhook/exchange/npy.hpp>

#include <complex>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "damage.hpp"
#include "expect_error.hpp"

namespace trainhook {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using testing::FaultyFileSystem;
using ::testing::HasSubstr;
using testing::MemoryFileSystem;

std::string npy_file(std::string_view header, std::string_view data) {
  return fmt::format("\x93NUMPY\1{}{}{}{}{}", '\0', static_cast<char>(header.size()),
                     static_cast<char>(header.size() >> 8), header, data);
}

Tensor read(std::string file) {
  MemoryFileSystem disk;
  disk.write_file("a.npy", std::move(file));
  return read_npy(disk, "a.npy");
}

std::string complaint(std::string file) {
  try {
    static_cast<void>(read(std::move(file)));
  } catch (const Error& error) { return error.to_string(); }
  return "none";
}

TEST(Npy, WritesTheBytesOfNumPy) {
  MemoryFileSystem disk;
  write_npy(disk, "a.npy", Tensor::of<float>({1, 2}));
  EXPECT_EQ(disk.contents("a.npy"),
            npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }" + std::string(60, ' ') + "\n",
                     std::string_view("\0\0\x80\x3f\0\0\0\x40", 8)));
}

TEST(Npy, ReadsBackEveryDtypeOfNumPy) {
  using enum DType;
  for (const DType dtype :
       {Bool, Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Half, Float, Double, Complex64, Complex128}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 2}, Shape{1, 1, 1, 1, 1, 1, 1, 2}}) {
      MemoryFileSystem disk;
      Tensor tensor(dtype, shape);
      if (!tensor.mutable_bytes().empty()) tensor.mutable_bytes()[0] = std::byte{1};
      write_npy(disk, "a.npy", tensor);
      EXPECT_EQ(read_npy(disk, "a.npy"), tensor) << fmt::format("{}{}", dtype, shape);
    }
  }
}

TEST(Npy, RefusesToWriteWhatNumPyLacks) {
  MemoryFileSystem disk;
  expect_error({"the tensor is bfloat16", "write a safetensors file"},
               [&] { write_npy(disk, "a.npy", Tensor(BFloat16{})); });
  expect_error({"the tensor is string"}, [&] { write_npy(disk, "a.npy", Tensor("text")); });
  disk.write_file("b.npy", "no file of NumPy");
  expect_error<FailedPreconditionError>({"b.npy is not replaced"}, [&] { write_npy(disk, "b.npy", Tensor(1.0F)); });
}

TEST(Npy, ReadsTheOrderOfFortran) {
  EXPECT_EQ(read(npy_file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "adbecf")),
            Tensor::of<std::uint8_t>({'a', 'b', 'c', 'd', 'e', 'f'}, {2, 3}));
  const Tensor deep = read(npy_file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2), }", "01234567"));
  EXPECT_EQ(deep, Tensor::of<std::uint8_t>({'0', '4', '2', '6', '1', '5', '3', '7'}, {2, 2, 2}));
  EXPECT_EQ(read(npy_file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 0), }", "")),
            Tensor(DType::UInt8, Shape{2, 0}));
}

TEST(Npy, ReadsHeadersOfOtherWriters) {
  const Tensor expected = Tensor::of<std::uint8_t>({'a', 'b'}, {1, 2});
  for (const std::string_view header : {"{'shape': (1, 2), 'fortran_order': False, 'descr': '|u1'}",
                                        "{\"descr\":\"|u1\",\"fortran_order\":False,\"shape\":(1,2,)}  \n",
                                        "{'descr': '|u1', 'fortran_order': False, 'shape': (1L, 2L), }"})
    EXPECT_EQ(read(npy_file(header, "ab")), expected) << header;
}

TEST(Npy, SaysWhatToDoAboutElementsThatTensorsLack) {
  const auto with = [](std::string_view descr) {
    return complaint(
        npy_file(fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': (1,), }}", descr), "12345678"));
  };
  for (const std::string_view descr : {"'>f4'", "'|S8'", "'|O'", "'<U2'", "'|V2'", "'<M8[ns]'"})
    EXPECT_THAT(with(descr), HasSubstr("Unimplemented: a.npy has elements")) << descr;
  EXPECT_THAT(with("'>f4'"), HasSubstr("numpy.save(path, array.astype('<f4'))"));
  EXPECT_THAT(with("'>i8'"), HasSubstr("numpy.save(path, array.astype('<i8'))"));
  EXPECT_THAT(with("[('a', '<f4'), ('b', '<f4')]"), HasSubstr("a.npy has elements of several fields"));
}

TEST(Npy, NamesWhatIsDamaged) {
  const auto with = [](std::string_view shape) {
    return complaint(npy_file(fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': {}, }}", shape), "ab"));
  };
  EXPECT_EQ(with("(2,)"), "none");
  EXPECT_THAT(with("(3,)"), HasSubstr("uint8[3] does not have 2 bytes"));
  EXPECT_THAT(with("(1,)"), HasSubstr("uint8[1] does not have 2 bytes"));
  EXPECT_THAT(with("(-2,)"), HasSubstr("something that is no number"));
  EXPECT_THAT(with("(a,)"), HasSubstr("something that is no number"));
  EXPECT_THAT(with("2"), HasSubstr("lacks a '('"));
  EXPECT_THAT(with("(2 3)"), HasSubstr("its shape lacks a comma"));
  EXPECT_THAT(with("(99999999999999999999,)"), HasSubstr("more than 63 bits"));
  EXPECT_THAT(with("(4294967296, 4294967296)"), HasSubstr("more elements than 63 bits"));
  EXPECT_THAT(with("(0, 4294967296, 4294967296)"), HasSubstr("more elements than 63 bits"));
  EXPECT_THAT(with("(1, 1, 1, 1, 1, 1, 1, 1, 2)"), HasSubstr("more than 8 dimensions"));
  for (const std::string_view header :
       {"", "{", "{}", "{'descr': '|u1'}", "{'descr': '|u1', 'descr': '|u1'}", "{'other': 1}", "{'descr: 1}",
        "{'descr' '|u1'}", "{'descr': '|u1', 'fortran_order': None, 'shape': (2,)}",
        "{'descr': '|u1' 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)} x"})
    EXPECT_THAT(complaint(npy_file(header, "ab")), HasSubstr("DataLoss: a.npy is damaged or no file of NumPy"))
        << header;
  EXPECT_THAT(complaint(npy_file("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", "\1\2")),
              HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(complaint(""), HasSubstr("a.npy is no file of NumPy of version 1 to 3"));
  EXPECT_THAT(complaint(std::string("\x93NUMPY\4\0", 8) + std::string(90, ' ')), HasSubstr("version 1 to 3"));
  EXPECT_THAT(complaint(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12)),
              HasSubstr("its header would have 4294967295 bytes"));
}

TEST(Npy, RefusesOrReadsADamagedFile) {
  testing::expect_refused_or_read(npy_file("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }", "12345678"),
                                  "a.npy", read);
}

TEST(Npy, LeavesTheOldFileOrTheNewOneAfterEachFailure) {
  MemoryFileSystem disk;
  const Tensor before(1.0F), after(2.0F);
  for (std::uint64_t n = 1; n < 20; ++n) {
    write_npy(disk, "a.npy", before);
    FaultyFileSystem faulty(disk);
    faulty.fail_at(n);
    try {
      write_npy(faulty, "a.npy", after);
    } catch (const Error&) {}
    EXPECT_THAT(disk.files(), ElementsAre("a.npy"));
    const Tensor found = read_npy(disk, "a.npy");
    EXPECT_TRUE(found == before || found == after);
  }
}

}  // namespace
}  // namespace trainhook
