/*
 * Preloaded into a program (LD_PRELOAD): a shared map of a file takes SLOW_MAP_US microseconds. LMDB maps its
 * file between the moment in which it reads the last transaction's number and that in which it sets it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *slow(const char *name, void *at, size_t length, int protection, int flags, int fd,
                  off64_t offset) {
  void *(*real)(void *, size_t, int, int, int, off64_t) =
      (void *(*)(void *, size_t, int, int, int, off64_t))dlsym(RTLD_NEXT, name);
  const char *wait = getenv("SLOW_MAP_US");
  if (fd >= 0 && (flags & MAP_SHARED) && wait) usleep(atoi(wait));
  return real(at, length, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset) {
  return slow("mmap64", at, length, protection, flags, fd, offset);
}

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
  return slow("mmap", at, length, protection, flags, fd, offset);
}
