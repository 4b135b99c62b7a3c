// The parts of the Linux kernel's interface that Swift's Glibc module leaves out.
#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H

#include <malloc.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

// Glibc declares these only with _GNU_SOURCE, which a module map cannot define.
int pthread_setname_np(pthread_t thread, const char *name);
int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
enum { clinux_spawn_setsid = 0x80 };  // POSIX_SPAWN_SETSID

// SIG_IGN is an integer cast to a function pointer, which Swift cannot import.
static inline _Bool clinux_ignores(int number) {
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Swift cannot call the variadic `syscall`. Glibc has the pidfd functions only since 2.36, and epoll_pwait2 only since 2.35.
static inline int clinux_pidfd_open(pid_t process) {
    return (int)syscall(SYS_pidfd_open, process, 0);
}

static inline int clinux_pidfd_send_signal(int descriptor, int number) {
    return (int)syscall(SYS_pidfd_send_signal, descriptor, number, 0, 0);
}

static inline int clinux_epoll_pwait2(int epoll, struct epoll_event *events, int count, const struct timespec *limit) {
    return (int)syscall(SYS_epoll_pwait2, epoll, events, count, limit, NULL, 0);
}

#endif
