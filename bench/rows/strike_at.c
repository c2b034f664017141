/* Counts the calls of a process that change a folder, and strikes at one of them: a shim for
 * LD_PRELOAD. It does nothing until strike_arm() is called (by ctypes, in a forked child), so that
 * one warm interpreter serves for thousands of strikes.
 *
 * Seen: open (when it makes or empties a file), write, writev, pwrite, pwritev, copy_file_range,
 * sendfile, ftruncate, truncate, fallocate, rename, link, symlink, unlink, mkdir, rmdir, fsync,
 * fdatasync. Not seen: bytes written through a shared mapping. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum mode { OFF, COUNT, KILL_BEFORE, KILL_WITHIN, FAIL, RECORD };
enum kind { WRITE = 1, TRUNCATE, CREATE, RENAME, LINK, UNLINK, MKDIR, RMDIR, SYNC, NOTE };

struct event {            /* one record: this, then path, other path, bytes */
    uint32_t magic, kind;
    uint64_t ino;
    int64_t offset;       /* of a write; the new length of a truncation */
    uint64_t nbytes;
    uint32_t path_bytes, other_bytes;
};

static int mode = OFF, failure = 0, record_fd = -1;
static long at = 0, times = 0, seen = 0;
static char folder[PATH_MAX];
static size_t folder_bytes = 0;
static char boot_file[PATH_MAX]; /* read instead of the kernel's boot id; none: the kernel's */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char kinds[1 << 16]; /* what the calls were, while they are counted */

#define REAL(name) ({ static __typeof__(&name) real; \
    real = real ? real : (__typeof__(&name))dlsym(RTLD_NEXT, #name); real; })

/* How to strike: mode (see above), call number from 1, errno and how many calls fail, record. */
void strike_arm(const char *below, int how, long number, int error, long many, int fd) {
    snprintf(folder, sizeof folder, "%s", below);
    folder_bytes = strlen(folder);
    at = number, failure = error, times = many, record_fd = fd;
    __atomic_store_n(&seen, 0, __ATOMIC_SEQ_CST);
    mode = how;
}

/* After a power cut there was a boot: programs that ask for its id must see another one. */
void strike_boot(const char *path) { snprintf(boot_file, sizeof boot_file, "%s", path); }

long strike_seen(void) { return __atomic_load_n(&seen, __ATOMIC_SEQ_CST); }
const char *strike_kinds(void) { return kinds; }

static int is_below(const char *path) {
    return !strncmp(path, folder, folder_bytes) &&
           (path[folder_bytes] == '/' || path[folder_bytes] == 0);
}

static void path_of_fd(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    path[n < 0 ? 0 : n] = 0;
}

static void whole_path(int dir, const char *path, char *whole) {
    char start[PATH_MAX] = "";
    if (path[0] == '/') {
        snprintf(whole, PATH_MAX, "%s", path);
        return;
    }
    if (dir == AT_FDCWD) {
        if (!getcwd(start, sizeof start)) start[0] = 0;
    } else {
        path_of_fd(dir, start);
    }
    if (snprintf(whole, PATH_MAX, "%s/%s", start, path) >= PATH_MAX) whole[0] = 0;
}

static void put(const void *bytes, size_t n) {
    const char *from = bytes;
    while (n) {
        ssize_t done = syscall(SYS_write, record_fd, from, n);
        if (done <= 0) abort();
        from += done, n -= (size_t)done;
    }
}

static void record(int kind, const char *path, const char *other, uint64_t ino, int64_t offset,
                   const struct iovec *parts, int count, size_t nbytes) {
    struct event event = {0x31544b53, (uint32_t)kind, ino, offset, nbytes,
                          (uint32_t)strlen(path), (uint32_t)strlen(other)};
    put(&event, sizeof event);
    put(path, event.path_bytes);
    put(other, event.other_bytes);
    for (int i = 0; i < count && nbytes; i++) {
        size_t n = parts[i].iov_len < nbytes ? parts[i].iov_len : nbytes;
        put(parts[i].iov_base, n);
        nbytes -= n;
    }
}

/* What the process itself wants to have in the record, such as an acknowledgement. */
void strike_note(const void *bytes, size_t n) {
    if (mode != RECORD) return;
    pthread_mutex_lock(&lock);
    struct iovec part = {(void *)bytes, n};
    record(NOTE, "", "", 0, 0, &part, 1, n);
    pthread_mutex_unlock(&lock);
}

static void die(void) {
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) pause();
}

