// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program, kills it with SIGKILL just before, or in the middle of, one of its calls that change files below a directory.
// KILL_DIR: the directory. KILL_AT: "<call>:<part of the path>:<n>", for example "unlink:.index:3"; a write is killed half way. The call "any"
// counts all of them.
// What was killed is appended to the file KILL_LOG.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
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

int fsync(int file) {
  char path[4096];
  if (due("fsync", path_of(file, path, sizeof path))) die("fsync", path);
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  ssize_t (*real)(int, const void*, size_t, off_t) = (ssize_t(*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
  char path[4096];
  if (getenv("KILL_AT") != NULL && due("write", path_of(file, path, sizeof path))) {
    if (real(file, bytes, count / 2, offset) >= 0) die("write", path);
  }
  return real(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off_t offset) { return pwrite(file, bytes, count, offset); }
