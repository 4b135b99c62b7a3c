/* A gateway for comparisons, HTTP/2 over TLS on 127.0.0.1: it answers each push with 200 and its apns-id, after a fixed time, and
 * notes which pushes came, when and how often. The last eight digits of a device token are the number of the push.
 *
 * usage: gateway CERTIFICATE KEY
 * It prints its port, then answers commands on its standard input, a line each, and ends when that is closed:
 *   reset MILLISECONDS  forgets all pushes, and holds answers back; from now on, an answer leaves so long after its request
 *   open                lets answers go; prints the time, and how many requests have come so far
 *   report              prints how many requests have come, how many different pushes, and when the last new push came
 *   arrivals FROM N     prints when each of N pushes came first; 0: it has not come
 * Times are microseconds since 1970. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

enum { PUSHES = 1 << 23, STREAMS = 1000, OUTPUT = 1 << 16, STREAM_WINDOW = 1 << 20, WINDOW = 16 << 20 };

typedef struct Request {
    struct Connection *connection; /* NULL: its stream has ended without an answer */
    STAILQ_ENTRY(Request) waiting;
    LIST_ENTRY(Request) same_connection;
    int64_t due;
    int32_t stream;
    uint32_t number;
    uint8_t is_push, is_complete, id_length, id[64];
} Request;

typedef struct Connection {
    int fd;
    uint8_t wants_write, is_touched, is_broken;
    SSL *tls;
    nghttp2_session *session;
    LIST_HEAD(, Request) requests;
    SLIST_ENTRY(Connection) touched; /* has output, or has ended */
    size_t start, end;               /* what of the output has not been written */
    uint8_t output[OUTPUT];
} Connection;

static int64_t requests, pushes, last, latency;
static int is_held, poller;
static uint32_t *seen;  /* how often each push has come */
static int64_t *first;  /* when it came first */
static STAILQ_HEAD(, Request) waiting = STAILQ_HEAD_INITIALIZER(waiting); /* all wait equally long: the first is due first */
static SLIST_HEAD(, Connection) touched = SLIST_HEAD_INITIALIZER(touched);
static nghttp2_session_callbacks *callbacks;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void *allocate(size_t size) {
    void *memory = calloc(1, size);
    if (!memory) fail("memory");
    return memory;
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static void touch(Connection *connection) {
    if (!connection->is_touched) SLIST_INSERT_HEAD(&touched, connection, touched);
    connection->is_touched = 1;
}

/* MARK: requests */

/* Its stream has ended. If it waits, it is freed when its turn comes. */
static void forget(Request *request) {
    LIST_REMOVE(request, same_connection);
    request->connection = NULL;
    if (!request->is_complete) free(request);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    Connection *connection = user;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    Request *request = allocate(sizeof *request);
    request->connection = connection;
    request->stream = frame->hd.stream_id;
    LIST_INSERT_HEAD(&connection->requests, request, same_connection);
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, request);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                     const uint8_t *value, size_t length, uint8_t flags, void *user) {
    (void)flags, (void)user;
    Request *request = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!request) return 0;
    if (name_length == 5 && !memcmp(name, ":path", 5)) {
        request->is_push = length >= 18 && !memcmp(value, "/3/device/", 10);
        for (size_t i = length - 8; request->is_push && i < length; i++)
            request->number = request->number << 4 | (value[i] <= '9' ? value[i] - '0' : (value[i] | 32) - 'a' + 10);
        request->number &= PUSHES - 1;
    } else if (name_length == 7 && !memcmp(name, "apns-id", 7) && length <= sizeof request->id) {
        memcpy(request->id, value, request->id_length = length);
    }
    return 0;
}

static void reply(Request *request) {
    Connection *connection = request->connection;
    nghttp2_nv fields[] = {
        {(uint8_t *)":status", (uint8_t *)(request->is_push ? "200" : "404"), 7, 3, NGHTTP2_NV_FLAG_NO_COPY_NAME},
        {(uint8_t *)"apns-id", request->id, 7, request->id_length, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_INDEX},
    };
    nghttp2_session_set_stream_user_data(connection->session, request->stream, NULL);
    if (nghttp2_submit_response(connection->session, request->stream, fields, request->id_length ? 2 : 1, NULL))
        connection->is_broken = 1;
    forget(request);
    touch(connection);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    (void)user;
    int ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) || !ends) return 0;
    Request *request = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!request || request->is_complete) return 0;
    if (!request->is_push) { /* a client that opens its connection before it has a push */
        reply(request);
        return 0;
    }
    int64_t time = now();
    request->is_complete = 1;
    request->due = time + latency;
    STAILQ_INSERT_TAIL(&waiting, request, waiting);
    requests++;
    if (!seen[request->number]++) {
        first[request->number] = last = time;
        pushes++;
    }
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *user) {
    (void)error, (void)user;
    Request *request = nghttp2_session_get_stream_user_data(session, stream);
    if (request) forget(request);
    return 0;
}

static void answer(void) {
    int64_t time = now();
    Request *request;
    while (!is_held && (request = STAILQ_FIRST(&waiting)) && request->due <= time) {
        STAILQ_REMOVE_HEAD(&waiting, waiting);
        if (request->connection) reply(request);
        free(request);
    }
}

/* MARK: connections */

static void watch(Connection *connection, int operation, int wants_write) {
    struct epoll_event event = {.events = EPOLLIN | (wants_write ? EPOLLOUT : 0), .data.ptr = connection};
    connection->wants_write = wants_write;
    if (epoll_ctl(poller, operation, connection->fd, &event)) fail("epoll_ctl");
}

