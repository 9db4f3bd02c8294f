// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program, kills it with SIGKILL just before, or in the middle of, one of its calls that change files below a directory.
// KILL_DIR: the directory. KILL_AT: "<call>:<part of the path>:<n>", for example "unlink:.index:3"; a write is killed half way. The call "any"
// counts all of them.
// What was killed is appended to the file KILL_LOG.
// Or it disturbs them: with DISTURB set, every second call that opens, reads, writes, syncs or closes a file there fails with EINTR, as if a signal
// had come, and the others read and write only half of what they are asked for.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int calls;

static int due(const char* call, const char* path) {
  const char* directory = getenv("KILL_DIR");
  const char* at = getenv("KILL_AT");
  if (directory == NULL || at == NULL || strstr(path, directory) == NULL) return 0;
  if (strncmp(at, "any:", 4) == 0) call = "any";
  const size_t length = strlen(call);
  if (strncmp(at, call, length) != 0 || at[length] != ':') return 0;
  char part[256];
  int n = 0;
  if (sscanf(at + length + 1, "%255[^:]:%d", part, &n) != 2 || strstr(path, part) == NULL) return 0;
  return atomic_fetch_add(&calls, 1) + 1 == n;
}

static void die(const char* call, const char* path) {
  const char* log = getenv("KILL_LOG");
  const int file = log == NULL ? -1 : open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (file >= 0) dprintf(file, "killed in %s of %s\n", call, path);
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static int disturbed(const char* path) {
  const char* directory = getenv("KILL_DIR");
  return getenv("DISTURB") != NULL && directory != NULL && strstr(path, directory) != NULL;
}

// True for the calls that a signal is to interrupt.
static int interrupted(const char* path) {
  if (!disturbed(path) || atomic_fetch_add(&calls, 1) % 2 != 0) return 0;
  errno = EINTR;
  return 1;
}

static const char* path_of(int file, char* path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, size - 1);
  path[length < 0 ? 0 : length] = '\0';
  return path;
}

int rename(const char* from, const char* to) {
  if (due("rename", to)) die("rename", to);
  return ((int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename"))(from, to);
}

int unlink(const char* path) {
  if (due("unlink", path)) die("unlink", path);
  return ((int (*)(const char*))dlsym(RTLD_NEXT, "unlink"))(path);
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (interrupted(path)) return -1;
  return ((int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open"))(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open(path, flags, mode);
}

int close(int file) {  // one that is interrupted has closed
  char path[4096];
  const int at_a_signal = getenv("DISTURB") != NULL && interrupted(path_of(file, path, sizeof path));
  const int result = ((int (*)(int))dlsym(RTLD_NEXT, "close"))(file);
  if (!at_a_signal) return result;
  errno = EINTR;
  return -1;
}

int fsync(int file) {
  char path[4096];
  if (getenv("KILL_DIR") != NULL) {
    path_of(file, path, sizeof path);
    if (due("fsync", path)) die("fsync", path);
    if (interrupted(path)) return -1;
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

ssize_t pread(int file, void* bytes, size_t count, off_t offset) {
  char path[4096];
  if (getenv("DISTURB") != NULL && disturbed(path_of(file, path, sizeof path))) {
    if (interrupted(path)) return -1;
    if (count > 1) count /= 2;
  }
  return ((ssize_t(*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, "pread"))(file, bytes, count, offset);
}

ssize_t pread64(int file, void* bytes, size_t count, off_t offset) { return pread(file, bytes, count, offset); }

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  ssize_t (*real)(int, const void*, size_t, off_t) = (ssize_t(*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
  char path[4096];
  if (getenv("KILL_AT") != NULL && due("write", path_of(file, path, sizeof path))) {
    if (real(file, bytes, count / 2, offset) >= 0) die("write", path);
  }
  if (getenv("DISTURB") != NULL && disturbed(path_of(file, path, sizeof path))) {
    if (interrupted(path)) return -1;
    if (count > 1) count /= 2;
  }
  return real(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off_t offset) { return pwrite(file, bytes, count, offset); }