enum verdict { PASS, FAILED, WITHIN };

/* Counts one call and says what becomes of it. A full disk refuses only what needs room. */
static enum verdict strike(char kind, int needs_room) {
    long number = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    if (mode == COUNT && number < (long)sizeof kinds) kinds[number - 1] = kind;
    if (mode == KILL_BEFORE && number == at) die();
    if (mode == KILL_WITHIN && number == at) return WITHIN;
    if (mode == FAIL && number >= at && number < at + times && (needs_room || failure != ENOSPC)) {
        errno = failure;
        return FAILED;
    }
    return PASS;
}

static uint64_t ino_of(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : (uint64_t)found.st_ino;
}

static uint64_t ino_at(const char *path) {
    struct stat found;
    return lstat(path, &found) ? 0 : (uint64_t)found.st_ino;
}

/* ---- writing ---- */

static ssize_t write_parts(int fd, const struct iovec *parts, int count, off_t offset) {
    return offset < 0 ? REAL(writev)(fd, parts, count) : REAL(pwritev)(fd, parts, count, offset);
}

static void write_half_and_die(int fd, const struct iovec *parts, int count, off_t offset) {
    size_t whole = 0, half;
    for (int i = 0; i < count; i++) whole += parts[i].iov_len;
    half = whole / 2;
    for (int i = 0; i < count && half; i++) {
        struct iovec part = {parts[i].iov_base, parts[i].iov_len < half ? parts[i].iov_len : half};
        ssize_t done = write_parts(fd, &part, 1, offset);
        if (done <= 0) break;
        if (offset >= 0) offset += done;
        half -= part.iov_len;
    }
    die();
}