static void accept_connection(int listener, SSL_CTX *context) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), yes = 1;
    if (fd < 0) return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    Connection *connection = allocate(sizeof *connection);
    connection->fd = fd;
    connection->tls = SSL_new(context);
    SSL_set_fd(connection->tls, fd);
    SSL_set_accept_state(connection->tls);
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW}};
    if (nghttp2_session_server_new(&connection->session, callbacks, connection)) fail("nghttp2");
    nghttp2_submit_settings(connection->session, 0, settings, 2);
    nghttp2_session_set_local_window_size(connection->session, 0, 0, WINDOW);
    watch(connection, EPOLL_CTL_ADD, 0);
}

static void end_connection(Connection *connection) {
    while (!LIST_EMPTY(&connection->requests)) forget(LIST_FIRST(&connection->requests));
    nghttp2_session_del(connection->session);
    SSL_free(connection->tls);
    close(connection->fd);
    free(connection);
}

/* Whether a call of OpenSSL has failed for good. */
static int has_failed(Connection *connection, int result) {
    int error = SSL_get_error(connection->tls, result);
    return error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
}

static void receive(Connection *connection) {
    static uint8_t input[1 << 14];
    int length;
    while ((length = SSL_read(connection->tls, input, sizeof input)) > 0)
        if (nghttp2_session_mem_recv(connection->session, input, length) < 0) connection->is_broken = 1;
    if (has_failed(connection, length)) connection->is_broken = 1;
    touch(connection);
}

static void send_output(Connection *connection) {
    uint8_t *output = connection->output;
    while (!connection->is_broken) {
        while (connection->end - connection->start < OUTPUT / 4) {
            const uint8_t *data;
            ssize_t length = nghttp2_session_mem_send(connection->session, &data);
            if (length < 0) connection->is_broken = 1;
            if (length <= 0) break;
            memmove(output, output + connection->start, connection->end -= connection->start);
            connection->start = 0;
            memcpy(output + connection->end, data, length); /* a frame of ours has less than 16 KiB */
            connection->end += length;
        }
        if (connection->start == connection->end) break;
        int length = SSL_write(connection->tls, output + connection->start, connection->end - connection->start);
        if (length > 0) connection->start += length;
        else if (has_failed(connection, length)) connection->is_broken = 1;
        else break;
    }
    int wants_write = connection->start < connection->end;
    if (!connection->is_broken && wants_write != connection->wants_write) watch(connection, EPOLL_CTL_MOD, wants_write);
}

static int choose_protocol(SSL *tls, const uint8_t **out, uint8_t *length, const uint8_t *in, unsigned in_length, void *user) {
    (void)tls, (void)user;
    int has_h2 = nghttp2_select_next_protocol((uint8_t **)out, length, in, in_length) == 1;
    return has_h2 ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* MARK: commands */

static void obey(void) {
    char line[100];
    int64_t from, count;
    if (!fgets(line, sizeof line, stdin)) exit(0);
    if (sscanf(line, "reset %ld", &latency) == 1) {
        memset(seen, 0, PUSHES * sizeof *seen);
        memset(first, 0, PUSHES * sizeof *first);
        requests = pushes = last = 0;
        latency *= 1000;
        is_held = 1;
        puts("");
    } else if (!strcmp(line, "open\n")) {
        is_held = 0;
        printf("%ld %ld\n", now(), requests);
    } else if (!strcmp(line, "report\n")) {
        printf("%ld %ld %ld\n", requests, pushes, last);
    } else if (sscanf(line, "arrivals %ld %ld", &from, &count) == 2 && from >= 0 && count >= 0 && from + count <= PUSHES) {
        for (int64_t i = from; i < from + count; i++) printf("%ld ", first[i]);
        puts("");
    } else {
        exit(2);
    }
}

int main(int arguments, char **argument) {
    if (arguments != 3) return fprintf(stderr, "usage: gateway CERTIFICATE KEY\n"), 2;
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdin, NULL, _IONBF, 0); /* epoll must see what has not been read */
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    seen = allocate(PUSHES * sizeof *seen);
    first = allocate(PUSHES * sizeof *first);
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(context, argument[1]) != 1) fail(argument[1]);
    if (SSL_CTX_use_PrivateKey_file(context, argument[2], SSL_FILETYPE_PEM) != 1) fail(argument[2]);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);

    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 128)) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[64], event = {.events = EPOLLIN, .data.ptr = &listener};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    event.data.ptr = stdin;
    epoll_ctl(poller, EPOLL_CTL_ADD, STDIN_FILENO, &event);
    while (1) {
        int64_t wait = 1000;
        if (!is_held && !STAILQ_EMPTY(&waiting)) wait = (STAILQ_FIRST(&waiting)->due - now() + 999) / 1000;
        int ready = epoll_wait(poller, events, 64, wait < 0 ? 0 : (int)wait);
        for (int i = 0; i < ready; i++) {
            void *source = events[i].data.ptr;
            if (source == &listener) accept_connection(listener, context);
            else if (source == stdin) obey();
            else receive(source);
        }
        answer();
        while (!SLIST_EMPTY(&touched)) {
            Connection *connection = SLIST_FIRST(&touched);
            SLIST_REMOVE_HEAD(&touched, touched);
            connection->is_touched = 0;
            send_output(connection);
            if (connection->is_broken) end_connection(connection);
        }
    }
}
