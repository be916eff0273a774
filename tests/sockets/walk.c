/* Walks through the sockets API of SCTP as programs use it: both styles, descriptors, notifications, ancillary data, options,
 * fork and exec. Says what is wrong and ends with 1 at the first surprise. Built with the headers of the system, and run by
 * `polypath with`; where the kernel has SCTP, it can be run by itself to see what Linux does. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/sctp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *step = "start";
static volatile int line;

/* Says where it hangs. */
static void on_alarm(int number)
{
    (void)number;
    fprintf(stderr, "walk: %s: line %d or behind: no end\n", step, line);
    _exit(1);
}

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        line = __LINE__;                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "walk: %s: line %d: %s (errno %d: %s)\n", step, __LINE__, #condition, errno,      \
                    strerror(errno));                                                                        \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#define FAILS(call, number) CHECK((call) == -1 && errno == (number))

static struct sockaddr_in at(const char *ip, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    CHECK(inet_pton(AF_INET, ip, &address.sin_addr) == 1);
    return address;
}

static int one_to_one(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
    CHECK(fd >= 0);
    return fd;
}

static int one_to_many(int port)
{
    int fd = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
    struct sockaddr_in address = at("127.0.0.1", port);
    CHECK(fd >= 0);
    CHECK(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(fd, 5) == 0);
    return fd;
}

static int port_of(int fd)
{
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    CHECK(getsockname(fd, (struct sockaddr *)&address, &length) == 0 && length == sizeof address);
    return ntohs(address.sin_port);
}

static int listener(int backlog)
{
    int fd = one_to_one();
    struct sockaddr_in address = at("127.0.0.1", 0);
    CHECK(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(fd, backlog) == 0);
    CHECK(port_of(fd) != 0);
    return fd;
}

static int connected(int port)
{
    int fd = one_to_one();
    struct sockaddr_in address = at("127.0.0.1", port);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return fd;
}

static short ready(int fd, short events, int timeout_ms)
{
    struct pollfd entry = {.fd = fd, .events = events};
    CHECK(poll(&entry, 1, timeout_ms) >= 0);
    return entry.revents;
}

static void subscribe(int fd, int kind)
{
    struct sctp_event event = {.se_type = kind, .se_on = 1};
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event) == 0);
}

/* The next message or notification, and what came with it. */
static int receive(int fd, char *buffer, size_t size, struct sctp_sndrcvinfo *info, int *flags)
{
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    *flags = 0;
    return sctp_recvmsg(fd, buffer, size, (struct sockaddr *)&from, &length, info, flags);
}

static void expect_change(int fd, int state, sctp_assoc_t *id)
{
    char buffer[1024];
    struct sctp_sndrcvinfo info;
    int flags, got = receive(fd, buffer, sizeof buffer, &info, &flags);
    union sctp_notification *told = (union sctp_notification *)buffer;
    CHECK(got >= (int)sizeof told->sn_assoc_change && (flags & MSG_NOTIFICATION));
    CHECK(told->sn_header.sn_type == SCTP_ASSOC_CHANGE && told->sn_header.sn_length == (unsigned)got);
    CHECK(told->sn_assoc_change.sac_state == state);
    if (id)
        *id = told->sn_assoc_change.sac_assoc_id;
}

static void sockets_themselves(void)
{
    step = "sockets themselves";
    int value, fd = one_to_one();
    socklen_t length = sizeof value;
    CHECK(getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &length) == 0 && value == SOCK_STREAM);
    CHECK(getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &value, &length) == 0 && value == IPPROTO_SCTP);
    CHECK(getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &value, &length) == 0 && value == AF_INET);
    CHECK(getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value == 0);
    struct sockaddr_in nobody = at("127.0.0.1", 1), foreign = at("192.0.2.77", 0);
    FAILS(connect(fd, (struct sockaddr *)&nobody, sizeof nobody), ECONNREFUSED);
    FAILS(bind(fd, (struct sockaddr *)&foreign, sizeof foreign), EADDRNOTAVAIL);
    FAILS(accept(fd, NULL, NULL), EINVAL);
    FAILS(connect(fd, (struct sockaddr *)&nobody, sizeof nobody - 3), EINVAL);
    FAILS(bind(fd, (struct sockaddr *)&nobody, sizeof nobody - 3), EINVAL);
    FAILS(sctp_sendmsg(fd, "x", 1, (struct sockaddr *)&nobody, sizeof nobody, 0, 999, 0, 0, 0), EINVAL);
    FAILS(getsockopt(fd, IPPROTO_SCTP, SCTP_AUTOCLOSE, &value, &length), EOPNOTSUPP);
    FAILS(getpeername(fd, (struct sockaddr *)&nobody, &length), ENOTCONN);
    FAILS(send(fd, "x", 1, MSG_NOSIGNAL), EPIPE);
    FAILS(setsockopt(fd, IPPROTO_SCTP, 999, &value, sizeof value), ENOPROTOOPT);
    FAILS(setsockopt(fd, SOL_SOCKET, SO_MARK, &value, sizeof value), ENOPROTOOPT);
    CHECK(close(fd) == 0);
    FAILS(close(fd), EBADF);
    struct sockaddr *list;
    FAILS(sctp_getladdrs(fd, 0, &list), EBADF);
    FAILS(sctp_connectx(-1, (struct sockaddr *)&nobody, 1, NULL), EBADF);
    /* Others are left alone, and the lowest number is given to each new descriptor. */
    int tcp = socket(AF_INET, SOCK_STREAM, 0), pipes[2];
    FAILS(sctp_getladdrs(tcp, 0, &list), EOPNOTSUPP);
    CHECK(tcp == fd && pipe(pipes) == 0 && write(pipes[1], "ab", 2) == 2 && read(pipes[0], &value, 2) == 2);
    CHECK(close(tcp) == 0 && close(pipes[0]) == 0 && close(pipes[1]) == 0);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_SCTP);
    CHECK(fd == tcp && (fcntl(fd, F_GETFL) & O_NONBLOCK) && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
    close(fd);
    int first = listener(1), second = one_to_one();
    struct sockaddr_in taken = at("127.0.0.1", port_of(first));
    FAILS(bind(second, (struct sockaddr *)&taken, sizeof taken), EADDRINUSE);
    CHECK(getsockopt(first, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value == 1);
    close(first);
    close(second);
}

/* Numbers of descriptors are used again, and whatever closes one, the next file is no socket. */
static void numbers_of_descriptors(void)
{
    step = "numbers of descriptors";
    char byte;
    for (int way = 0; way < 4; way++) {
        int fd = one_to_one(), other = listener(1), files[2], again[2];
        CHECK(fd < other);
        switch (way) {
        case 0: {
            FILE *stream = fdopen(fd, "r+");
            CHECK(stream && fclose(stream) == 0);
            break;
        }
        case 1:
            CHECK(close_range(fd, fd, 0) == 0);
            break;
        case 2:
            CHECK(pipe(files) == 0 && dup2(files[0], fd) == fd && close(files[0]) == 0 && close(files[1]) == 0);
            CHECK(read(fd, &byte, 1) == 0 && close(fd) == 0);
            break;
        default:
            CHECK(close(fd) == 0);
        }
        CHECK(pipe(again) == 0 && again[0] == fd);
        CHECK(write(again[1], "x", 1) == 1 && read(again[0], &byte, 1) == 1 && byte == 'x');
        CHECK(port_of(other) != 0);
        close(again[0]);
        close(again[1]);
        close(other);
    }
    /* What a child does before it executes a program means nothing to its parent, whose memory it borrows. */
    int server = listener(1), copy = dup(server), status;
    pid_t child = vfork();
    if (child == 0) {
        close(server);
        dup2(0, copy);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(port_of(server) == port_of(copy));
    close(server);
    close(copy);
}

/* Calls that are other calls several times over, or none of ours. */
static void several_at_once(void)
{
    step = "several at once";
    int server = listener(1), client = connected(port_of(server)), accepted = accept(server, NULL, NULL);
    CHECK(accepted >= 0);
    char texts[3][8] = {"one", "two", "three"}, buffers[4][8];
    struct iovec parts[4];
    struct mmsghdr messages[4];
    memset(messages, 0, sizeof messages);
    for (int i = 0; i < 3; i++) {
        parts[i] = (struct iovec){texts[i], strlen(texts[i])};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
    }
    CHECK(sendmmsg(client, messages, 3, 0) == 3 && messages[2].msg_len == 5);
    memset(messages, 0, sizeof messages);
    for (int i = 0; i < 4; i++) {
        parts[i] = (struct iovec){buffers[i], sizeof buffers[i]};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
    }
    CHECK(recvmmsg(accepted, messages, 3, 0, NULL) == 3);
    CHECK(messages[0].msg_len == 3 && messages[2].msg_len == 5 && !memcmp(buffers[2], "three", 5));
    CHECK(messages[1].msg_hdr.msg_flags & MSG_EOR);
    FAILS(recvmmsg(accepted, messages, 4, MSG_DONTWAIT, NULL), EAGAIN);
    CHECK(send(client, "one", 3, 0) == 3);
    CHECK(recvmmsg(accepted, messages, 4, MSG_WAITFORONE, NULL) == 1);
    FAILS(sendfile(client, server, NULL, 1), EINVAL);
    FAILS(ioctl(accepted, FIONREAD, (void *)8), EFAULT);
    close(accepted);
    close(client);
    close(server);
}

static void streams_of_one_association(void)
{
    step = "one-to-one";
    int server = listener(5), client = one_to_one();
    struct sctp_initmsg init = {.sinit_num_ostreams = 7, .sinit_max_instreams = 9};
    CHECK(setsockopt(client, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof init) == 0);
    CHECK(ready(server, POLLIN, 0) == 0);
    struct sockaddr_in address = at("127.0.0.1", port_of(server)), peer;
    CHECK(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
    FAILS(connect(client, (struct sockaddr *)&address, sizeof address), EISCONN);
    CHECK(ready(server, POLLIN, 5000) & POLLIN);
    socklen_t length = sizeof peer;
    int accepted = accept4(server, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC);
    CHECK(accepted >= 0 && ntohs(peer.sin_port) == port_of(client));
    length = sizeof peer;
    CHECK(getpeername(client, (struct sockaddr *)&peer, &length) == 0);
    CHECK(peer.sin_port == address.sin_port && peer.sin_addr.s_addr == address.sin_addr.s_addr);

    struct sctp_status status;
    length = sizeof status;
    CHECK(getsockopt(client, IPPROTO_SCTP, SCTP_STATUS, &status, &length) == 0);
    CHECK(length == sizeof status && status.sstat_state == SCTP_ESTABLISHED);
    CHECK(status.sstat_outstrms == 7 && status.sstat_instrms == 9);

    /* Borders of messages, streams and payload protocol identifiers stay. */
    int on = 1, flags;
    CHECK(setsockopt(accepted, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on) == 0);
    struct sctp_event_subscribe events = {.sctp_data_io_event = 1};
    CHECK(setsockopt(accepted, IPPROTO_SCTP, SCTP_EVENTS, &events, sizeof events) == 0);
    CHECK(sctp_sendmsg(client, "first", 5, NULL, 0, htonl(46), 0, 3, 0, 0) == 5);
    CHECK(sctp_sendmsg(client, "second one", 10, NULL, 0, htonl(47), SCTP_UNORDERED, 4, 0, 0) == 10);
    struct sctp_sndrcvinfo info;
    char buffer[70000];
    CHECK(receive(accepted, buffer, sizeof buffer, &info, &flags) == 5 && (flags & MSG_EOR));
    CHECK(!memcmp(buffer, "first", 5) && info.sinfo_stream == 3 && ntohl(info.sinfo_ppid) == 46);
    CHECK((int)(info.sinfo_cumtsn - info.sinfo_tsn) >= 0);
    struct iovec part = {buffer, 4};
    char control[256];
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    CHECK(ready(accepted, POLLIN, 5000) & POLLIN);
    CHECK(ioctl(accepted, FIONREAD, &on) == 0 && on == 10);
    CHECK(recvmsg(accepted, &message, 0) == 4 && !(message.msg_flags & MSG_EOR));
    struct sctp_rcvinfo *received = NULL;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item))
        if (item->cmsg_level == IPPROTO_SCTP && item->cmsg_type == SCTP_RCVINFO)
            received = (struct sctp_rcvinfo *)CMSG_DATA(item);
    CHECK(received && received->rcv_sid == 4 && ntohl(received->rcv_ppid) == 47 && (received->rcv_flags & SCTP_UNORDERED));
    CHECK(received->rcv_tsn == info.sinfo_tsn + 1 && (int)(received->rcv_cumtsn - received->rcv_tsn) >= 0);
    /* What did not fit is readable, and comes next. */
    CHECK(ready(accepted, POLLIN, 0) & POLLIN);
    CHECK(recv(accepted, buffer, sizeof buffer, 0) == 6 && !memcmp(buffer, "nd one", 6));
    CHECK(ready(accepted, POLLIN, 0) == 0);
    FAILS(recv(accepted, buffer, sizeof buffer, MSG_DONTWAIT), EAGAIN);

    /* Nothing to send, and data that was only looked at. */
    FAILS(send(client, "", 0, 0), EINVAL);
    /* A message does not end a one-to-one socket: that is for close() and shutdown(). */
    struct sctp_sndinfo last = {.snd_flags = SCTP_EOF};
    part = (struct iovec){buffer, 4};
    FAILS(sctp_sendv(client, &part, 1, NULL, 0, &last, sizeof last, SCTP_SENDV_SNDINFO, 0), EINVAL);
    CHECK(send(client, "peeked", 6, 0) == 6);
    CHECK(recv(accepted, buffer, sizeof buffer, MSG_PEEK) == 6 && recv(accepted, buffer, sizeof buffer, 0) == 6);

    struct timeval limit = {.tv_usec = 20000};
    CHECK(setsockopt(accepted, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    FAILS(recv(accepted, buffer, sizeof buffer, 0), EAGAIN);

    /* The end: nothing more is sent, the other direction goes on until it is read. */
    memset(buffer, 'x', sizeof buffer);
    CHECK(write(accepted, buffer, 60000) == 60000);
    CHECK(ready(client, POLLIN, 5000) & POLLIN);
    CHECK(shutdown(client, SHUT_WR) == 0);
    CHECK(read(client, buffer, sizeof buffer) == 60000 && buffer[59999] == 'x');
    CHECK(read(accepted, buffer, sizeof buffer) == 0);
    FAILS(read(client, buffer, sizeof buffer), ENOTCONN);
    signal(SIGPIPE, SIG_IGN);
    FAILS(write(accepted, "late", 4), EPIPE);
    close(accepted);
    close(client);
    close(server);
}

static void without_blocking(void)
{
    step = "without blocking";
    int server = listener(5), client = one_to_one(), value;
    socklen_t length = sizeof value;
    CHECK(fcntl(client, F_SETFL, O_NONBLOCK) == 0 && fcntl(server, F_SETFL, O_NONBLOCK) == 0);
    FAILS(accept(server, NULL, NULL), EAGAIN);
    /* As with the kernel's sockets: there is nothing to write on one that listens. */
    CHECK(ready(server, POLLIN | POLLOUT, 0) == 0);
    struct sockaddr_in address = at("127.0.0.1", port_of(server)), nobody = at("127.0.0.1", 1);
    FAILS(connect(client, (struct sockaddr *)&address, sizeof address), EINPROGRESS);
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = server};
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, server, &event) == 0);
    event = (struct epoll_event){.events = EPOLLOUT, .data.fd = client};
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, client, &event) == 0);
    int seen = 0;
    while (seen != 3) {
        CHECK(epoll_wait(epoll, &event, 1, 5000) == 1);
        seen |= event.data.fd == server ? 1 : 2;
        CHECK(epoll_ctl(epoll, EPOLL_CTL_DEL, event.data.fd, NULL) == 0);
    }
    CHECK(getsockopt(client, SOL_SOCKET, SO_ERROR, &value, &length) == 0 && value == 0);
    int accepted = accept(server, NULL, NULL);
    CHECK(accepted >= 0);

    /* A program that does not read holds the other one up, and nothing is lost. */
    char block[8192];
    long sent = 0, got = 0;
    while (ready(client, POLLOUT, 300) & POLLOUT) {
        memset(block, 'a' + sent % 26, sizeof block);
        if (send(client, block, sizeof block, 0) < 0) {
            CHECK(errno == EAGAIN);
            continue;
        }
        sent++;
        if (sent > 20000)
            break;
    }
    while (got < sent) {
        CHECK(recv(accepted, block, sizeof block, 0) == sizeof block);
        CHECK(block[0] == 'a' + got % 26 && block[8191] == block[0]);
        got++;
    }
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(accepted, &readable);
    struct timeval limit = {0};
    CHECK(select(accepted + 1, &readable, NULL, NULL, &limit) == 0);

    int refused = one_to_one();
    CHECK(fcntl(refused, F_SETFL, O_NONBLOCK) == 0);
    FAILS(connect(refused, (struct sockaddr *)&nobody, sizeof nobody), EINPROGRESS);
    CHECK(ready(refused, POLLOUT, 5000) & POLLOUT);
    CHECK(getsockopt(refused, SOL_SOCKET, SO_ERROR, &value, &length) == 0 && value == ECONNREFUSED);
    CHECK(getsockopt(refused, SOL_SOCKET, SO_ERROR, &value, &length) == 0 && value == 0);
    close(refused);
    close(epoll);
    close(client);
    CHECK(recv(accepted, block, sizeof block, 0) == 0);
    close(accepted);
    close(server);
}