static ssize_t change(int fd, const struct iovec *parts, int count, off_t offset) {
    char path[PATH_MAX];
    if (mode == OFF) return write_parts(fd, parts, count, offset);
    path_of_fd(fd, path);
    if (!is_below(path)) return write_parts(fd, parts, count, offset);
    enum verdict verdict = strike('w', 1);
    if (verdict == WITHIN) write_half_and_die(fd, parts, count, offset);
    if (verdict == FAILED) return -1;
    if (mode != RECORD) return write_parts(fd, parts, count, offset);
    pthread_mutex_lock(&lock);
    ssize_t n = write_parts(fd, parts, count, offset);
    int error = errno;
    if (n > 0) {
        off_t start = offset >= 0 ? offset : lseek(fd, 0, SEEK_CUR) - n;
        record(WRITE, path, "", ino_of(fd), start, parts, count, (size_t)n);
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return n;
}

ssize_t write(int fd, const void *bytes, size_t n) {
    struct iovec part = {(void *)bytes, n};
    if (mode == OFF) return REAL(write)(fd, bytes, n);
    return change(fd, &part, 1, -1);
}

ssize_t writev(int fd, const struct iovec *parts, int count) { return change(fd, parts, count, -1); }

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset) {
    struct iovec part = {(void *)bytes, n};
    return change(fd, &part, 1, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t offset) {
    return pwrite(fd, bytes, n, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    return change(fd, parts, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
    return change(fd, parts, count, offset);
}

ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
    return change(fd, parts, count, offset);
}

/* What os.pwritev of Python calls. */
ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off64_t offset, int flags) {
    return change(fd, parts, count, offset);
}

/* Copies inside of the kernel are recorded by reading back what arrived. */
static void record_arrived(int fd, const char *path, off_t start, ssize_t n) {
    char name[64], *bytes = malloc((size_t)n);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int again = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
    if (!bytes || again < 0 || pread(again, bytes, (size_t)n, start) != n) abort();
    close(again);
    struct iovec part = {bytes, (size_t)n};
    record(WRITE, path, "", ino_of(fd), start, &part, 1, (size_t)n);
    free(bytes);
}

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t n, unsigned flags) {
    char path[PATH_MAX];
    if (mode == OFF) return REAL(copy_file_range)(in, from, out, to, n, flags);
    path_of_fd(out, path);
    if (!is_below(path)) return REAL(copy_file_range)(in, from, out, to, n, flags);
    enum verdict verdict = strike('c', 1);
    if (verdict == FAILED) return -1;
    if (verdict == WITHIN) {
        if (n / 2) REAL(copy_file_range)(in, from, out, to, n / 2, flags);
        die();
    }
    pthread_mutex_lock(&lock);
    ssize_t done = REAL(copy_file_range)(in, from, out, to, n, flags);
    int error = errno;
    if (mode == RECORD && done > 0)
        record_arrived(out, path, (to ? *to : lseek(out, 0, SEEK_CUR)) - done, done);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

ssize_t sendfile(int out, int in, off_t *from, size_t n) {
    char path[PATH_MAX];
    if (mode == OFF) return REAL(sendfile)(out, in, from, n);
    path_of_fd(out, path);
    if (!is_below(path)) return REAL(sendfile)(out, in, from, n);
    enum verdict verdict = strike('c', 1);
    if (verdict == FAILED) return -1;
    if (verdict == WITHIN) {
        if (n / 2) REAL(sendfile)(out, in, from, n / 2);
        die();
    }
    pthread_mutex_lock(&lock);
    ssize_t done = REAL(sendfile)(out, in, from, n);
    int error = errno;
    if (mode == RECORD && done > 0)
        record_arrived(out, path, lseek(out, 0, SEEK_CUR) - done, done);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

ssize_t sendfile64(int out, int in, off64_t *from, size_t n) { return sendfile(out, in, from, n); }

/* ---- everything that either happens or not ---- */

#define WHOLE(letter, needs_room, call, recorded) do { \
    enum verdict verdict = strike(letter, needs_room); \
    if (verdict == WITHIN) { (void)(call); die(); } \
    if (verdict == FAILED) return -1; \
    pthread_mutex_lock(&lock); \
    int result = (call); \
    int error = errno; \
    if (mode == RECORD && result >= 0) { recorded; } \
    pthread_mutex_unlock(&lock); \
    errno = error; \
    return result; \
} while (0)

#define ON_FD(letter, needs_room, call, recorded) do { \
    char path[PATH_MAX]; \
    if (mode == OFF) return (call); \
    path_of_fd(fd, path); \
    if (!is_below(path)) return (call); \
    WHOLE(letter, needs_room, call, recorded); \
} while (0)

int fsync(int fd) {
    ON_FD('s', 1, REAL(fsync)(fd), record(SYNC, path, "", ino_of(fd), 0, NULL, 0, 0));
}

int fdatasync(int fd) {
    ON_FD('s', 1, REAL(fdatasync)(fd), record(SYNC, path, "", ino_of(fd), 0, NULL, 0, 0));
}

int ftruncate(int fd, off_t length) {
    ON_FD('t', 0, REAL(ftruncate)(fd, length),
          record(TRUNCATE, path, "", ino_of(fd), length, NULL, 0, 0));
}

int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

static int64_t length_of(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : (int64_t)found.st_size;
}

int fallocate(int fd, int how, off_t offset, off_t length) {
    ON_FD('t', 1, REAL(fallocate)(fd, how, offset, length),
          record(TRUNCATE, path, "", ino_of(fd), length_of(fd), NULL, 0, 0));
}

int fallocate64(int fd, int how, off64_t offset, off64_t length) {
    return fallocate(fd, how, offset, length);
}

int posix_fallocate(int fd, off_t offset, off_t length) {
    return fallocate(fd, 0, offset, length) ? errno : 0;
}

int posix_fallocate64(int fd, off64_t offset, off64_t length) {
    return posix_fallocate(fd, offset, length);
}

