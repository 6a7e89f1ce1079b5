/*
 * Preloaded into a program (LD_PRELOAD): writes down, in order, what it does to the files below
 * RECORD_ROOT and what it prints, into RECORD_LOG. `recording.ts` reads it.
 *
 * Syncs are not made but only noted, at their begin and, RECORD_SYNC_US later, at their end: what was
 * written before the begin counts as safe from the end on, as on a disk that takes its time.
 *
 * A record: kind u8, 3 bytes of nothing, file u32, number u64, length u32, then so many bytes.
 *   O file was opened, number 1: made by this; bytes: path     W written at number; bytes
 *   D written at number through O_DSYNC: safe at once; bytes    T cut or grown to number
 *   B sync number begins    E sync number ends                  A bytes printed on standard output
 *   R renamed, L linked; bytes: both paths, a zero between      U unlinked, M directory made; bytes: path
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define DESCRIPTORS 65536
#define FILES 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *root;
static size_t root_length;
static int log_fd = -1;
static useconds_t sync_us;
static uint64_t syncs;
static uint32_t files;
static struct { dev_t dev; ino_t ino; } known[FILES];
static struct { uint32_t file; int dsync; } opened[DESCRIPTORS];

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static void put(const void *bytes, size_t length) {
  REAL(ssize_t, "write", int, const void *, size_t);
  const char *at = bytes;
  while (length > 0) {
    ssize_t n = real(log_fd, at, length);
    if (n <= 0) abort();
    at += n;
    length -= n;
  }
}

static void note(char kind, uint32_t file, uint64_t number, const struct iovec *parts, int count) {
  char head[20] = { kind };
  uint32_t length = 0;
  for (int i = 0; i < count; i++) length += parts[i].iov_len;
  memcpy(head + 4, &file, 4);
  memcpy(head + 8, &number, 8);
  memcpy(head + 16, &length, 4);
  put(head, sizeof head);
  for (int i = 0; i < count; i++) put(parts[i].iov_base, parts[i].iov_len);
}

static void note_text(char kind, uint32_t file, uint64_t number, const char *text) {
  struct iovec part = { (void *)text, strlen(text) };
  note(kind, file, number, &part, 1);
}

__attribute__((constructor)) static void begin(void) {
  REAL(int, "open64", const char *, int, ...);
  root = getenv("RECORD_ROOT");
  const char *path = getenv("RECORD_LOG");
  const char *us = getenv("RECORD_SYNC_US");
  if (!root || !path) return;
  root = strdup(root);
  root_length = strlen(root);
  sync_us = us ? atoi(us) : 0;
  log_fd = real(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  unsetenv("LD_PRELOAD");
}

static int is_below(const char *path) {
  return log_fd >= 0 && path && strncmp(path, root, root_length) == 0 &&
         (path[root_length] == '/' || path[root_length] == 0);
}

static uint32_t file_of(int fd) {
  return fd >= 0 && fd < DESCRIPTORS ? opened[fd].file : 0;
}

/* With the lock held. A number of an inode is used anew, so a file that was just made gets a new one. */
static void remember(int fd, const char *path, int flags, int made) {
  struct stat st;
  if (fd < 0 || fd >= DESCRIPTORS || fstat(fd, &st) != 0) return;
  uint32_t file = 0;
  for (uint32_t i = files; !made && i > 0 && !file; i--) {
    if (known[i].dev == st.st_dev && known[i].ino == st.st_ino) file = i;
  }
  if (!file) {
    if (files + 1 >= FILES) abort();
    file = ++files;
    known[file].dev = st.st_dev;
    known[file].ino = st.st_ino;
  }
  opened[fd].file = file;
  opened[fd].dsync = (flags & O_DSYNC) != 0;
  note_text('O', file, made, path);
  if ((flags & O_TRUNC) && !made) note('T', file, 0, NULL, 0);
}

static int open_and_note(const char *path, int flags, mode_t mode) {
  REAL(int, "open64", const char *, int, ...);
  if (!is_below(path)) {
    int fd = real(path, flags, mode);
    if (fd >= 0 && fd < DESCRIPTORS) opened[fd].file = 0;
    return fd;
  }
  pthread_mutex_lock(&lock);
  struct stat st;
  int made = (flags & O_CREAT) && stat(path, &st) != 0;
  int fd = real(path, flags, mode);
  remember(fd, path, flags, made);
  pthread_mutex_unlock(&lock);
  return fd;
}