/* Writes until all queues to a program that does not read are full; the number of blocks, each of which begins with its own. */
static int fill(int fd)
{
    int block[2048] = {0}, sent = 0;
    CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    while (sent < 20000 && (ready(fd, POLLOUT, 300) & POLLOUT)) {
        block[0] = sent;
        if (send(fd, block, sizeof block, 0) == sizeof block)
            sent++;
        else
            CHECK(errno == EAGAIN);
    }
    CHECK(fcntl(fd, F_SETFL, 0) == 0);
    return sent;
}

/* Notifications come from the moment when they are wanted, and have their place among the messages. */
static void notifications_and_messages(void)
{
    step = "notifications and messages";
    int server = listener(1), client = one_to_one(), flags;
    char buffer[9000];
    union sctp_notification *told = (union sctp_notification *)buffer;
    struct sctp_sndrcvinfo info;
    /* That the peer does not authenticate is reported when the association begins. */
    subscribe(client, SCTP_AUTHENTICATION_EVENT);
    struct sockaddr_in address = at("127.0.0.1", port_of(server));
    CHECK(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(receive(client, buffer, sizeof buffer, &info, &flags) == (int)sizeof told->sn_authkey_event);
    CHECK((flags & MSG_NOTIFICATION) && told->sn_authkey_event.auth_indication == SCTP_AUTH_NO_AUTH);
    int accepted = accept(server, NULL, NULL);
    CHECK(accepted >= 0);
    int sent = fill(client), read = 0, is_dry = 0;
    subscribe(accepted, SCTP_SENDER_DRY_EVENT);
    CHECK(send(accepted, "x", 1, 0) == 1 && recv(client, buffer, sizeof buffer, 0) == 1);
    while (read < sent || !is_dry) {
        CHECK(receive(accepted, buffer, sizeof buffer, &info, &flags) > 0);
        if (flags & MSG_NOTIFICATION) {
            CHECK(told->sn_header.sn_type == SCTP_SENDER_DRY_EVENT);
            is_dry = 1;
        } else {
            CHECK(*(int *)buffer == read++);
        }
    }
    struct sctp_event off = {.se_type = SCTP_SENDER_DRY_EVENT};
    CHECK(setsockopt(accepted, IPPROTO_SCTP, SCTP_EVENT, &off, sizeof off) == 0);
    subscribe(accepted, SCTP_SHUTDOWN_EVENT);
    sent = fill(client);
    CHECK(shutdown(client, SHUT_WR) == 0);
    for (read = 0; read < sent; read++) {
        CHECK(receive(accepted, buffer, sizeof buffer, &info, &flags) == 8192 && !(flags & MSG_NOTIFICATION));
        CHECK(*(int *)buffer == read);
    }
    CHECK(receive(accepted, buffer, sizeof buffer, &info, &flags) > 0 && (flags & MSG_NOTIFICATION));
    CHECK(told->sn_header.sn_type == SCTP_SHUTDOWN_EVENT);
    CHECK(receive(accepted, buffer, sizeof buffer, &info, &flags) == 0);
    close(accepted);
    close(client);
    close(server);
}

/* A notification of a kind, and nothing else. */
static void expect_notification(int fd, int kind)
{
    char buffer[1024];
    struct sctp_sndrcvinfo info;
    int flags, got = receive(fd, buffer, sizeof buffer, &info, &flags);
    CHECK(got > 0 && (flags & MSG_NOTIFICATION) && ((union sctp_notification *)buffer)->sn_header.sn_type == kind);
}

/* Notifications of an association that began before it was accepted, and of one whose peer has shut down. */
static void notifications_of_beginnings_and_ends(void)
{
    step = "notifications of beginnings and ends";
    char buffer[9000];
    struct sctp_sndrcvinfo info;
    int server = listener(1), flags;
    subscribe(server, SCTP_AUTHENTICATION_EVENT);
    subscribe(server, SCTP_SHUTDOWN_EVENT);
    for (int i = 0; i < 20; i++) {
        int client = connected(port_of(server));
        CHECK(send(client, "all", 3, 0) == 3 && close(client) == 0);
        int accepted = accept(server, NULL, NULL);
        CHECK(accepted >= 0);
        expect_notification(accepted, SCTP_AUTHENTICATION_EVENT);
        CHECK(receive(accepted, buffer, sizeof buffer, &info, &flags) == 3 && !(flags & MSG_NOTIFICATION));
        expect_notification(accepted, SCTP_SHUTDOWN_EVENT);
        CHECK(receive(accepted, buffer, sizeof buffer, &info, &flags) == 0);
        close(accepted);
    }
    close(server);
    /* The peer has shut down, and does not read yet what was sent to it. */
    server = listener(1);
    int client = connected(port_of(server)), accepted = accept(server, NULL, NULL);
    subscribe(accepted, SCTP_ASSOC_CHANGE);
    int sent = fill(accepted);
    CHECK(shutdown(client, SHUT_WR) == 0);
    struct sctp_status status = {.sstat_state = SCTP_ESTABLISHED};
    while (status.sstat_state == SCTP_ESTABLISHED) {
        socklen_t length = sizeof status;
        CHECK(getsockopt(accepted, IPPROTO_SCTP, SCTP_STATUS, &status, &length) == 0);
    }
    CHECK(status.sstat_state == SCTP_SHUTDOWN_RECEIVED);
    subscribe(accepted, SCTP_SENDER_DRY_EVENT);
    for (int read = 0; read < sent; read++)
        CHECK(recv(client, buffer, sizeof buffer, 0) == 8192);
    expect_notification(accepted, SCTP_SENDER_DRY_EVENT);
    expect_change(accepted, SCTP_SHUTDOWN_COMP, NULL);
    close(accepted);
    close(client);
    close(server);
}

static void set_send_buffer(int fd, int bytes)
{
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) == 0);
}

/* Whether a set of descriptors has something to read. */
static int epoll_says(int set)
{
    struct epoll_event event;
    int count = epoll_wait(set, &event, 1, 0);
    CHECK(count >= 0);
    return count;
}

/* Messages that are larger than the queue of a descriptor, in one piece and read bit by bit. */
static void large_messages(void)
{
    step = "large messages";
    int server = listener(1), client = connected(port_of(server)), accepted = accept(server, NULL, NULL);
    size_t size = 5 << 20, done = 0;
    /* The last part is asked for in full. */
    char *out = malloc(size), *in = malloc(size + 300001);
    CHECK(accepted >= 0 && out && in);
    for (size_t n = 0; n < size; n++)
        out[n] = (char)(n * 7 + n / 1000);
    for (int round = 0; round < 3; round++) {
        CHECK(send(client, out, size, 0) == (ssize_t)size);
        memset(in, 0, size);
        struct iovec part = {in, size + 1};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        CHECK(recvmsg(accepted, &message, 0) == (ssize_t)size && (message.msg_flags & MSG_EOR) && !memcmp(in, out, size));
    }
    /* All that waits for the descriptor sees that there is more, until the last byte is read. */
    int set = epoll_create1(0), waiting;
    struct epoll_event event = {.events = EPOLLIN};
    CHECK(epoll_ctl(set, EPOLL_CTL_ADD, accepted, &event) == 0);
    CHECK(send(client, out, size, 0) == (ssize_t)size && send(client, "next", 4, 0) == 4);
    CHECK(ready(accepted, POLLIN, 5000) & POLLIN);
    CHECK(recv(accepted, in, 9, MSG_PEEK) == 9 && !memcmp(in, out, 9));
    while (done < size) {
        size_t left = size - done, most = 300001;
        CHECK(epoll_says(set) == 1);
        CHECK(ioctl(accepted, FIONREAD, &waiting) == 0 && waiting == (int)left);
        CHECK(recv(accepted, in + done, most, 0) == (ssize_t)(left < most ? left : most));
        done += left < most ? left : most;
    }
    CHECK(!memcmp(in, out, size));
    CHECK(recv(accepted, in, 2, 0) == 2 && epoll_says(set) == 1 && recv(accepted, in, 9, 0) == 2 && !memcmp(in, "xt", 2));
    CHECK(epoll_says(set) == 0);
    fd_set readable;
    struct timeval limit = {0};
    CHECK(send(client, "half", 4, 0) == 4 && ready(accepted, POLLIN, 5000) && recv(accepted, in, 1, 0) == 1);
    int copy = dup(accepted);
    FD_ZERO(&readable);
    FD_SET(copy, &readable);
    CHECK(select(copy + 1, &readable, NULL, NULL, &limit) == 1);
    CHECK(recv(copy, in, 9, 0) == 3 && !memcmp(in, "alf", 3));

    /* Several parts of which the border is in the middle, and more than the send buffer takes. */
    struct iovec parts[3] = {{out, 100000}, {out + 100000, 100000}, {out + 200000, 100000}};
    CHECK(writev(client, parts, 3) == 300000 && recv(accepted, in, size, 0) == 300000 && !memcmp(in, out, 300000));
    set_send_buffer(client, 1 << 20);
    FAILS(send(client, out, size, 0), EMSGSIZE);
    CHECK(send(client, out, 1 << 20, 0) == 1 << 20 && recv(accepted, in, size, 0) == 1 << 20);
    FAILS(send(client, (char *)8, 300000, 0), EFAULT);
    FAILS(send(client, (char *)8, 300, 0), EFAULT);
    free(out);
    free(in);
    close(set);
    close(copy);
    close(client);
    close(accepted);
    close(server);
}

