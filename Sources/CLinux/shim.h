// What Glibc's Swift module leaves out of the Linux kernel's interface.
#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H

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
#include <unistd.h>

// Hidden by the C library unless GNU's extensions are asked for, which a module map cannot do.
int pthread_setname_np(pthread_t thread, const char *name);
int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

#endif
