// The wall clock of the processes that load this, set by whoever writes the file that WALL_CLOCK names:
// eight bytes, how many seconds it is off. Other clocks are the kernel's.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *off;

__attribute__((constructor)) static void map(void) {
  const char *path = getenv("WALL_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *mapped = mmap(0, sizeof *off, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) off = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  long failed = syscall(SYS_clock_gettime, clock, now);
  if (!failed && clock == CLOCK_REALTIME && off) now->tv_sec += *off;
  return failed ? -1 : 0;
}
