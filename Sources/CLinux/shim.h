// What Glibc's Swift module leaves out of the Linux kernel's interface.
#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H

#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#endif