static void many_associations(void)
{
    step = "one-to-many";
    int a = one_to_many(0), b = one_to_many(0), flags;
    subscribe(a, SCTP_ASSOC_CHANGE);
    subscribe(b, SCTP_ASSOC_CHANGE);
    subscribe(b, SCTP_SHUTDOWN_EVENT);
    struct sctp_event_subscribe events;
    socklen_t length = sizeof events;
    CHECK(getsockopt(b, IPPROTO_SCTP, SCTP_EVENTS, &events, &length) == 0 && events.sctp_shutdown_event == 1);
    int on = 1;
    CHECK(setsockopt(b, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on) == 0);
    struct sockaddr_in address = at("127.0.0.1", port_of(b));
    sctp_assoc_t here, there, id = 0;
    CHECK(sctp_sendmsg(a, "ping", 4, (struct sockaddr *)&address, sizeof address, 0, 0, 0, 0, 0) == 4);
    expect_change(a, SCTP_COMM_UP, &here);
    expect_change(b, SCTP_COMM_UP, &there);
    struct sctp_sndrcvinfo info;
    char buffer[1000];
    CHECK(receive(b, buffer, sizeof buffer, &info, &flags) == 4 && info.sinfo_assoc_id == there);

    /* Answers by the association's identifier. */
    struct sctp_sndinfo send_info = {.snd_assoc_id = there, .snd_ppid = htonl(9)};
    struct iovec part = {(void *)"pong", 4};
    CHECK(sctp_sendv(b, &part, 1, NULL, 0, &send_info, sizeof send_info, SCTP_SENDV_SNDINFO, 0) == 4);
    struct sctp_rcvinfo received;
    unsigned kind = 0;
    length = sizeof received;
    socklen_t no_length = 0;
    part = (struct iovec){buffer, sizeof buffer};
    CHECK(setsockopt(a, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on) == 0);
    flags = 0;
    CHECK(sctp_recvv(a, &part, 1, NULL, &no_length, &received, &length, &kind, &flags) == 4);
    CHECK(received.rcv_assoc_id == here && ntohl(received.rcv_ppid) == 9 && kind == SCTP_RECVV_RCVINFO);

    unsigned number;
    length = sizeof number;
    CHECK(getsockopt(a, IPPROTO_SCTP, SCTP_GET_ASSOC_NUMBER, &number, &length) == 0 && number == 1);
    FAILS(send(a, "nowhere", 7, MSG_NOSIGNAL), EPIPE);

    /* Addresses of both sides. */
    struct sockaddr *list;
    CHECK(sctp_getpaddrs(a, here, &list) >= 1 && ((struct sockaddr_in *)list)->sin_port == address.sin_port);
    sctp_freepaddrs(list);
    CHECK(sctp_getladdrs(b, 0, &list) == 1 && ((struct sockaddr_in *)list)->sin_port == address.sin_port);
    sctp_freeladdrs(list);

    /* An association of its own socket. */
    CHECK(sctp_sendmsg(a, "waiting", 7, (struct sockaddr *)&address, sizeof address, 0, 0, 0, 0, 0) == 7);
    CHECK(sctp_sendmsg(a, "too", 3, (struct sockaddr *)&address, sizeof address, 0, 0, 0, 0, 0) == 3);
    CHECK(receive(b, buffer, 4, &info, &flags) == 4 && !(flags & MSG_EOR));
    send_info = (struct sctp_sndinfo){.snd_assoc_id = there};
    part = (struct iovec){(void *)"before", 6};
    for (int i = 0; i < 50; i++)
        CHECK(sctp_sendv(b, &part, 1, NULL, 0, &send_info, sizeof send_info, SCTP_SENDV_SNDINFO, 0) == 6);
    int peeled = sctp_peeloff(b, there);
    CHECK(peeled >= 0 && send(peeled, "alone", 5, 0) == 5);
    for (int i = 0; i < 50; i++)
        CHECK(receive(a, buffer, sizeof buffer, &info, &flags) == 6 && !memcmp(buffer, "before", 6));
    CHECK(receive(a, buffer, sizeof buffer, &info, &flags) == 5 && !memcmp(buffer, "alone", 5));
    CHECK(recv(peeled, buffer, sizeof buffer, 0) == 3 && !memcmp(buffer, "ing", 3));
    CHECK(recv(peeled, buffer, sizeof buffer, 0) == 3 && !memcmp(buffer, "too", 3));
    FAILS(recv(b, buffer, sizeof buffer, MSG_DONTWAIT), EAGAIN);
    close(peeled);
    expect_change(a, SCTP_SHUTDOWN_COMP, &id);
    CHECK(id == here);

    /* A graceful end by a flag, and one at once. */
    CHECK(sctp_sendmsg(a, "again", 5, (struct sockaddr *)&address, sizeof address, 0, 0, 0, 0, 0) == 5);
    expect_change(a, SCTP_COMM_UP, &here);
    expect_change(b, SCTP_COMM_UP, &there);
    CHECK(receive(b, buffer, sizeof buffer, &info, &flags) == 5);
    send_info = (struct sctp_sndinfo){.snd_assoc_id = here, .snd_flags = SCTP_ABORT};
    part = (struct iovec){(void *)"why", 3};
    CHECK(sctp_sendv(a, &part, 1, NULL, 0, &send_info, sizeof send_info, SCTP_SENDV_SNDINFO, 0) == 3);
    expect_change(b, SCTP_COMM_LOST, &id);
    CHECK(id == there);
    FAILS(sctp_peeloff(b, there), EINVAL);

    /* A peeled-off socket has the same flags. */
    expect_change(a, SCTP_COMM_LOST, &id);
    CHECK(id == here);
    for (int is_abort = 0; is_abort < 2; is_abort++) {
        CHECK(sctp_sendmsg(a, "new", 3, (struct sockaddr *)&address, sizeof address, 0, 0, 0, 0, 0) == 3);
        expect_change(a, SCTP_COMM_UP, &here);
        expect_change(b, SCTP_COMM_UP, &there);
        peeled = sctp_peeloff(b, there);
        CHECK(peeled >= 0 && recv(peeled, buffer, sizeof buffer, 0) == 3);
        CHECK(sctp_sendmsg(peeled, "end", 3, NULL, 0, 0, is_abort ? SCTP_ABORT : SCTP_EOF, 0, 0, 0) == 3);
        if (!is_abort)
            CHECK(receive(a, buffer, sizeof buffer, &info, &flags) == 3 && !memcmp(buffer, "end", 3));
        expect_change(a, is_abort ? SCTP_COMM_LOST : SCTP_SHUTDOWN_COMP, &id);
        CHECK(id == here);
        close(peeled);
    }
    close(a);
    close(b);
}

/* Ancillary data of level SCTP, appended to what there is. */
static void add_item(struct msghdr *message, int type, const void *data, size_t size)
{
    struct cmsghdr *item = (struct cmsghdr *)((char *)message->msg_control + message->msg_controllen);
    *item = (struct cmsghdr){.cmsg_level = IPPROTO_SCTP, .cmsg_type = type, .cmsg_len = CMSG_LEN(size)};
    memcpy(CMSG_DATA(item), data, size);
    message->msg_controllen += CMSG_SPACE(size);
}

/* FreeBSD has it, libsctp has not: there it is found only where the library of this project is in front. */
typedef int send_function(int, const void *, size_t, struct sockaddr *, int, const struct sctp_sndrcvinfo *, int);

/* What a message says of the association that begins with it, and of where it goes. */
static void beginnings(void)
{
    step = "messages that begin associations";
    int a = one_to_many(0), b = one_to_many(0), flags;
    subscribe(b, SCTP_ASSOC_CHANGE);
    subscribe(a, SCTP_SEND_FAILED_EVENT);
    struct sockaddr_in address = at("127.0.0.1", port_of(b));
    struct sctp_initmsg init = {.sinit_num_ostreams = 5, .sinit_max_instreams = 6};
    char buffer[1000];
    long control[32] = {0};
    struct iovec part = {(void *)"hello", 5};
    struct msghdr message = {.msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &part, .msg_iovlen = 1,
                             .msg_control = control};
    add_item(&message, SCTP_INIT, &init, sizeof init);
    /* The peer has the address already: one association, and not two. */
    add_item(&message, SCTP_DSTADDRV4, &address.sin_addr, sizeof address.sin_addr);
    CHECK(sendmsg(a, &message, 0) == 5);
    /* A call that may wait has waited for the association. */
    struct { unsigned count; sctp_assoc_t id; } begun;
    socklen_t length = sizeof begun;
    CHECK(getsockopt(a, IPPROTO_SCTP, SCTP_GET_ASSOC_ID_LIST, &begun, &length) == 0 && begun.count == 1);
    struct sctp_status status = {.sstat_assoc_id = begun.id};
    length = sizeof status;
    CHECK(getsockopt(a, IPPROTO_SCTP, SCTP_STATUS, &status, &length) == 0 && status.sstat_state == SCTP_ESTABLISHED);
    struct sockaddr_in nobody = at("127.0.0.1", 0);
    FAILS(sendto(a, "x", 1, 0, (struct sockaddr *)&nobody, sizeof nobody), EINVAL);
    sctp_assoc_t there, other;
    expect_change(b, SCTP_COMM_UP, &there);
    struct sctp_sndrcvinfo info;
    CHECK(receive(b, buffer, sizeof buffer, &info, &flags) == 5 && info.sinfo_assoc_id == there);
    status = (struct sctp_status){.sstat_assoc_id = there};
    length = sizeof status;
    CHECK(getsockopt(b, IPPROTO_SCTP, SCTP_STATUS, &status, &length) == 0);
    CHECK(status.sstat_instrms == 5 && status.sstat_outstrms == 6);
    struct sctp_initmsg kept;
    length = sizeof kept;
    CHECK(getsockopt(a, IPPROTO_SCTP, SCTP_INITMSG, &kept, &length) == 0 && kept.sinit_num_ostreams != 5);

    /* To an address of the peer, and to one that it has not, of which only a notification tells. */
    struct sctp_sndinfo over = {.snd_flags = SCTP_ADDR_OVER};
    CHECK(sctp_sendv(a, &part, 1, (struct sockaddr *)&address, 1, &over, sizeof over, SCTP_SENDV_SNDINFO, 0) == 5);
    CHECK(receive(b, buffer, sizeof buffer, &info, &flags) == 5);
    unsigned ids[2];
    length = sizeof ids;
    CHECK(getsockopt(a, IPPROTO_SCTP, SCTP_GET_ASSOC_ID_LIST, ids, &length) == 0 && ids[0] == 1);
    over.snd_assoc_id = ids[1];
    struct sockaddr_in elsewhere = at("192.0.2.77", port_of(b));
    CHECK(sctp_sendv(a, &part, 1, (struct sockaddr *)&elsewhere, 1, &over, sizeof over, SCTP_SENDV_SNDINFO, 0) == 5);
    CHECK(receive(a, buffer, sizeof buffer, &info, &flags) >= (int)sizeof(struct sctp_send_failed_event));
    struct sctp_send_failed_event *failed = (struct sctp_send_failed_event *)buffer;
    CHECK(failed->ssf_type == SCTP_SEND_FAILED_EVENT && failed->ssf_error == EINVAL);

    send_function *sendx = (send_function *)dlsym(RTLD_DEFAULT, "sctp_sendx");
    if (sendx) {
        int c = one_to_many(0);
        info = (struct sctp_sndrcvinfo){.sinfo_ppid = htonl(8)};
        CHECK(sendx(c, "x", 1, (struct sockaddr *)&address, 1, &info, 0) == 1);
        expect_change(b, SCTP_COMM_UP, &other);
        CHECK(other != there && receive(b, buffer, sizeof buffer, &info, &flags) == 1);
        CHECK(info.sinfo_assoc_id == other && ntohl(info.sinfo_ppid) == 8);
        FAILS(sendx(c, "x", 1, (struct sockaddr *)buffer, -1, NULL, 0), EPIPE);
        close(c);
    }
    close(a);
    close(b);
}

