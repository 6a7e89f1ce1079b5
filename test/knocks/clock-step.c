/* Preloaded into a program (LD_PRELOAD): its wall clock is off by the seconds that stand in CLOCK_STEP. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long step(void) {
  char text[32] = { 0 };
  const char *path = getenv("CLOCK_STEP");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return 0;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  return n > 0 ? atol(text) : 0;
}

int clock_gettime(clockid_t id, struct timespec *at) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int done = real(id, at);
  if (done == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) at->tv_sec += step();
  return done;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  static int (*real)(struct timeval *, void *);
  if (!real) real = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
  int done = real(at, zone);
  if (done == 0) at->tv_sec += step();
  return done;
}