static int opened(int dir, const char *name, int flags, mode_t rights) {
    char path[PATH_MAX];
    struct stat found;
    if (boot_file[0] && !strcmp(name, "/proc/sys/kernel/random/boot_id")) name = boot_file;
    if (mode == OFF) return REAL(openat)(dir, name, flags, rights);
    whole_path(dir, name, path);
    int is_there = !lstat(path, &found);
    int changes = ((flags & O_CREAT) && !is_there) || ((flags & O_TRUNC) && is_there);
    if (!is_below(path) || !changes) return REAL(openat)(dir, name, flags, rights);
    WHOLE('o', 1, REAL(openat)(dir, name, flags, rights),
          record(is_there ? TRUNCATE : CREATE, path, "", ino_of(result), 0, NULL, 0, 0));
}

#define RIGHTS(flags) ({ mode_t rights = 0; \
    if ((flags) & (O_CREAT | __O_TMPFILE)) { va_list rest; va_start(rest, flags); \
        rights = va_arg(rest, mode_t); va_end(rest); } rights; })

int open(const char *name, int flags, ...) { return opened(AT_FDCWD, name, flags, RIGHTS(flags)); }
int open64(const char *name, int flags, ...) {
    return opened(AT_FDCWD, name, flags | O_LARGEFILE, RIGHTS(flags));
}
int openat(int dir, const char *name, int flags, ...) {
    return opened(dir, name, flags, RIGHTS(flags));
}
int openat64(int dir, const char *name, int flags, ...) {
    return opened(dir, name, flags | O_LARGEFILE, RIGHTS(flags));
}
int creat(const char *name, mode_t rights) {
    return opened(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, rights);
}

int renameat2(int dir, const char *old, int other_dir, const char *new, unsigned flags) {
    char path[PATH_MAX], other[PATH_MAX];
    if (mode == OFF) return (int)syscall(SYS_renameat2, dir, old, other_dir, new, flags);
    whole_path(dir, old, path);
    whole_path(other_dir, new, other);
    if (!is_below(path) && !is_below(other))
        return (int)syscall(SYS_renameat2, dir, old, other_dir, new, flags);
    WHOLE('r', 1, (int)syscall(SYS_renameat2, dir, old, other_dir, new, flags),
          record(RENAME, path, other, ino_at(other), 0, NULL, 0, 0));
}

int renameat(int dir, const char *old, int other_dir, const char *new) {
    return renameat2(dir, old, other_dir, new, 0);
}
int rename(const char *old, const char *new) {
    return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int linkat(int dir, const char *old, int other_dir, const char *new, int flags) {
    char path[PATH_MAX], other[PATH_MAX];
    if (mode == OFF) return REAL(linkat)(dir, old, other_dir, new, flags);
    whole_path(dir, old, path);
    whole_path(other_dir, new, other);
    if (!is_below(other)) return REAL(linkat)(dir, old, other_dir, new, flags);
    WHOLE('l', 1, REAL(linkat)(dir, old, other_dir, new, flags),
          record(LINK, path, other, ino_at(other), 0, NULL, 0, 0));
}

int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }

int unlinkat(int dir, const char *name, int flags) {
    char path[PATH_MAX];
    if (mode == OFF) return REAL(unlinkat)(dir, name, flags);
    whole_path(dir, name, path);
    if (!is_below(path)) return REAL(unlinkat)(dir, name, flags);
    WHOLE('u', 0, REAL(unlinkat)(dir, name, flags),
          record(flags & AT_REMOVEDIR ? RMDIR : UNLINK, path, "", 0, 0, NULL, 0, 0));
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }
int remove(const char *name) {
    int result = unlink(name);
    return result && errno == EISDIR ? rmdir(name) : result;
}

int mkdirat(int dir, const char *name, mode_t rights) {
    char path[PATH_MAX];
    if (mode == OFF) return REAL(mkdirat)(dir, name, rights);
    whole_path(dir, name, path);
    if (!is_below(path)) return REAL(mkdirat)(dir, name, rights);
    WHOLE('m', 1, REAL(mkdirat)(dir, name, rights),
          record(MKDIR, path, "", ino_at(path), 0, NULL, 0, 0));
}

int mkdir(const char *name, mode_t rights) { return mkdirat(AT_FDCWD, name, rights); }