/* Messages that do not arrive come back, and the reason of an abort reaches the peer. */
static void failures(void)
{
    step = "messages that come back";
    int a = one_to_many(0), b = one_to_many(0), flags, small = 20000, back = 0, got;
    subscribe(a, SCTP_SEND_FAILED);
    subscribe(a, SCTP_SEND_FAILED_EVENT);
    subscribe(a, SCTP_ASSOC_CHANGE);
    subscribe(b, SCTP_ASSOC_CHANGE);
    CHECK(setsockopt(b, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    struct sockaddr_in address = at("127.0.0.1", port_of(b));
    char block[9000], buffer[10000];
    memset(block, 'm', sizeof block);
    /* As many as all queues up to the program that does not read take. */
    int sent = 0;
    CHECK(fcntl(a, F_SETFL, O_NONBLOCK) == 0);
    do {
        if (sctp_sendmsg(a, block, sizeof block, (struct sockaddr *)&address, sizeof address, htonl(70 + sent), SCTP_UNORDERED, 1,
                         0, 1000 + sent) == sizeof block)
            sent++;
        else
            CHECK(errno == EAGAIN);
    } while (sent < 5000 && (ready(a, POLLOUT, 300) & POLLOUT));
    CHECK(fcntl(a, F_SETFL, 0) == 0);
    sctp_assoc_t here;
    expect_change(a, SCTP_COMM_UP, &here);
    /* The abort does not wait for them. */
    struct sctp_sndinfo info = {.snd_assoc_id = here, .snd_flags = SCTP_ABORT};
    struct iovec part = {(void *)"because", 7};
    CHECK(sctp_sendv(a, &part, 1, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0) == 7);
    struct sctp_sndrcvinfo received;
    union sctp_notification *told = (union sctp_notification *)buffer;
    int is_lost = 0;
    while (!is_lost || ready(a, POLLIN, 500)) {
        got = receive(a, buffer, sizeof buffer, &received, &flags);
        CHECK(got > 0 && (flags & MSG_NOTIFICATION) && told->sn_header.sn_length == (unsigned)got);
        if (told->sn_header.sn_type == SCTP_ASSOC_CHANGE) {
            CHECK(told->sn_assoc_change.sac_state == SCTP_COMM_LOST && !is_lost);
            is_lost = 1;
            continue;
        }
        if (told->sn_header.sn_type == SCTP_SEND_FAILED_EVENT) {
            struct sctp_send_failed_event *event = &told->sn_send_failed_event;
            unsigned number = event->ssfe_info.snd_context - 1000;
            CHECK(number < 5000 && ntohl(event->ssfe_info.snd_ppid) == 70 + number && event->ssfe_info.snd_sid == 1);
            CHECK((event->ssfe_info.snd_flags & SCTP_UNORDERED) && event->ssf_assoc_id == here);
            CHECK(got == (int)(sizeof *event + sizeof block) && !memcmp(event->ssf_data, block, sizeof block));
            back++;
        } else {
            struct sctp_send_failed *event = &told->sn_send_failed;
            CHECK(told->sn_header.sn_type == SCTP_SEND_FAILED && event->ssf_info.sinfo_context - 1000 < 5000);
            CHECK(got == (int)(sizeof *event + sizeof block) && !memcmp(event->ssf_data, block, sizeof block));
        }
    }
    do {
        got = receive(b, buffer, sizeof buffer, &received, &flags);
        CHECK(got > 0);
    } while (!(flags & MSG_NOTIFICATION) || told->sn_assoc_change.sac_state != SCTP_COMM_LOST);
    /* How many is a matter of time: the peer discards what it had acknowledged and not delivered. */
    CHECK(back > 0);
    /* As in Linux, the causes of the ABORT without the head of the chunk: one that the user has given (12). */
    unsigned char *cause = told->sn_assoc_change.sac_info;
    int length = got - (int)sizeof told->sn_assoc_change;
    CHECK(length >= 11 && cause[0] == 0 && cause[1] == 12 && cause[2] * 256 + cause[3] == 11);
    CHECK(!memcmp(cause + 4, "because", 7));
    close(a);
    close(b);
}

/* Each association of a socket has notifications and defaults of its own. */
static void options_of_each(void)
{
    step = "options of each association";
    int a = one_to_many(0), b = one_to_many(0), c = one_to_many(0), flags;
    subscribe(a, SCTP_ASSOC_CHANGE);
    sctp_assoc_t to_b, to_c;
    struct sockaddr_in address = at("127.0.0.1", port_of(b));
    CHECK(sctp_sendmsg(a, "1", 1, (struct sockaddr *)&address, sizeof address, 0, 0, 0, 0, 0) == 1);
    expect_change(a, SCTP_COMM_UP, &to_b);
    address = at("127.0.0.1", port_of(c));
    CHECK(sctp_sendmsg(a, "1", 1, (struct sockaddr *)&address, sizeof address, 0, 0, 0, 0, 0) == 1);
    expect_change(a, SCTP_COMM_UP, &to_c);
    struct sctp_sndrcvinfo info;
    char buffer[1000];
    CHECK(receive(b, buffer, sizeof buffer, &info, &flags) == 1 && receive(c, buffer, sizeof buffer, &info, &flags) == 1);

    struct sctp_sndinfo defaults = {.snd_assoc_id = to_b, .snd_sid = 3, .snd_ppid = htonl(5)};
    CHECK(setsockopt(a, IPPROTO_SCTP, SCTP_DEFAULT_SNDINFO, &defaults, sizeof defaults) == 0);
    memset(&defaults, 0, sizeof defaults);
    defaults.snd_assoc_id = to_c;
    socklen_t length = sizeof defaults;
    CHECK(getsockopt(a, IPPROTO_SCTP, SCTP_DEFAULT_SNDINFO, &defaults, &length) == 0 && defaults.snd_sid == 0);
    defaults.snd_assoc_id = to_b;
    CHECK(getsockopt(a, IPPROTO_SCTP, SCTP_DEFAULT_SNDINFO, &defaults, &length) == 0 && defaults.snd_sid == 3);
    defaults.snd_flags = SCTP_EOF;
    FAILS(setsockopt(a, IPPROTO_SCTP, SCTP_DEFAULT_SNDINFO, &defaults, sizeof defaults), EINVAL);
    defaults = (struct sctp_sndinfo){.snd_assoc_id = 2000000000};
    FAILS(setsockopt(a, IPPROTO_SCTP, SCTP_DEFAULT_SNDINFO, &defaults, sizeof defaults), EINVAL);
    address = at("127.0.0.1", port_of(b));
    CHECK(sendto(a, "2", 1, 0, (struct sockaddr *)&address, sizeof address) == 1);
    CHECK(receive(b, buffer, sizeof buffer, &info, &flags) == 1 && info.sinfo_stream == 3 && ntohl(info.sinfo_ppid) == 5);
    address = at("127.0.0.1", port_of(c));
    CHECK(sendto(a, "2", 1, 0, (struct sockaddr *)&address, sizeof address) == 1);
    CHECK(receive(c, buffer, sizeof buffer, &info, &flags) == 1 && info.sinfo_stream == 0);

    /* The end of the one is not told of, that of the other is. */
    struct sctp_event event = {.se_assoc_id = to_b, .se_type = SCTP_ASSOC_CHANGE, .se_on = 0};
    CHECK(setsockopt(a, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event) == 0);
    event.se_on = 7;
    length = sizeof event;
    CHECK(getsockopt(a, IPPROTO_SCTP, SCTP_EVENT, &event, &length) == 0 && event.se_on == 0);
    event.se_assoc_id = to_c;
    CHECK(getsockopt(a, IPPROTO_SCTP, SCTP_EVENT, &event, &length) == 0 && event.se_on == 1);
    struct sctp_assoc_value context = {.assoc_id = to_c, .assoc_value = 77};
    CHECK(setsockopt(a, IPPROTO_SCTP, SCTP_CONTEXT, &context, sizeof context) == 0);
    CHECK(sctp_sendmsg(c, "3", 1, NULL, 0, 0, SCTP_SENDALL, 0, 0, 0) == 1);
    CHECK(receive(a, buffer, sizeof buffer, &info, &flags) == 1 && info.sinfo_context == 77 && info.sinfo_assoc_id == to_c);
    close(b);
    unsigned number;
    do {
        length = sizeof number;
        CHECK(getsockopt(a, IPPROTO_SCTP, SCTP_GET_ASSOC_NUMBER, &number, &length) == 0);
    } while (number == 2);
    close(c);
    sctp_assoc_t ended;
    expect_change(a, SCTP_SHUTDOWN_COMP, &ended);
    CHECK(ended == to_c);
    close(a);
}

/* A shared key of one byte under this number. */
static void set_key(int fd, int number, char byte)
{
    struct { struct sctp_authkey key; char rest[8]; } all = {{.sca_keynumber = number, .sca_keylength = 1}, {0}};
    all.key.sca_key[0] = byte;
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_KEY, &all, sizeof all.key + 1) == 0);
}

static void authentication(void)
{
    step = "authentication";
    int sides[2] = {one_to_one(), one_to_one()};
    struct sctp_authkeyid active = {.scact_keynumber = 1};
    FAILS(setsockopt(sides[0], IPPROTO_SCTP, SCTP_AUTH_ACTIVE_KEY, &active, sizeof active), EACCES);
    struct sctp_authchunk chunk = {.sauth_chunk = 0};
    FAILS(setsockopt(sides[0], IPPROTO_SCTP, SCTP_AUTH_CHUNK, &chunk, sizeof chunk), EACCES);
    for (int side = 0; side < 2; side++) {
        struct sctp_assoc_value on = {.assoc_value = 1};
        CHECK(setsockopt(sides[side], IPPROTO_SCTP, SCTP_AUTH_SUPPORTED, &on, sizeof on) == 0);
        set_key(sides[side], 1, 'k');
        set_key(sides[side], 2, 'l');
        CHECK(setsockopt(sides[side], IPPROTO_SCTP, SCTP_AUTH_ACTIVE_KEY, &active, sizeof active) == 0);
        CHECK(setsockopt(sides[side], IPPROTO_SCTP, SCTP_AUTH_CHUNK, &chunk, sizeof chunk) == 0);
    }
    chunk.sauth_chunk = 1;
    FAILS(setsockopt(sides[0], IPPROTO_SCTP, SCTP_AUTH_CHUNK, &chunk, sizeof chunk), EINVAL);
    struct { struct sctp_hmacalgo list; uint16_t rest[2]; } algorithms = {0};
    socklen_t length = sizeof algorithms;
    CHECK(getsockopt(sides[0], IPPROTO_SCTP, SCTP_HMAC_IDENT, &algorithms, &length) == 0 && length == 8);
    CHECK(algorithms.list.shmac_num_idents == 2 && algorithms.list.shmac_idents[0] == SCTP_AUTH_HMAC_ID_SHA256);
    CHECK(setsockopt(sides[0], IPPROTO_SCTP, SCTP_HMAC_IDENT, &algorithms, length) == 0);
    algorithms.list.shmac_idents[0] = 2;
    FAILS(setsockopt(sides[0], IPPROTO_SCTP, SCTP_HMAC_IDENT, &algorithms, length), EOPNOTSUPP);
    length = 4;
    FAILS(getsockopt(sides[0], IPPROTO_SCTP, SCTP_HMAC_IDENT, &algorithms, &length), EINVAL);

    struct sockaddr_in address = at("127.0.0.1", 0);
    CHECK(bind(sides[0], (struct sockaddr *)&address, sizeof address) == 0 && listen(sides[0], 1) == 0);
    address = at("127.0.0.1", port_of(sides[0]));
    subscribe(sides[1], SCTP_AUTHENTICATION_EVENT);
    CHECK(connect(sides[1], (struct sockaddr *)&address, sizeof address) == 0);
    int accepted = accept(sides[0], NULL, NULL), client = sides[1];
    CHECK(accepted >= 0);
    int kinds[] = {SCTP_PEER_AUTH_CHUNKS, SCTP_LOCAL_AUTH_CHUNKS};
    for (int kind = 0; kind < 2; kind++) {
        struct { struct sctp_authchunks list; char rest[64]; } chunks = {0};
        length = sizeof chunks;
        CHECK(getsockopt(client, IPPROTO_SCTP, kinds[kind], &chunks, &length) == 0);
        CHECK(length >= sizeof chunks.list + 1 && memchr(chunks.list.gauth_chunks, 0, chunks.list.gauth_number_of_chunks));
    }
    memset(&active, 0, length = sizeof active);
    CHECK(getsockopt(client, IPPROTO_SCTP, SCTP_AUTH_ACTIVE_KEY, &active, &length) == 0 && active.scact_keynumber == 1);

    /* A key may be named with a message; that of the others stays. */
    struct iovec part = {(void *)"signed", 6};
    struct sctp_sendv_spa with = {.sendv_flags = SCTP_SEND_AUTHINFO_VALID, .sendv_authinfo.auth_keynumber = 1};
    CHECK(sctp_sendv(client, &part, 1, NULL, 0, &with, sizeof with, SCTP_SENDV_SPA, 0) == 6);
    with.sendv_authinfo.auth_keynumber = 9;
    FAILS(sctp_sendv(client, &part, 1, NULL, 0, &with.sendv_authinfo, sizeof with.sendv_authinfo, SCTP_SENDV_AUTHINFO, 0), EINVAL);
    char buffer[100];
    CHECK(recv(accepted, buffer, sizeof buffer, 0) == 6);
    subscribe(accepted, SCTP_AUTHENTICATION_EVENT);
    with.sendv_authinfo.auth_keynumber = 2;
    CHECK(sctp_sendv(client, &part, 1, NULL, 0, &with.sendv_authinfo, sizeof with.sendv_authinfo, SCTP_SENDV_AUTHINFO, 0) == 6);
    CHECK(send(client, "1", 1, 0) == 1);
    struct sctp_authkey_event *used = (struct sctp_authkey_event *)buffer;
    /* The accepted socket may have been too late for the first key. */
    ssize_t got;
    int has_used_second = 0;
    while ((got = recv(accepted, buffer, sizeof buffer, 0)) != 1) {
        CHECK(got > 0);
        has_used_second |= got == sizeof *used && used->auth_indication == SCTP_AUTH_NEW_KEY && used->auth_keynumber == 2;
    }
    CHECK(has_used_second);
    active = (struct sctp_authkeyid){0};
    do {
        length = sizeof active;
        CHECK(getsockopt(client, IPPROTO_SCTP, SCTP_AUTH_ACTIVE_KEY, &active, &length) == 0);
    } while (active.scact_keynumber == 2);
    CHECK(active.scact_keynumber == 1);

    /* A key that was deactivated cannot become the active one, until it is set again. */
    FAILS(setsockopt(client, IPPROTO_SCTP, SCTP_AUTH_DEACTIVATE_KEY, &active, sizeof active), EINVAL);
    active.scact_keynumber = 2;
    CHECK(setsockopt(client, IPPROTO_SCTP, SCTP_AUTH_DEACTIVATE_KEY, &active, sizeof active) == 0);
    FAILS(setsockopt(client, IPPROTO_SCTP, SCTP_AUTH_ACTIVE_KEY, &active, sizeof active), EINVAL);
    struct sctp_authkey_event *told = (struct sctp_authkey_event *)buffer;
    do {
        CHECK(recv(client, buffer, sizeof buffer, 0) == sizeof *told && told->auth_type == SCTP_AUTHENTICATION_EVENT);
    } while (told->auth_indication != SCTP_AUTH_FREE_KEY);
    CHECK(told->auth_keynumber == 2);
    set_key(client, 2, 'l');
    CHECK(setsockopt(client, IPPROTO_SCTP, SCTP_AUTH_ACTIVE_KEY, &active, sizeof active) == 0);
    CHECK(send(client, "second", 6, 0) == 6);
    while ((got = recv(accepted, buffer, sizeof buffer, 0)) != 6) {
        CHECK(got > 0);
    }
    close(client);
    close(accepted);
    close(sides[0]);
}

