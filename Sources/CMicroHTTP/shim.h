// Swift cannot call variadic functions, so the ones needed are wrapped here.
#ifndef CMICROHTTP_SHIM_H
#define CMICROHTTP_SHIM_H

#include <microhttpd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

static inline struct MHD_Daemon *cmicrohttp_start(
    unsigned int flags,
    MHD_AccessHandlerCallback handler,
    MHD_RequestCompletedCallback completed,
    MHD_NotifyConnectionCallback connected,
    void *(*target)(void *, const char *, struct MHD_Connection *),
    size_t (*unescape)(void *, struct MHD_Connection *, char *),
    void *context,
    struct MHD_OptionItem *options
) {
    return MHD_start_daemon(
        flags, 0, NULL, NULL, handler, context,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_NOTIFY_CONNECTION, connected, context,
        MHD_OPTION_URI_LOG_CALLBACK, target, context,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_ARRAY, options,
        MHD_OPTION_END
    );
}

// To be called only on the server's thread. The server closes the connection when it reads the end of the stream.
static inline void cmicrohttp_shut_down(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info) shutdown(info->connect_fd, SHUT_RDWR);
}

// The bytes of the request line and the headers, with their line ends. Known from the first call of the handler on.
static inline size_t cmicrohttp_head_size(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

// What a content reader returns at the end of the stream.
static inline ssize_t cmicrohttp_end_of_stream(void) { return MHD_CONTENT_READER_END_OF_STREAM; }

// A response whose length is not known in advance.
static inline struct MHD_Response *cmicrohttp_stream(
    size_t size, MHD_ContentReaderCallback reader, void *context, MHD_ContentReaderFreeCallback ended
) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, size, reader, context, ended);
}

// The client's address without the port. An IPv4-mapped IPv6 address is written as IPv4.
static inline bool cmicrohttp_peer(struct MHD_Connection *connection, char *text, size_t size) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (!info || !info->client_addr) return false;
    if (info->client_addr->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)info->client_addr;
        return inet_ntop(AF_INET, &four->sin_addr, text, (socklen_t)size) != NULL;
    }
    if (info->client_addr->sa_family != AF_INET6) return false;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)info->client_addr;
    if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
        return inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], text, (socklen_t)size) != NULL;
    return inet_ntop(AF_INET6, &six->sin6_addr, text, (socklen_t)size) != NULL;
}

#endif
