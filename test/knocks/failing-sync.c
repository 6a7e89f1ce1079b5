/*
 * Preloaded into a program (LD_PRELOAD): while the file FAILING_SYNC is there, no sync works (EIO), and
 * no write through a descriptor that syncs each write.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int is_failing(void) {
  const char *path = getenv("FAILING_SYNC");
  return path && access(path, F_OK) == 0;
}

static int fail(void) {
  errno = EIO;
  return -1;
}

int fsync(int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return is_failing() ? fail() : real(fd);
}

int fdatasync(int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  return is_failing() ? fail() : real(fd);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
  static ssize_t (*real)(int, const void *, size_t, off64_t);
  if (!real) real = (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
  int flags = fcntl(fd, F_GETFL);
  if (flags != -1 && (flags & O_DSYNC) && is_failing()) return fail();
  return real(fd, bytes, length, at);
}