/* Pointers that lead nowhere and lengths that cannot be are errors of the call, and of nothing else. */
static void wrong_arguments(void)
{
    step = "wrong arguments";
    int server = listener(1), fd = connected(port_of(server)), accepted = accept(server, NULL, NULL), value = 1;
    void *volatile nowhere = (void *)8, *volatile none = NULL;
    socklen_t length = sizeof value, huge = 1 << 30;
    FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, nowhere, sizeof value), EFAULT);
    FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, NULL, sizeof value), EFAULT);
    FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &value, 0), EINVAL);
    FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &value, -1), EINVAL);
    FAILS(getsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, nowhere, &length), EFAULT);
    FAILS(getsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &value, nowhere), EFAULT);
    FAILS(getsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &value, NULL), EFAULT);
    FAILS(getsockname(fd, nowhere, &length), EFAULT);
    FAILS(getsockname(fd, (struct sockaddr *)&value, nowhere), EFAULT);
    FAILS(getpeername(fd, nowhere, &length), EFAULT);
    FAILS(bind(fd, nowhere, sizeof(struct sockaddr_in)), EFAULT);
    FAILS(connect(fd, nowhere, sizeof(struct sockaddr_in)), EFAULT);
    FAILS(connect(fd, nowhere, huge), EINVAL);
    FAILS(sctp_bindx(fd, NULL, 1, SCTP_BINDX_ADD_ADDR), EINVAL);
    FAILS(sctp_bindx(fd, (struct sockaddr *)&value, 1, 77), EINVAL);
    FAILS(send(fd, nowhere, 10, 0), EFAULT);
    FAILS(sendmsg(fd, none, 0), EFAULT);
    FAILS(recvmsg(fd, none, 0), EFAULT);
    FAILS(writev(fd, none, 3), EFAULT);
    FAILS(accept4(server, NULL, NULL, 1), EINVAL);
    FAILS(ioctl(fd, FIONREAD, NULL), EFAULT);
    /* A message that cannot be written is lost, as in Linux; the descriptor goes on. */
    CHECK(send(accepted, "lost", 4, 0) == 4 && send(accepted, "still there", 11, 0) == 11);
    FAILS(recv(fd, nowhere, 100, 0), EFAULT);
    FAILS(readv(fd, nowhere, 1), EFAULT);
    FAILS(writev(fd, nowhere, 1), EFAULT);
    char buffer[100];
    struct iovec part = {buffer, 1};
    struct msghdr message = {.msg_iov = nowhere, .msg_iovlen = 1};
    FAILS(sendmsg(fd, &message, 0), EFAULT);
    FAILS(recvmsg(fd, &message, 0), EFAULT);
    message = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1, .msg_control = nowhere, .msg_controllen = CMSG_SPACE(8)};
    FAILS(sendmsg(fd, &message, 0), EFAULT);
    struct cmsghdr item = {.cmsg_level = IPPROTO_SCTP, .cmsg_type = SCTP_SNDINFO, .cmsg_len = 1000};
    message.msg_control = &item;
    message.msg_controllen = sizeof item;
    FAILS(sendmsg(fd, &message, 0), EINVAL);
    message = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1, .msg_name = nowhere, .msg_namelen = 16};
    FAILS(sendmsg(fd, &message, 0), EFAULT);
    FAILS(sendmsg(fd, nowhere, 0), EFAULT);
    FAILS(recvmsg(fd, nowhere, 0), EFAULT);
    CHECK(send(fd, "x", 1, 0) == 1 && recv(accepted, buffer, sizeof buffer, 0) == 1);
    CHECK(recv(fd, buffer, sizeof buffer, 0) == 11 && !memcmp(buffer, "still there", 11));
    for (int wrong = 0; wrong < 2; wrong++) {
        CHECK(send(accepted, "12", 2, 0) == 2);
        if (wrong == 0) {
            FAILS(recvmsg(fd, &message, 0), EFAULT);
        } else {
            FAILS(recvfrom(fd, buffer, sizeof buffer, 0, nowhere, &length), EFAULT);
        }
    }
    close(fd);
    close(accepted);
    close(server);
}

/* Options keep what was set, in structures of the size that the header has. */
static void options(void)
{
    step = "options";
    int fd = one_to_one(), value;
    socklen_t length;
    struct sctp_rtoinfo rto = {.srto_initial = 700, .srto_max = 9000, .srto_min = 300};
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto) == 0);
    memset(&rto, 0, length = sizeof rto);
    CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &rto, &length) == 0 && length == sizeof rto);
    CHECK(rto.srto_initial == 700 && rto.srto_max == 9000 && rto.srto_min == 300);
    rto = (struct sctp_rtoinfo){.srto_min = 8000, .srto_max = 10};
    FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof rto), EINVAL);
    FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &rto, 5), EINVAL);

    struct sctp_paddrparams path = {.spp_hbinterval = 4000, .spp_pathmaxrxt = 3, .spp_flags = SPP_HB_ENABLE};
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof path) == 0);
    memset(&path, 0, length = sizeof path);
    CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, &length) == 0 && length == sizeof path);
    CHECK(path.spp_hbinterval == 4000 && path.spp_pathmaxrxt == 3 && (path.spp_flags & SPP_HB_ENABLE));

    struct sctp_sack_info sack = {.sack_delay = 50, .sack_freq = 3};
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_DELAYED_SACK, &sack, sizeof sack) == 0);
    memset(&sack, 0, length = sizeof sack);
    CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_DELAYED_SACK, &sack, &length) == 0 && length == sizeof sack);
    CHECK(sack.sack_delay == 50 && sack.sack_freq == 3);

    struct sctp_sndinfo send_info = {.snd_sid = 2, .snd_ppid = 77, .snd_context = 5};
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_DEFAULT_SNDINFO, &send_info, sizeof send_info) == 0);
    memset(&send_info, 0, length = sizeof send_info);
    CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_DEFAULT_SNDINFO, &send_info, &length) == 0);
    CHECK(length == sizeof send_info && send_info.snd_sid == 2 && send_info.snd_ppid == 77);

    value = 0;
    length = sizeof value;
    CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_AUTO_ASCONF, &value, &length) == 0 && value == 1);
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTO_ASCONF, &value, sizeof value) == 0);
    value = 0;
    FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTO_ASCONF, &value, sizeof value), EOPNOTSUPP);

    /* Interleaving is there for those who can tell the pieces apart. */
    struct sctp_assoc_value on = {.assoc_value = 1};
    FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_INTERLEAVING_SUPPORTED, &on, sizeof on), EPERM);
    value = 2;
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_FRAGMENT_INTERLEAVE, &value, sizeof value) == 0);
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_INTERLEAVING_SUPPORTED, &on, sizeof on) == 0);

    struct sctp_probeinterval probes = {.spi_interval = 4999};
    FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_PLPMTUD_PROBE_INTERVAL, &probes, sizeof probes), EINVAL);
    unsigned intervals[] = {0, 7000};
    for (int number = 0; number < 2; number++) {
        probes.spi_interval = intervals[number];
        CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_PLPMTUD_PROBE_INTERVAL, &probes, sizeof probes) == 0);
        memset(&probes, 1, length = sizeof probes);
        memset(&probes, 0, offsetof(struct sctp_probeinterval, spi_interval));
        CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_PLPMTUD_PROBE_INTERVAL, &probes, &length) == 0 && length == sizeof probes);
        CHECK(probes.spi_interval == intervals[number]);
    }

    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
    length = sizeof value;
    value = 1;
    int delays = 7;
    CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &delays, &length) == 0 && delays == 0);
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &value, sizeof value) == 0);
    CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &delays, &length) == 0 && delays == 1);
    FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTOCLOSE, &value, sizeof value), EOPNOTSUPP);
    value = 1200;
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_MAXSEG, &value, sizeof value) == 0);
    CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_MAXSEG, &value, &length) == 0 && value == 1200);

    struct { int number; size_t size; } sizes[] = {
        {SCTP_INITMSG, sizeof(struct sctp_initmsg)}, {SCTP_ASSOCINFO, sizeof(struct sctp_assocparams)},
        {SCTP_DEFAULT_SEND_PARAM, sizeof(struct sctp_sndrcvinfo)}, {SCTP_EVENTS, sizeof(struct sctp_event_subscribe)},
        {SCTP_PEER_ADDR_THLDS, sizeof(struct sctp_paddrthlds)}, {SCTP_PEER_ADDR_THLDS_V2, sizeof(struct sctp_paddrthlds_v2)},
        {SCTP_DEFAULT_PRINFO, sizeof(struct sctp_default_prinfo)}, {SCTP_REMOTE_UDP_ENCAPS_PORT, sizeof(struct sctp_udpencaps)},
    };
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        char structure[512] = {0};
        length = sizes[n].size;
        CHECK(getsockopt(fd, IPPROTO_SCTP, sizes[n].number, structure, &length) == 0 && length == sizes[n].size);
    }
    int server = listener(1), client = connected(port_of(server)), accepted = accept(server, NULL, NULL);
    struct { int number; size_t size; } of_associations[] = {
        {SCTP_STATUS, sizeof(struct sctp_status)}, {SCTP_GET_ASSOC_STATS, sizeof(struct sctp_assoc_stats)},
        {SCTP_PRIMARY_ADDR, sizeof(struct sctp_prim)},
    };
    for (size_t n = 0; n < sizeof of_associations / sizeof *of_associations; n++) {
        char structure[512] = {0};
        length = of_associations[n].size;
        CHECK(getsockopt(client, IPPROTO_SCTP, of_associations[n].number, structure, &length) == 0);
        CHECK(length == of_associations[n].size);
    }
    struct sctp_paddrinfo info = {0};
    struct sockaddr_in address = at("127.0.0.1", port_of(server));
    memcpy(&info.spinfo_address, &address, sizeof address);
    length = sizeof info;
    CHECK(getsockopt(client, IPPROTO_SCTP, SCTP_GET_PEER_ADDR_INFO, &info, &length) == 0);
    CHECK(length == sizeof info && info.spinfo_state == SCTP_ACTIVE && info.spinfo_mtu > 0);
    struct sctp_prstatus abandoned = {.sprstat_sid = 3, .sprstat_policy = SCTP_PR_SCTP_ALL};
    length = sizeof abandoned;
    CHECK(getsockopt(client, IPPROTO_SCTP, SCTP_PR_STREAM_STATUS, &abandoned, &length) == 0);
    CHECK(length == sizeof abandoned && abandoned.sprstat_abandoned_sent == 0);
    abandoned.sprstat_sid = 60000;
    FAILS(getsockopt(client, IPPROTO_SCTP, SCTP_PR_STREAM_STATUS, &abandoned, &length), EINVAL);
    /* Streams are reset where that is enabled, and both sides can. */
    struct { struct sctp_reset_streams reset; uint16_t stream; } resets = {{.srs_flags = SCTP_STREAM_RESET_OUTGOING}, 0};
    FAILS(setsockopt(client, IPPROTO_SCTP, SCTP_RESET_STREAMS, &resets, sizeof resets.reset), ENOPROTOOPT);
    /* SO_LINGER with 0 seconds: the peer hears of the end as a reset. */
    linger = (struct linger){.l_onoff = 1};
    CHECK(setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
    close(client);
    char byte;
    FAILS(recv(accepted, &byte, 1, 0), ECONNRESET);
    close(accepted);
    close(server);
    close(fd);
}

/* Servers that fork for each connection, as inetd does, and programs that are executed with the socket as their descriptor 0. */
/* Where nothing can come, reading does not wait; who has shut down first has no end to read. */
static void ends(void)
{
    step = "ends";
    char buffer[100];
    int server = listener(5), many = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP), alone = one_to_one();
    CHECK(many >= 0);
    for (int style = 0; style < 2; style++) {
        int fd = style ? many : alone;
        FAILS(recv(fd, buffer, sizeof buffer, 0), ENOTCONN);
        FAILS(recv(fd, buffer, sizeof buffer, MSG_DONTWAIT), EAGAIN);
    }
    FAILS(shutdown(alone, SHUT_RD), ENOTCONN);
    FAILS(shutdown(alone, 3), EINVAL);
    close(alone);

    /* Both directions, beginning with either side. A call that succeeds leaves errno alone. */
    errno = 0;
    int client = connected(port_of(server)), accepted = accept(server, NULL, NULL);
    CHECK(accepted >= 0 && send(accepted, "last", 4, 0) == 4);
    CHECK(shutdown(client, SHUT_WR) == 0 && recv(accepted, buffer, sizeof buffer, 0) == 0);
    CHECK(recv(client, buffer, sizeof buffer, 0) == 4 && errno == 0);
    for (int again = 0; again < 2; again++) {
        FAILS(recv(client, buffer, sizeof buffer, 0), ENOTCONN);
        CHECK(recv(accepted, buffer, sizeof buffer, 0) == 0);
    }
    CHECK(recv(client, buffer, sizeof buffer, MSG_DONTWAIT) == 0);
    close(accepted);
    close(client);

    /* Nothing is read any more, and what comes is for nobody. */
    client = connected(port_of(server));
    accepted = accept(server, NULL, NULL);
    CHECK(accepted >= 0 && shutdown(client, SHUT_RD) == 0 && recv(client, buffer, sizeof buffer, 0) == 0);
    CHECK(send(client, "there", 5, 0) == 5 && recv(accepted, buffer, sizeof buffer, 0) == 5);
    CHECK(send(accepted, "back", 4, 0) == 4 && recv(client, buffer, sizeof buffer, 0) == 0);
    CHECK(shutdown(client, SHUT_RDWR) == 0 && recv(accepted, buffer, sizeof buffer, 0) == 0);
    CHECK(recv(client, buffer, sizeof buffer, 0) == 0);
    close(accepted);
    close(client);
    close(server);

    /* A socket for many hears of the end of its only association, and then nothing can come. */
    int other = one_to_many(0);
    struct sockaddr_in address = at("127.0.0.1", port_of(other));
    subscribe(many, SCTP_ASSOC_CHANGE);
    CHECK(connect(many, (struct sockaddr *)&address, sizeof address) == 0);
    sctp_assoc_t id;
    expect_change(many, SCTP_COMM_UP, &id);
    CHECK(sctp_sendmsg(many, NULL, 0, (struct sockaddr *)&address, sizeof address, 0, SCTP_EOF, 0, 0, 0) == 0);
    expect_change(many, SCTP_SHUTDOWN_COMP, NULL);
    FAILS(recv(many, buffer, sizeof buffer, 0), ENOTCONN);
    close(other);
    close(many);
}

