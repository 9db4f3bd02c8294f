// SPDX-License-Identifier: Apache-2.0
/// @file
/// What only the machine's own disk can show: the system's errors, and their way out.
#include <trainhook/io/posix_file_system.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <temporary_folder.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/process_faults.hpp>

namespace trainhook {
namespace {

TEST(PosixFileSystem, ErrorsNamePathOperationAndWayOut) {
  try {
    static_cast<void>(posix_file_system().open_readable("/no/such/file"));
    FAIL();
  } catch (const NotFoundError& error) {
    EXPECT_STREQ(error.what(),
                 "cannot open /no/such/file: No such file or directory (check the path and that its directory exists)");
  }
}

TEST(PosixFileSystem, AFullDeviceIsReportedAndCutBack) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  const std::unique_ptr<WritableFile> file = posix_file_system().create_writable("/dev/full", WriteMode::Truncate);
  EXPECT_THROW(file->append("x"), ResourceExhaustedError);
  EXPECT_EQ(file->size(), 0u);
  EXPECT_THROW(file->append("x"), Error);
}

TEST(PosixFileSystem, ReservedSpaceIsThereButNotInTheFile) {
  const support::TemporaryFolder folder;
  const std::string path = folder.file("reserved");
  const auto bytes_on_disk = [&] {
    struct ::stat status = {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_blocks * 512;
  };
  const std::unique_ptr<WritableFile> file = posix_file_system().create_writable(path, WriteMode::Exclusive);
  file->reserve(1 << 20);
  EXPECT_EQ(posix_file_system().file_size(path), 0U);
  if (bytes_on_disk() == 0) GTEST_SKIP() << "this file system reserves nothing";
  EXPECT_GE(bytes_on_disk(), 1 << 20);
  EXPECT_THROW(file->reserve(std::uint64_t{1} << 62), ResourceExhaustedError);
  file->append("abc");
  file->sync();
  EXPECT_EQ(posix_file_system().file_size(path), 3U);
  EXPECT_LT(bytes_on_disk(), 1 << 20) << "what was not needed is given back";
}

TEST(PosixFileSystem, APrivateFileIsForItsUserOnlyAndMustNotExist) {
  const support::TemporaryFolder folder;
  const std::string path = folder.file("private");
  static_cast<void>(posix_file_system().create_writable(path, WriteMode::Private));
  struct ::stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_THROW(static_cast<void>(posix_file_system().create_writable(path, WriteMode::Private)), AlreadyExistsError);
}

/// Two ends of a pipe that has a name.
std::string make_pipe(const support::TemporaryFolder& folder) {
  std::string path = folder.file("pipe");
  if (::mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("no pipe could be made");
  return path;
}

TEST(PosixFileSystem, APipeIsAppendedToWhileItHasAReaderAndNobodyWaitsForOne) {
  const support::TemporaryFolder folder;
  const std::string pipe = make_pipe(folder);
  PosixFileSystem disk;
  EXPECT_EQ(disk.resolve(pipe).kind, PathKind::Stream);
  EXPECT_THROW(static_cast<void>(disk.open_readable(pipe)), FailedPreconditionError) << "no writer";
  EXPECT_THROW(static_cast<void>(disk.open_appendable(pipe)), FailedPreconditionError) << "no reader";
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  const std::unique_ptr<WritableFile> file = disk.open_appendable(pipe);
  file->append("row");
  file->sync();
  std::string text(3, ' ');
  EXPECT_EQ(::read(reader, text.data(), text.size()), 3);
  EXPECT_EQ(text, "row");
  EXPECT_EQ(file->size(), 3U);
  ::close(reader);
  EXPECT_THROW(file->append("row"), FailedPreconditionError) << "and no SIGPIPE";
  EXPECT_THROW(file->append("row"), FailedPreconditionError);
}

TEST(PosixFileSystem, AnOpenFileOfTheProcessIsWrittenWhereItStands) {
  if (!std::filesystem::exists("/proc/self/fd")) GTEST_SKIP() << "this system has no /proc";
  const support::TemporaryFolder folder;
  const int output = ::open(folder.file("out").c_str(), O_WRONLY | O_CREAT, 0600);
  const std::string link = folder.file("link");
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(output), link);
  EXPECT_EQ(posix_file_system().resolve(link).kind, PathKind::Stream) << "also if it is a file, as after `>out`";
  EXPECT_EQ(::write(output, "one ", 4), 4);
  posix_file_system().open_appendable(link)->append("two ");
  EXPECT_EQ(::write(output, "three", 5), 5);
  ::close(output);
  EXPECT_EQ(read_file(posix_file_system(), folder.file("out")), "one two three");
}

TEST(PosixFileSystem, ASocketIsNothingToWriteTo) {
  const support::TemporaryFolder folder;
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder.file("s").copy(address.sun_path, sizeof address.sun_path - 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const ::sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(posix_file_system().resolve(folder.file("s")).kind, PathKind::Other);
  EXPECT_THROW(static_cast<void>(posix_file_system().open_appendable(folder.file("s"))), FailedPreconditionError);
  ::close(socket);
}

TEST(PosixFileSystem, RelativePathsStartWhereTheProgramWas) {
  const support::TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  FileSystem& disk = posix_file_system().at_current_directory();
  EXPECT_EQ(&disk, &posix_file_system().at_current_directory());
  std::filesystem::current_path("/");
  EXPECT_EQ(&disk, &disk.at_current_directory());
  disk.make_directories("run/inner");
  write_file_atomically(disk, "run/state", "text");
  const std::unique_ptr<FileLock> lock = disk.lock_file("run/lock");
  EXPECT_TRUE(lock->is_current());
  EXPECT_EQ(disk.list_directory("run"), (std::vector<std::string>{"inner", "lock", "state"}));
  std::filesystem::current_path(before);
  EXPECT_EQ(read_file(posix_file_system(), folder.file("run/state")), "text");
  try {
    static_cast<void>(disk.open_readable("run/none"));
    FAIL();
  } catch (const NotFoundError& error) {
    EXPECT_EQ(std::string(error.what()).find("cannot open run/none: "), 0U) << "as the user named it";
  }
}

TEST(PosixFileSystem, AnErrorSaysThatTheCurrentDirectoryIsGone) {
  const support::TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directory(folder.file("gone"));
  std::filesystem::current_path(folder.file("gone"));
  std::filesystem::remove(folder.file("gone"));
  std::string error;
  try {
    static_cast<void>(posix_file_system().lock_file("rows.csv"));
  } catch (const NotFoundError& caught) { error = caught.what(); }
  std::filesystem::current_path(before);
  EXPECT_NE(error.find("(the current directory was removed: "), std::string::npos) << error;
}

TEST(PosixFileSystem, CurrentDirectoryNeedsNoMaking) {
  EXPECT_NO_THROW(posix_file_system().make_directories("."));
  EXPECT_NO_THROW(posix_file_system().make_directories(""));
  EXPECT_NO_THROW(posix_file_system().make_directories("/"));
  EXPECT_NO_THROW(posix_file_system().sync_directory("."));
}

/// A child that was forked and calls no exec, until it is destroyed.
class ForkedChild {
 public:
  explicit ForkedChild(const FileLock* lock = nullptr) {
    if (::pipe(to_child_) != 0 || ::pipe(from_child_) != 0) throw std::runtime_error("no pipes");
    pid_ = ::fork();
    if (pid_ != 0) return;
    const char told = lock != nullptr && lock->is_current() ? 'y' : 'n';
    static_cast<void>(::write(from_child_[1], &told, 1));
    ::close(to_child_[1]);
    char end = 0;
    static_cast<void>(::read(to_child_[0], &end, 1));  // until the parent closes its end
    ::_exit(0);
  }
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;
  ~ForkedChild() {
    for (const int end : {to_child_[0], to_child_[1], from_child_[0], from_child_[1]}) ::close(end);
    ::waitpid(pid_, nullptr, 0);
  }

  /// What the child says of the lock. It has left all locks by then.
  [[nodiscard]] bool has_lock() const {
    char told = 0;
    static_cast<void>(::read(from_child_[0], &told, 1));
    return told == 'y';
  }

 private:
  int to_child_[2] = {};
  int from_child_[2] = {};
  pid_t pid_ = 0;
};

TEST(PosixFileSystem, AForkedChildDoesNotKeepALock) {
  const support::TemporaryFolder folder;
  std::unique_ptr<FileLock> lock = posix_file_system().lock_file(folder.file("lock"));
  const ForkedChild child(lock.get());
  EXPECT_FALSE(child.has_lock());
  EXPECT_TRUE(lock->is_current());
  EXPECT_THROW(static_cast<void>(posix_file_system().lock_file(folder.file("lock"))), FailedPreconditionError)
      << "the parent still has it";
  lock.reset();
  EXPECT_NO_THROW(static_cast<void>(posix_file_system().lock_file(folder.file("lock"))));
}

TEST(PosixFileSystem, ALockSaysWhetherItsFileIsStillThere) {
  const support::TemporaryFolder folder;
  const std::unique_ptr<FileLock> lock = posix_file_system().lock_file(folder.file("lock"));
  EXPECT_TRUE(lock->is_current());
  posix_file_system().remove_file(folder.file("lock"));
  EXPECT_FALSE(lock->is_current());
  const std::unique_ptr<FileLock> other = posix_file_system().lock_file(folder.file("lock"));
  EXPECT_FALSE(lock->is_current());
  EXPECT_TRUE(other->is_current());
}

TEST(PosixFileSystem, ALimitOfFileSizesIsAnErrorAndNoSignal) {
  const support::TemporaryFolder folder;
  const std::unique_ptr<WritableFile> file = posix_file_system().create_writable(folder.file("f"), WriteMode::Truncate);
  {
    const testing::FileSizeLimit limit(4);
    EXPECT_NO_THROW(file->append("1234"));
    EXPECT_THROW(file->append("5"), ResourceExhaustedError) << "and no SIGXFSZ";
  }
  EXPECT_NO_THROW(file->append("5"));
  EXPECT_EQ(file->size(), 5U);
}

}  // namespace
}  // namespace trainhook
