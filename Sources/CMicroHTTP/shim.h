// Variadic functions are out of Swift's sight, so those that are needed are called from here.
#ifndef CMICROHTTP_SHIM_H
#define CMICROHTTP_SHIM_H

#include <microhttpd.h>
#include <sys/socket.h>

static inline struct MHD_Daemon *cmicrohttp_start(
    unsigned int flags,
    MHD_AccessHandlerCallback handler,
    MHD_RequestCompletedCallback completed,
    MHD_NotifyConnectionCallback connected,
    size_t (*unescape)(void *, struct MHD_Connection *, char *),
    void *context,
    struct MHD_OptionItem *options
) {
    return MHD_start_daemon(
        flags, 0, NULL, NULL, handler, context,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_NOTIFY_CONNECTION, connected, context,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_ARRAY, options,
        MHD_OPTION_END
    );
}

// Only on the server's thread. The server closes the connection when it reads its end.
static inline void cmicrohttp_shut_down(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info) shutdown(info->connect_fd, SHUT_RDWR);
}

#endif