/* A peer, and a large message, wait on while the program has no descriptor for them. */
static void no_descriptor_for_a_peer(void)
{
    step = "no descriptor for a peer";
    char buffer[100];
    struct rlimit before, now;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    int server = listener(5), client = connected(port_of(server)), free_number = dup(server);
    CHECK(free_number >= 0 && close(free_number) == 0 && send(client, "hello", 5, 0) == 5);
    now = (struct rlimit){.rlim_cur = free_number, .rlim_max = before.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &now) == 0);
    for (int i = 0; i < 3; i++)
        FAILS(accept(server, NULL, NULL), EMFILE);
    now.rlim_cur++;
    CHECK(setrlimit(RLIMIT_NOFILE, &now) == 0);
    int accepted = accept(server, NULL, NULL);
    CHECK(accepted == free_number && setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(recv(accepted, buffer, sizeof buffer, 0) == 5);
    static char large[200000];
    CHECK(send(client, large, sizeof large, 0) == sizeof large && ready(accepted, POLLIN, -1) == POLLIN);
    CHECK(setrlimit(RLIMIT_NOFILE, &now) == 0);
    for (int i = 0; i < 3; i++)
        FAILS(recv(accepted, large, sizeof large, 0), EMFILE);
    now.rlim_cur++;
    CHECK(setrlimit(RLIMIT_NOFILE, &now) == 0);
    CHECK(recv(accepted, large, sizeof large, 0) == sizeof large && setrlimit(RLIMIT_NOFILE, &before) == 0);
    close(accepted);
    close(client);
    close(server);
}

/* Waits until a peer is not refused any more, as the service hears of `accept` behind the call. */
static void connect_at_last(int port)
{
    struct sockaddr_in address = at("127.0.0.1", port);
    int is_refused;
    do {
        int late = one_to_one();
        is_refused = connect(late, (struct sockaddr *)&address, sizeof address);
        CHECK(is_refused == 0 || errno == ECONNREFUSED);
        close(late);
    } while (is_refused);
}

static void expect_refusal(int port)
{
    struct sockaddr_in address = at("127.0.0.1", port);
    int late = one_to_one();
    FAILS(connect(late, (struct sockaddr *)&address, sizeof address), ECONNREFUSED);
    close(late);
}

/* One more than the backlog may wait; others are refused until the program has accepted one. */
static void backlogs(void)
{
    step = "backlogs";
    int server = listener(1), clients[2];
    for (int i = 0; i < 2; i++)
        clients[i] = connected(port_of(server));
    for (int i = 0; i < 2; i++)
        expect_refusal(port_of(server));
    int accepted = accept(server, NULL, NULL);
    CHECK(accepted >= 0);
    connect_at_last(port_of(server));
    for (int i = 0; i < 2; i++)
        close(clients[i]);
    close(accepted);
    close(server);
}

/* Associations of all sockets have identifiers of their own, so that one of another socket is noticed. */
static void identifiers(void)
{
    step = "identifiers";
    int a = one_to_many(0), b = one_to_many(0), type;
    subscribe(a, SCTP_ASSOC_CHANGE);
    subscribe(b, SCTP_ASSOC_CHANGE);
    struct sockaddr_in address = at("127.0.0.1", port_of(b));
    CHECK(connect(a, (struct sockaddr *)&address, sizeof address) == 0);
    sctp_assoc_t here, there;
    expect_change(a, SCTP_COMM_UP, &here);
    expect_change(b, SCTP_COMM_UP, &there);
    CHECK(here != there);
    struct sctp_sndinfo info = {.snd_assoc_id = there};
    struct iovec part = {(void *)"misled", 6};
    FAILS(sctp_sendv(a, &part, 1, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0), EPIPE);
    info.snd_assoc_id = here;
    CHECK(sctp_sendv(a, &part, 1, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0) == 6);
    struct sctp_paddrparams path = {.spp_assoc_id = there, .spp_hbinterval = 1000};
    memcpy(&path.spp_address, &address, sizeof address);
    FAILS(setsockopt(a, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof path), EINVAL);
    path.spp_assoc_id = here;
    ((struct sockaddr_in *)&path.spp_address)->sin_port = htons(1);
    FAILS(setsockopt(a, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof path), EINVAL);
    ((struct sockaddr_in *)&path.spp_address)->sin_port = address.sin_port;
    path.spp_assoc_id = 0;
    CHECK(setsockopt(a, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof path) == 0);
    /* One that has ended is none of the socket's any more. */
    info.snd_flags = SCTP_ABORT;
    CHECK(sctp_sendv(a, &part, 1, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0) == 6);
    struct sctp_status status = {.sstat_assoc_id = here};
    socklen_t length = sizeof status;
    FAILS(getsockopt(a, IPPROTO_SCTP, SCTP_STATUS, &status, &length), EINVAL);
    expect_change(a, SCTP_COMM_LOST, NULL);
    info.snd_flags = 0;
    FAILS(sctp_sendv(a, &part, 1, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0), EPIPE);
    close(a);

    int c = one_to_many(0);
    CHECK(connect(c, (struct sockaddr *)&address, sizeof address) == 0);
    int flags;
    char buffer[1000];
    struct sctp_sndrcvinfo with;
    do {
        int got = receive(b, buffer, sizeof buffer, &with, &flags);
        CHECK(got > 0);
    } while (!(flags & MSG_NOTIFICATION) || ((struct sctp_assoc_change *)buffer)->sac_state != SCTP_COMM_UP);
    length = sizeof type;
    int peeled = sctp_peeloff(b, ((struct sctp_assoc_change *)buffer)->sac_assoc_id);
    CHECK(peeled >= 0 && getsockopt(peeled, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET);
    close(peeled);
    close(c);
    close(b);
}

/* What a message is refused for, and what is accepted. */
static void limits(void)
{
    step = "limits";
    int a = one_to_many(0), b = one_to_many(0), on = 1;
    struct sockaddr_in address = at("127.0.0.1", port_of(b));
    CHECK(connect(a, (struct sockaddr *)&address, sizeof address) == 0);
    static char block[100000];
    CHECK(setsockopt(a, IPPROTO_SCTP, SCTP_DISABLE_FRAGMENTS, &on, sizeof on) == 0);
    FAILS(sendto(a, block, sizeof block, 0, (struct sockaddr *)&address, sizeof address), EMSGSIZE);
    CHECK(sendto(a, block, 1000, 0, (struct sockaddr *)&address, sizeof address) == 1000);
    on = 0;
    CHECK(setsockopt(a, IPPROTO_SCTP, SCTP_DISABLE_FRAGMENTS, &on, sizeof on) == 0);
    CHECK(sendto(a, block, sizeof block, 0, (struct sockaddr *)&address, sizeof address) == sizeof block);
    /* Key 0 is there although nothing is authenticated. */
    struct iovec part = {block, 10};
    struct sctp_authinfo key = {.auth_keynumber = 0};
    CHECK(sctp_sendv(a, &part, 1, (struct sockaddr *)&address, 1, &key, sizeof key, SCTP_SENDV_AUTHINFO, 0) == 10);
    key.auth_keynumber = 1;
    FAILS(sctp_sendv(a, &part, 1, (struct sockaddr *)&address, 1, &key, sizeof key, SCTP_SENDV_AUTHINFO, 0), EINVAL);

    /* What is said of a message depends on the room for it: first comes what is said of the next one, which may not be there yet. */
    struct sctp_recvv_rn said;
    unsigned kind = 99;
    int flags = 0, got, of_next = 0;
    socklen_t room = sizeof said;
    part = (struct iovec){block, sizeof block};
    CHECK(sctp_recvv(b, &part, 1, NULL, NULL, &said, &room, &kind, &flags) == 1000);
    CHECK(kind == SCTP_RECVV_NOINFO && room == sizeof said && (flags & MSG_EOR));
    on = 1;
    CHECK(setsockopt(b, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on) == 0);
    CHECK(setsockopt(b, IPPROTO_SCTP, SCTP_RECVNXTINFO, &on, sizeof on) == 0);
    do
        CHECK((got = recv(b, block, sizeof block, 0)) > 0);
    while (got != 10);
    /* Until two wait at a time. */
    while (!of_next) {
        for (int i = 0; i < 50; i++)
            CHECK(sendto(a, block, 20, 0, (struct sockaddr *)&address, sizeof address) == 20);
        for (int i = 0; i < 50; i++) {
            room = sizeof said.recvv_nxtinfo;
            CHECK(sctp_recvv(b, &part, 1, NULL, NULL, &said, &room, &kind, &flags) == 20);
            struct sctp_nxtinfo *next = (struct sctp_nxtinfo *)&said;
            CHECK(kind == SCTP_RECVV_NOINFO || (kind == SCTP_RECVV_NXTINFO && next->nxt_length == 20));
            of_next += kind == SCTP_RECVV_NXTINFO;
        }
    }
    close(a);
    close(b);

    /* Timers and buffers as small as Linux has them, also of associations that live. */
    int server = listener(5), client = connected(port_of(server)), bytes = 2048;
    struct sctp_rtoinfo times = {.srto_initial = 60, .srto_max = 100, .srto_min = 40}, now = {0};
    socklen_t length = sizeof now;
    CHECK(setsockopt(client, IPPROTO_SCTP, SCTP_RTOINFO, &times, sizeof times) == 0);
    CHECK(getsockopt(client, IPPROTO_SCTP, SCTP_RTOINFO, &now, &length) == 0);
    CHECK(now.srto_initial == 60 && now.srto_max == 100 && now.srto_min == 40);
    CHECK(setsockopt(client, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) == 0);
    length = sizeof bytes;
    CHECK(getsockopt(client, SOL_SOCKET, SO_RCVBUF, &bytes, &length) == 0 && bytes == 4096);
    close(client);
    close(server);
}

/* The value of an option that is an association and a number. */
static unsigned value_of(int fd, int option)
{
    struct sctp_assoc_value value = {0};
    socklen_t length = sizeof value;
    CHECK(getsockopt(fd, IPPROTO_SCTP, option, &value, &length) == 0 && length == sizeof value);
    return value.assoc_value;
}

static void set_value(int fd, int option, unsigned number)
{
    struct sctp_assoc_value value = {.assoc_value = number};
    CHECK(setsockopt(fd, IPPROTO_SCTP, option, &value, sizeof value) == 0);
}

/* Requests to change streams (RFC 6525), of which both sides hear in the order in which they were made. */
static void reconfigurations(void)
{
    step = "reconfigurations";
    int fds[2] = {one_to_many(0), one_to_many(0)};
    for (int side = 0; side < 2; side++) {
        set_value(fds[side], SCTP_ENABLE_STREAM_RESET, 7);
        CHECK(value_of(fds[side], SCTP_ENABLE_STREAM_RESET) == 7 && value_of(fds[side], SCTP_RECONFIG_SUPPORTED) == 1);
        struct sctp_setadaptation code = {.ssb_adaptation_ind = 77 + side};
        CHECK(setsockopt(fds[side], IPPROTO_SCTP, SCTP_ADAPTATION_LAYER, &code, sizeof code) == 0);
        int kinds[] = {SCTP_ASSOC_CHANGE, SCTP_ADAPTATION_INDICATION, SCTP_STREAM_RESET_EVENT, SCTP_ASSOC_RESET_EVENT,
                       SCTP_STREAM_CHANGE_EVENT};
        for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
            subscribe(fds[side], kinds[i]);
    }
    struct sockaddr_in address = at("127.0.0.1", port_of(fds[1]));
    CHECK(connect(fds[0], (struct sockaddr *)&address, sizeof address) == 0);
    sctp_assoc_t ids[2];
    char buffer[1000];
    struct sctp_sndrcvinfo info;
    int flags;
    for (int side = 0; side < 2; side++) {
        expect_change(fds[side], SCTP_COMM_UP, &ids[side]);
        CHECK(receive(fds[side], buffer, sizeof buffer, &info, &flags) == sizeof(struct sctp_adaptation_event));
        struct sctp_adaptation_event *told = (struct sctp_adaptation_event *)buffer;
        CHECK(told->sai_type == SCTP_ADAPTATION_INDICATION && told->sai_adaptation_ind == 78u - side);
    }
    struct { struct sctp_reset_streams head; uint16_t list[1]; } streams = {{ids[0], SCTP_STREAM_RESET_OUTGOING, 1}, {3}};
    CHECK(setsockopt(fds[0], IPPROTO_SCTP, SCTP_RESET_STREAMS, &streams, sizeof streams) == 0);
    for (int side = 0; side < 2; side++) {
        struct sctp_stream_reset_event *told = (struct sctp_stream_reset_event *)buffer;
        CHECK(receive(fds[side], buffer, sizeof buffer, &info, &flags) == (int)sizeof *told + 2);
        CHECK(told->strreset_type == SCTP_STREAM_RESET_EVENT && told->strreset_assoc_id == ids[side]);
        CHECK(told->strreset_flags == (side ? SCTP_STREAM_RESET_INCOMING_SSN : SCTP_STREAM_RESET_OUTGOING_SSN));
        CHECK(told->strreset_stream_list[0] == 3);
    }
    struct sctp_add_streams more = {.sas_assoc_id = ids[0], .sas_outstrms = 2};
    CHECK(setsockopt(fds[0], IPPROTO_SCTP, SCTP_ADD_STREAMS, &more, sizeof more) == 0);
    for (int side = 0; side < 2; side++)
        expect_notification(fds[side], SCTP_STREAM_CHANGE_EVENT);
    CHECK(setsockopt(fds[0], IPPROTO_SCTP, SCTP_RESET_ASSOC, &ids[0], sizeof ids[0]) == 0);
    for (int side = 0; side < 2; side++)
        expect_notification(fds[side], SCTP_ASSOC_RESET_EVENT);
    struct sctp_stream_value weight = {.assoc_id = ids[0], .stream_id = 1, .stream_value = 9};
    CHECK(setsockopt(fds[0], IPPROTO_SCTP, SCTP_STREAM_SCHEDULER_VALUE, &weight, sizeof weight) == 0);
    struct sctp_prstatus abandoned = {.sprstat_assoc_id = ids[0], .sprstat_policy = SCTP_PR_SCTP_ALL, .sprstat_abandoned_sent = 7};
    socklen_t length = sizeof abandoned;
    CHECK(getsockopt(fds[0], IPPROTO_SCTP, SCTP_PR_ASSOC_STATUS, &abandoned, &length) == 0);
    CHECK(abandoned.sprstat_abandoned_sent == 0 && abandoned.sprstat_abandoned_unsent == 0);
    close(fds[0]);
    close(fds[1]);
}

/* Options of which nothing else here speaks. */
static void further_options(void)
{
    step = "further options";
    int fd = one_to_one(), number = 1;
    socklen_t length = sizeof number;
    int switches[] = {SCTP_PR_SUPPORTED, SCTP_RECONFIG_SUPPORTED, SCTP_ASCONF_SUPPORTED, SCTP_AUTH_SUPPORTED, SCTP_ECN_SUPPORTED};
    for (unsigned i = 0; i < sizeof switches / sizeof *switches; i++) {
        for (unsigned on = i > 0 ? 0 : 1; on < 2; on++) {
            set_value(fd, switches[i], on);
            CHECK(value_of(fd, switches[i]) == on);
        }
    }
    int values[][2] = {{SCTP_MAX_BURST, 7}, {SCTP_STREAM_SCHEDULER, 1}, {SCTP_EXPOSE_POTENTIALLY_FAILED_STATE, 2}};
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        set_value(fd, values[i][0], values[i][1]);
        CHECK(value_of(fd, values[i][0]) == (unsigned)values[i][1]);
    }
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_REUSE_PORT, &number, sizeof number) == 0);
    number = 0;
    CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_REUSE_PORT, &number, &length) == 0 && number == 1);
    number = 4000;
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_PARTIAL_DELIVERY_POINT, &number, sizeof number) == 0);
    number = 0;
    CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_PARTIAL_DELIVERY_POINT, &number, &length) == 0 && number == 4000);
    CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_I_WANT_MAPPED_V4_ADDR, &number, &length) == 0 && number == 1);
    /* A key is there until it is deleted. */
    set_key(fd, 5, 'k');
    struct sctp_authkeyid key = {.scact_keynumber = 5};
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_DELETE_KEY, &key, sizeof key) == 0);
    FAILS(setsockopt(fd, IPPROTO_SCTP, SCTP_AUTH_ACTIVE_KEY, &key, sizeof key), EINVAL);
    struct sctp_setpeerprim primary = {0};
    struct sockaddr_in address = at("127.0.0.1", 7);
    memcpy(&primary.sspp_addr, &address, sizeof address);
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_SET_PEER_PRIMARY_ADDR, &primary, sizeof primary) == -1 && errno != ENOPROTOOPT);
    close(fd);
}