static mode_t mode_in(int flags, va_list rest) {
  return flags & O_CREAT ? va_arg(rest, mode_t) : 0;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = mode_in(flags, rest); \
    va_end(rest); \
    return open_and_note(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

int close(int fd) {
  REAL(int, "close", int);
  if (fd >= 0 && fd < DESCRIPTORS) opened[fd].file = 0;
  return real(fd);
}

static void note_write(int fd, uint64_t at, const struct iovec *parts, int count, ssize_t done) {
  struct iovec left[1024];
  int used = 0;
  for (int i = 0; i < count && i < 1024 && done > 0; i++) {
    left[used] = parts[i];
    if ((ssize_t)left[used].iov_len > done) left[used].iov_len = done;
    done -= left[used++].iov_len;
  }
  if (used > 0) note(opened[fd].dsync ? 'D' : 'W', opened[fd].file, at, left, used);
}

/* Position -1: where the descriptor stands. */
static ssize_t write_and_note(int fd, const struct iovec *parts, int count, off64_t at) {
  REAL(ssize_t, "pwritev64", int, const struct iovec *, int, off64_t);
  static ssize_t (*plain)(int, const struct iovec *, int);
  if (!plain) plain = (ssize_t (*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
  if (log_fd >= 0 && fd == 1) {
    pthread_mutex_lock(&lock);
    note('A', 0, 0, parts, count);
    pthread_mutex_unlock(&lock);
  }
  if (!file_of(fd)) return at < 0 ? plain(fd, parts, count) : real(fd, parts, count, at);
  pthread_mutex_lock(&lock);
  ssize_t done = at < 0 ? plain(fd, parts, count) : real(fd, parts, count, at);
  if (done > 0) note_write(fd, at < 0 ? lseek64(fd, 0, SEEK_CUR) - done : at, parts, count, done);
  pthread_mutex_unlock(&lock);
  return done;
}

static ssize_t write_one(int fd, const void *bytes, size_t length, off64_t at) {
  struct iovec part = { (void *)bytes, length };
  return write_and_note(fd, &part, 1, at);
}

ssize_t write(int fd, const void *bytes, size_t length) { return write_one(fd, bytes, length, -1); }
ssize_t pwrite(int fd, const void *b, size_t length, off_t at) { return write_one(fd, b, length, at); }
ssize_t pwrite64(int fd, const void *b, size_t length, off64_t at) { return write_one(fd, b, length, at); }
ssize_t writev(int fd, const struct iovec *p, int count) { return write_and_note(fd, p, count, -1); }
ssize_t pwritev(int fd, const struct iovec *p, int count, off_t at) { return write_and_note(fd, p, count, at); }
ssize_t pwritev64(int fd, const struct iovec *p, int count, off64_t at) { return write_and_note(fd, p, count, at); }

static int truncate_and_note(int fd, off64_t size) {
  REAL(int, "ftruncate64", int, off64_t);
  if (!file_of(fd)) return real(fd, size);
  pthread_mutex_lock(&lock);
  int done = real(fd, size);
  if (done == 0) note('T', opened[fd].file, size, NULL, 0);
  pthread_mutex_unlock(&lock);
  return done;
}
int ftruncate(int fd, off_t size) { return truncate_and_note(fd, size); }
int ftruncate64(int fd, off64_t size) { return truncate_and_note(fd, size); }

static void note_sync(uint32_t file) {
  pthread_mutex_lock(&lock);
  uint64_t number = ++syncs;
  note('B', file, number, NULL, 0);
  pthread_mutex_unlock(&lock);
  if (sync_us) usleep(sync_us);
  pthread_mutex_lock(&lock);
  note('E', file, number, NULL, 0);
  pthread_mutex_unlock(&lock);
}

int fsync(int fd) {
  REAL(int, "fsync", int);
  if (!file_of(fd)) return real(fd);
  note_sync(opened[fd].file);
  return 0;
}

int fdatasync(int fd) {
  REAL(int, "fdatasync", int);
  if (!file_of(fd)) return real(fd);
  note_sync(opened[fd].file);
  return 0;
}

/* What is changed through a map is not seen here: it would have to be written down page by page. */
int msync(void *address, size_t length, int flags) {
  if (log_fd >= 0) {
    fputs("recorder: msync is not followed\n", stderr);
    abort();
  }
  REAL(int, "msync", void *, size_t, int);
  return real(address, length, flags);
}

static int two_names(char kind, const char *from, const char *to, int (*real)(const char *, const char *)) {
  if (!is_below(to)) return real(from, to);
  pthread_mutex_lock(&lock);
  int done = real(from, to);
  if (done == 0) {
    struct iovec parts[2] = { { (void *)from, strlen(from) + 1 }, { (void *)to, strlen(to) } };
    note(kind, 0, 0, parts, 2);
  }
  pthread_mutex_unlock(&lock);
  return done;
}

int rename(const char *from, const char *to) {
  REAL(int, "rename", const char *, const char *);
  return two_names('R', from, to, real);
}

int link(const char *from, const char *to) {
  REAL(int, "link", const char *, const char *);
  return two_names('L', from, to, real);
}

int unlink(const char *path) {
  REAL(int, "unlink", const char *);
  if (!is_below(path)) return real(path);
  pthread_mutex_lock(&lock);
  int done = real(path);
  if (done == 0) note_text('U', 0, 0, path);
  pthread_mutex_unlock(&lock);
  return done;
}

int mkdir(const char *path, mode_t mode) {
  REAL(int, "mkdir", const char *, mode_t);
  if (!is_below(path)) return real(path, mode);
  pthread_mutex_lock(&lock);
  int done = real(path, mode);
  if (done == 0) note_text('M', 0, 0, path);
  pthread_mutex_unlock(&lock);
  return done;
}