/* Ancillary data in both directions, with sendmsg and recvmsg, and what the other calls take instead. */
static void ancillary_data(void)
{
    step = "ancillary data";
    int a = one_to_many(0), b = one_to_many(0), on = 1;
    struct sockaddr_in address = at("127.0.0.1", port_of(b));
    CHECK(connect(a, (struct sockaddr *)&address, sizeof address) == 0);
    struct sctp_event_subscribe all = {.sctp_data_io_event = 1};
    CHECK(setsockopt(b, IPPROTO_SCTP, SCTP_EVENTS, &all, sizeof all) == 0);
    CHECK(setsockopt(b, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on) == 0);
    char buffer[1000];
    long control[40] = {0};
    struct iovec part = {(void *)"hello", 5};
    struct msghdr message = {.msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &part, .msg_iovlen = 1,
                             .msg_control = control};
    struct sctp_sndrcvinfo old = {.sinfo_stream = 4, .sinfo_ppid = htonl(9), .sinfo_flags = SCTP_UNORDERED};
    struct sctp_prinfo life = {.pr_policy = SCTP_PR_SCTP_RTX, .pr_value = 3};
    struct sctp_authinfo key = {.auth_keynumber = 0};
    add_item(&message, SCTP_SNDRCV, &old, sizeof old);
    add_item(&message, SCTP_PRINFO, &life, sizeof life);
    add_item(&message, SCTP_AUTHINFO, &key, sizeof key);
    CHECK(sendmsg(a, &message, 0) == 5);
    message.msg_name = NULL;
    for (int cut = 0; cut < 2; cut++) {
        /* The second time there is room for the first item only. */
        part = (struct iovec){buffer, sizeof buffer};
        memset(control, 0, sizeof control);
        message.msg_controllen = cut ? CMSG_SPACE(sizeof(struct sctp_rcvinfo)) : sizeof control;
        CHECK(recvmsg(b, &message, cut ? 0 : MSG_PEEK) == 5 && !!(message.msg_flags & MSG_CTRUNC) == cut);
        struct cmsghdr *item = CMSG_FIRSTHDR(&message);
        CHECK(item && item->cmsg_level == IPPROTO_SCTP && item->cmsg_type == SCTP_RCVINFO);
        struct sctp_rcvinfo *received = (struct sctp_rcvinfo *)CMSG_DATA(item);
        CHECK(received->rcv_sid == 4 && ntohl(received->rcv_ppid) == 9 && (received->rcv_flags & SCTP_UNORDERED));
        item = CMSG_NXTHDR(&message, item);
        CHECK(cut ? !item : item && item->cmsg_type == SCTP_SNDRCV && !CMSG_NXTHDR(&message, item));
        if (!cut)
            CHECK(((struct sctp_sndrcvinfo *)CMSG_DATA(item))->sinfo_stream == 4);
    }
    part = (struct iovec){(void *)"again", 5};
    CHECK(sctp_sendv(a, &part, 1, (struct sockaddr *)&address, 1, NULL, 0, SCTP_SENDV_NOINFO, 0) == 5);
    CHECK(sctp_sendv(a, &part, 1, (struct sockaddr *)&address, 1, &life, sizeof life, SCTP_SENDV_PRINFO, 0) == 5);
    struct sctp_recvv_rn said;
    unsigned kind = 0;
    int flags = 0;
    CHECK(setsockopt(b, IPPROTO_SCTP, SCTP_RECVNXTINFO, &on, sizeof on) == 0);
    part = (struct iovec){buffer, sizeof buffer};
    for (int i = 0; i < 2; i++) {
        socklen_t room = sizeof said;
        CHECK(sctp_recvv(b, &part, 1, NULL, NULL, &said, &room, &kind, &flags) == 5);
        CHECK(kind == SCTP_RECVV_RCVINFO || (kind == SCTP_RECVV_RN && i == 0 && said.recvv_nxtinfo.nxt_length == 5));
        CHECK(room == (kind == SCTP_RECVV_RN ? sizeof said : sizeof said.recvv_rcvinfo));
    }
    close(a);
    close(b);

    /* Where there is IPv6, a further address of the peer by its item. */
    a = socket(AF_INET6, SOCK_SEQPACKET, IPPROTO_SCTP);
    b = socket(AF_INET6, SOCK_SEQPACKET, IPPROTO_SCTP);
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t length = sizeof six;
    CHECK(a >= 0 && b >= 0);
    if (bind(b, (struct sockaddr *)&six, sizeof six) == 0) {
        CHECK(listen(b, 5) == 0 && getsockname(b, (struct sockaddr *)&six, &length) == 0);
        part = (struct iovec){(void *)"six", 3};
        memset(control, 0, sizeof control);
        message = (struct msghdr){.msg_name = &six, .msg_namelen = sizeof six, .msg_iov = &part, .msg_iovlen = 1,
                                  .msg_control = control};
        add_item(&message, SCTP_DSTADDRV6, &six.sin6_addr, sizeof six.sin6_addr);
        CHECK(sendmsg(a, &message, 0) == 3 && recv(b, buffer, sizeof buffer, 0) == 3);
    }
    close(a);
    close(b);
    int server = listener(1), client = connected(port_of(server)), accepted = accept(server, NULL, NULL);
    old = (struct sctp_sndrcvinfo){.sinfo_stream = 2};
    CHECK(accepted >= 0 && sctp_send(client, "short", 5, &old, 0) == 5);
    CHECK(receive(accepted, buffer, sizeof buffer, &old, &flags) == 5 && old.sinfo_stream == 2);
    close(accepted);
    close(client);
    close(server);
}

static void processes(const char *self)
{
    step = "processes";
    int server = listener(5), client = connected(port_of(server));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int accepted = accept(server, NULL, NULL);
        CHECK(accepted >= 0 && dup2(accepted, 0) == 0 && dup2(accepted, 1) == 1);
        close(accepted);
        execl(self, self, "echo", NULL);
        CHECK(!"executed");
    }
    close(server);
    char buffer[100];
    CHECK(send(client, "through exec", 12, 0) == 12);
    CHECK(recv(client, buffer, sizeof buffer, 0) == 12 && !memcmp(buffer, "through exec", 12));
    shutdown(client, SHUT_WR);
    FAILS(recv(client, buffer, sizeof buffer, 0), ENOTCONN);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(client);

    /* Who is killed takes nobody else along. */
    server = listener(5);
    client = connected(port_of(server));
    int accepted = accept(server, NULL, NULL);
    int gates[2];
    CHECK(accepted >= 0 && pipe(gates) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int other = connected(port_of(server));
        CHECK(write(gates[1], "x", 1) == 1);
        for (;;)
            pause();
        close(other);
    }
    CHECK(read(gates[0], buffer, 1) == 1);
    int others = accept(server, NULL, NULL);
    CHECK(others >= 0 && kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
    CHECK(recv(others, buffer, sizeof buffer, 0) == 0);
    CHECK(send(client, "still here", 10, 0) == 10 && recv(accepted, buffer, sizeof buffer, 0) == 10);
    close(others);
    close(accepted);
    close(client);
    close(server);
}

static void stop_waiting(int fd, int on)
{
    int flags = fcntl(fd, F_GETFL);
    CHECK(fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) == 0);
}

static void linger_for_nothing(int fd)
{
    struct linger linger = {.l_onoff = 1};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
}

static int error_of(int fd)
{
    int error;
    socklen_t length = sizeof error;
    CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && length == sizeof error);
    return error;
}

/* What a program knows of its associations is not older than they are, although it hears of no end. */
static void ends_that_nobody_is_told_of(void)
{
    step = "ends that nobody is told of";
    char buffer[100];
    for (int by_abort = 0; by_abort < 2; by_abort++) {
        int many = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP), other = one_to_many(0);
        struct sockaddr_in address = at("127.0.0.1", port_of(other));
        struct iovec part = {(void *)"hello", 5};
        struct sctp_assoc_value id = {0};
        CHECK(many >= 0 && sctp_connectx(many, (struct sockaddr *)&address, 1, (sctp_assoc_t *)&id.assoc_id) == 0);
        struct sctp_sndinfo info = {.snd_assoc_id = id.assoc_id};
        for (int i = 0; i < 2; i++) {
            CHECK(sctp_sendv(many, &part, 1, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0) == 5);
            CHECK(recv(other, buffer, sizeof buffer, 0) == 5);
        }
        /* The descriptor that reads is another one than that which waits. */
        int copy = dup(many);
        FAILS(recv(copy, buffer, sizeof buffer, MSG_DONTWAIT), EAGAIN);
        if (by_abort)
            linger_for_nothing(other);
        close(other);
        uint32_t count;
        do {
            socklen_t length = sizeof count;
            CHECK(getsockopt(many, IPPROTO_SCTP, SCTP_GET_ASSOC_NUMBER, &count, &length) == 0);
        } while (count > 0);
        FAILS(recv(copy, buffer, sizeof buffer, 0), ENOTCONN);
        FAILS(sctp_sendv(many, &part, 1, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, MSG_NOSIGNAL), EPIPE);
        close(copy);
        close(many);
    }
}

/* What one process, or one descriptor, has changed holds for all. */
static void descriptors_of_one_socket(void)
{
    step = "descriptors of one socket";
    static char large[100000];
    int server = listener(1), client = connected(port_of(server)), accepted = accept(server, NULL, NULL);
    int on = 1, status, copy = dup(client);
    CHECK(accepted >= 0 && copy >= 0 && send(client, large, sizeof large, 0) == sizeof large);
    pid_t child = fork();
    if (child == 0)
        _exit(setsockopt(copy, IPPROTO_SCTP, SCTP_DISABLE_FRAGMENTS, &on, sizeof on) != 0 || listen(server, 0) != 0);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    FAILS(send(client, large, sizeof large, 0), EMSGSIZE);
    FAILS(accept(server, NULL, NULL), EINVAL);
    close(copy);
    close(accepted);
    close(client);
    close(server);
}

/* Who reads while an association is set up hears that it fails, and later attempts leave no trace. */
static void attempts_that_fail(void)
{
    step = "attempts that fail";
    char buffer[100];
    int silent = socket(AF_INET, SOCK_DGRAM, 0), fd = one_to_one();
    struct sockaddr_in address = at("127.0.0.1", 0);
    socklen_t length = sizeof address;
    CHECK(silent >= 0 && bind(silent, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(getsockname(silent, (struct sockaddr *)&address, &length) == 0);
    struct sctp_udpencaps usual = {0}, nowhere = {.sue_port = address.sin_port};
    length = sizeof usual;
    CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &usual, &length) == 0);
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &nowhere, sizeof nowhere) == 0);
    struct sctp_rtoinfo times = {.srto_initial = 100, .srto_min = 100, .srto_max = 100};
    struct sctp_initmsg attempts = {.sinit_max_attempts = 1};
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &times, sizeof times) == 0);
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_INITMSG, &attempts, sizeof attempts) == 0);
    address = at("127.0.0.1", 1);
    stop_waiting(fd, 1);
    FAILS(connect(fd, (struct sockaddr *)&address, sizeof address), EINPROGRESS);
    stop_waiting(fd, 0);
    FAILS(recv(fd, buffer, sizeof buffer, 0), ETIMEDOUT);
    CHECK(error_of(fd) == 0);
    FAILS(recv(fd, buffer, sizeof buffer, 0), ENOTCONN);
    FAILS(connect(fd, (struct sockaddr *)&address, sizeof address), ETIMEDOUT);
    CHECK(error_of(fd) == 0 && ready(fd, POLLIN, 0) == 0);
    FAILS(recv(fd, buffer, sizeof buffer, 0), ENOTCONN);

    /* All who read hear of it: one gets the error, as in Linux. */
    int told = 0, alone = 0, status;
    stop_waiting(fd, 1);
    FAILS(connect(fd, (struct sockaddr *)&address, sizeof address), EINPROGRESS);
    stop_waiting(fd, 0);
    for (int i = 0; i < 4; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            _exit(recv(fd, buffer, sizeof buffer, 0) < 0 ? errno : 0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(wait(&status) > 0 && WIFEXITED(status));
        told += WEXITSTATUS(status) == ETIMEDOUT;
        alone += WEXITSTATUS(status) == ENOTCONN;
    }
    CHECK(told == 1 && alone == 3);
    /* They wait as long as they are told to. */
    struct timeval limit = {.tv_usec = 1000}, none = {0};
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    stop_waiting(fd, 1);
    FAILS(connect(fd, (struct sockaddr *)&address, sizeof address), EINPROGRESS);
    stop_waiting(fd, 0);
    while (recv(fd, buffer, sizeof buffer, 0) < 0 && errno == EAGAIN)
        told++;
    CHECK(errno == ETIMEDOUT && told > 1);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none) == 0);

    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &usual, sizeof usual) == 0);
    stop_waiting(fd, 1);
    FAILS(connect(fd, (struct sockaddr *)&address, sizeof address), EINPROGRESS);
    CHECK(ready(fd, POLLOUT, -1) == POLLOUT && error_of(fd) == ECONNREFUSED);
    CHECK(ready(fd, POLLIN, 0) == 0 && error_of(fd) == 0);
    FAILS(connect(fd, (struct sockaddr *)&address, sizeof address), EINPROGRESS);
    CHECK(ready(fd, POLLOUT, -1) == POLLOUT);
    stop_waiting(fd, 0);
    int server = listener(1);
    address = at("127.0.0.1", port_of(server));
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(error_of(fd) == 0 && ready(fd, POLLIN, 0) == 0);
    FAILS(recv(fd, buffer, sizeof buffer, MSG_DONTWAIT), EAGAIN);
    close(server);
    close(silent);
    close(fd);
}

/* Whatever has ended, a socket is there until the program closes it. */
static void sockets_after_the_end(void)
{
    step = "sockets after the end";
    char buffer[100];
    struct sockaddr_in address;
    socklen_t length;
    int server = listener(10);
    for (int directions = 0; directions < 2; directions++) {
        int client = connected(port_of(server)), accepted = accept(server, NULL, NULL);
        CHECK(accepted >= 0);
        linger_for_nothing(client);
        if (directions)
            CHECK(shutdown(client, SHUT_RD) == 0);
        CHECK(shutdown(accepted, SHUT_WR) == 0);
        FAILS(recv(accepted, buffer, sizeof buffer, 0), ENOTCONN);
        CHECK(recv(client, buffer, sizeof buffer, 0) == 0);
        FAILS(send(client, "late", 4, MSG_NOSIGNAL), EPIPE);
        CHECK(ready(client, POLLIN, 0) == POLLIN);
        length = sizeof address;
        CHECK(getpeername(client, (struct sockaddr *)&address, &length) == 0 && length == sizeof address);
        CHECK(ntohs(address.sin_port) == port_of(server) && port_of(client) != 0 && port_of(client) != port_of(server));
        CHECK(shutdown(client, SHUT_WR) == 0 && shutdown(client, SHUT_RD) == 0 && shutdown(client, SHUT_RDWR) == 0);
        FAILS(connect(client, (struct sockaddr *)&address, sizeof address), EISCONN);
        FAILS(listen(client, 1), EINVAL);
        CHECK(shutdown(accepted, SHUT_WR) == 0 && recv(client, buffer, sizeof buffer, 0) == 0);
        close(client);
        close(accepted);
    }
    /* The end of the peer is not that of this side, as long as messages wait. */
    int client = connected(port_of(server)), accepted = accept(server, NULL, NULL);
    CHECK(accepted >= 0 && send(client, "before", 6, 0) == 6 && shutdown(client, SHUT_RD) == 0);
    CHECK(shutdown(accepted, SHUT_WR) == 0 && recv(accepted, buffer, sizeof buffer, 0) == 6);
    close(client);
    close(accepted);
    /* An abort is told of, also who waits for messages at that moment, or writes. */
    for (int i = 0; i < 50; i++) {
        client = connected(port_of(server));
        accepted = accept(server, NULL, NULL);
        linger_for_nothing(client);
        close(client);
        if (i % 2) {
            FAILS(recv(accepted, buffer, sizeof buffer, 0), ECONNRESET);
        } else {
            ssize_t sent;
            do {
                sent = send(accepted, "x", 1, MSG_NOSIGNAL);
            } while (sent == 1);
            CHECK(sent == -1 && errno == ECONNRESET);
        }
        CHECK(error_of(accepted) == 0 && shutdown(accepted, SHUT_WR) == 0);
        FAILS(send(accepted, "x", 1, MSG_NOSIGNAL), EPIPE);
        FAILS(recv(accepted, buffer, sizeof buffer, 0), ENOTCONN);
        close(accepted);
    }
    close(server);
    /* One that was peeled off has no end to read. */
    int many = one_to_many(0);
    client = connected(port_of(many));
    struct sctp_sndrcvinfo info;
    int flags, on = 1;
    CHECK(setsockopt(many, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on) == 0);
    struct sctp_event_subscribe events = {.sctp_data_io_event = 1};
    CHECK(setsockopt(many, IPPROTO_SCTP, SCTP_EVENTS, &events, sizeof events) == 0);
    CHECK(send(client, "hello", 5, 0) == 5 && receive(many, buffer, sizeof buffer, &info, &flags) == 5);
    int peeled = sctp_peeloff(many, info.sinfo_assoc_id);
    CHECK(peeled >= 0);
    close(client);
    FAILS(recv(peeled, buffer, sizeof buffer, 0), ENOTCONN);
    FAILS(recv(peeled, buffer, sizeof buffer, 0), ENOTCONN);
    FAILS(send(peeled, "x", 1, MSG_NOSIGNAL), EPIPE);
    close(peeled);
    close(many);
}

/* However many sockets are over, each of them has its names as long as it is open. */
static void many_sockets_after_the_end(void)
{
    step = "many sockets after the end";
    enum { COUNT = 1100 };
    static int all[COUNT];
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    struct rlimit before = limit;
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    int server = listener(10), port = port_of(server);
    for (int i = 0; i < COUNT; i++) {
        all[i] = connected(port);
        int accepted = accept(server, NULL, NULL);
        CHECK(accepted >= 0);
        close(accepted);
    }
    for (int i = 0; i < COUNT; i++) {
        struct sockaddr_in address;
        socklen_t length = sizeof address;
        CHECK(getpeername(all[i], (struct sockaddr *)&address, &length) == 0 && ntohs(address.sin_port) == port);
        close(all[i]);
    }
    close(server);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

/* Sockets that listen no more, and places of those who wait. */
static void ends_of_listening(void)
{
    step = "ends of listening";
    char buffer[10];
    int fd = one_to_one(), many = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
    FAILS(listen(fd, 0), EINVAL);
    FAILS(listen(many, 0), EINVAL);
    FAILS(shutdown(many, SHUT_WR), ENOTCONN);
    CHECK(listen(many, 1) == 0 && shutdown(many, SHUT_WR) == 0 && listen(many, 0) == 0);
    close(fd);
    close(many);

    int server = listener(1), port = port_of(server), clients[2];
    CHECK(listen(server, 0) == 0);
    FAILS(accept(server, NULL, NULL), EINVAL);
    expect_refusal(port);
    /* It listens again, and then an end of it means nothing that concerns sending. */
    CHECK(listen(server, 1) == 0 && port_of(server) == port && shutdown(server, SHUT_WR) == 0);
    CHECK(ready(server, POLLIN | POLLOUT, 0) == 0);
    for (int i = 0; i < 2; i++)
        clients[i] = connected(port);
    expect_refusal(port);
    /* Who has left before it was accepted has its place all the same. */
    CHECK(shutdown(clients[0], SHUT_WR) == 0);
    FAILS(recv(clients[0], buffer, sizeof buffer, 0), ENOTCONN);
    close(clients[0]);
    expect_refusal(port);
    /* And it has it no longer than until it was accepted. */
    int accepted = accept(server, NULL, NULL);
    CHECK(accepted >= 0 && recv(accepted, buffer, sizeof buffer, 0) == 0);
    connect_at_last(port);
    close(accepted);
    close(clients[1]);
    CHECK(shutdown(server, SHUT_RDWR) == 0);
    FAILS(accept(server, NULL, NULL), EINVAL);
    expect_refusal(port);
    close(server);

    /* Who waits in accept is woken. */
    server = listener(1);
    int gates[2], status;
    CHECK(pipe(gates) == 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK(write(gates[1], "x", 1) == 1);
        FAILS(accept(server, NULL, NULL), EINVAL);
        _exit(0);
    }
    CHECK(child > 0 && read(gates[0], buffer, 1) == 1 && shutdown(server, SHUT_RD) == 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(gates[0]);
    close(gates[1]);
    close(server);

    /* Who waits when the socket stops can be accepted when it listens again, and is in nobody's way when it is connected instead. */
    int other = listener(1);
    for (int connects = 0; connects < 2; connects++) {
        server = listener(2);
        for (int i = 0; i < 2; i++)
            clients[i] = connected(port_of(server));
        CHECK(ready(server, POLLIN, -1) == POLLIN && listen(server, 0) == 0);
        FAILS(accept(server, NULL, NULL), EINVAL);
        FAILS(recv(server, buffer, sizeof buffer, 0), ENOTCONN);
        if (connects) {
            struct sockaddr_in address = at("127.0.0.1", port_of(other));
            CHECK(connect(server, (struct sockaddr *)&address, sizeof address) == 0);
            CHECK(ready(server, POLLIN, 0) == 0);
            FAILS(recv(server, buffer, sizeof buffer, MSG_DONTWAIT), EAGAIN);
            CHECK((accepted = accept(other, NULL, NULL)) >= 0 && send(accepted, "x", 1, 0) == 1);
            CHECK(recv(server, buffer, sizeof buffer, 0) == 1);
            for (int i = 0; i < 2; i++)
                CHECK(recv(clients[i], buffer, sizeof buffer, 0) == 0);
        } else {
            CHECK(listen(server, 1) == 0 && (accepted = accept(server, NULL, NULL)) >= 0);
            CHECK(send(clients[0], "x", 1, 0) == 1 && recv(accepted, buffer, sizeof buffer, 0) == 1);
        }
        close(accepted);
        for (int i = 0; i < 2; i++)
            close(clients[i]);
        close(server);
    }
    close(other);
}

/* A shutdown waits for nothing, and comes behind what was sent before. */
static void shutdown_of_a_full_descriptor(void)
{
    step = "shutdown of a full descriptor";
    static char block[8192];
    int server = listener(1), client = connected(port_of(server)), accepted = accept(server, NULL, NULL), sent = 0, got = 0;
    CHECK(accepted >= 0);
    stop_waiting(client, 1);
    do {
        while (send(client, block, sizeof block, 0) == sizeof block)
            sent++;
        CHECK(errno == EAGAIN);
        while (send(client, block, 1, 0) == 1)
            sent++;
        CHECK(errno == EAGAIN);
    } while (ready(client, POLLOUT, 300) & POLLOUT);
    /* What can be written may have room before poll says so. */
    while (send(client, block, 1, 0) == 1)
        sent++;
    CHECK(errno == EAGAIN && shutdown(client, SHUT_WR) == 0);
    FAILS(send(client, "x", 1, 0), EPIPE);
    while (recv(accepted, block, sizeof block, 0) > 0)
        got++;
    CHECK(got == sent);
    close(accepted);
    close(client);
    close(server);
}

/* The last item of ancillary data needs no room behind it, and one that is cut says so. */
static void room_for_ancillary_data(void)
{
    step = "room for ancillary data";
    int server = listener(1), client = connected(port_of(server)), accepted = accept(server, NULL, NULL), on = 1;
    CHECK(accepted >= 0 && setsockopt(accepted, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof on) == 0);
    char buffer[100], control[100];
    struct iovec part = {buffer, sizeof buffer};
    size_t whole = CMSG_LEN(sizeof(struct sctp_rcvinfo));
    for (size_t room = whole + 1; room >= whole - 1; room--) {
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = room};
        CHECK(send(client, "x", 1, 0) == 1 && recvmsg(accepted, &message, 0) == 1);
        CHECK(!(message.msg_flags & MSG_CTRUNC) == (room >= whole) && message.msg_controllen == room);
        struct cmsghdr *item = CMSG_FIRSTHDR(&message);
        CHECK(item && item->cmsg_type == SCTP_RCVINFO && item->cmsg_len == (room < whole ? room : whole));
    }
    close(accepted);
    close(client);
    close(server);
}

static int echo(void)
{
    char buffer[1000];
    for (;;) {
        ssize_t got = read(0, buffer, sizeof buffer);
        if (got <= 0)
            return got < 0;
        if (write(1, buffer, got) != got)
            return 1;
    }
}

int main(int count, char **arguments)
{
    if (count > 1 && !strcmp(arguments[1], "echo"))
        return echo();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, on_alarm);
    /* Checkers of memory are slow. */
    alarm(getenv("WALK_SECONDS") ? atoi(getenv("WALK_SECONDS")) : 60);
    sockets_themselves();
    numbers_of_descriptors();
    several_at_once();
    streams_of_one_association();
    without_blocking();
    notifications_and_messages();
    notifications_of_beginnings_and_ends();
    large_messages();
    many_associations();
    beginnings();
    failures();
    options_of_each();
    authentication();
    wrong_arguments();
    options();
    ends();
    /* Valgrind keeps limits of descriptors itself, and none of those that a message brings. */
    if (getenv("WALK_IN_VALGRIND") == NULL)
        no_descriptor_for_a_peer();
    backlogs();
    identifiers();
    limits();
    reconfigurations();
    further_options();
    ancillary_data();
    ends_that_nobody_is_told_of();
    descriptors_of_one_socket();
    attempts_that_fail();
    sockets_after_the_end();
    many_sockets_after_the_end();
    ends_of_listening();
    shutdown_of_a_full_descriptor();
    room_for_ancillary_data();
    processes(arguments[0]);
    puts("walk: the sockets API behaves as it should");
    return 0;
}
