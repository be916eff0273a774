// Readers of one socket beside others: what another one takes between two steps of a reader is not waited for, and an error is told once. Run by
// `polypath with`, and linked with beside.c.
#define _GNU_SOURCE
#include "beside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/sctp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECK(condition)                                                                             \
    do {                                                                                             \
        if (!(condition)) {                                                                          \
            fprintf(stderr, "readers.c:%d: %s: %s\n", __LINE__, #condition, strerror(errno));        \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)
#define FAILS(call, number) CHECK((call) == -1 && errno == (number))

static char buffer[100];

static int one_to_one(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
    CHECK(fd >= 0);
    return fd;
}

static int error_of(int fd)
{
    int error;
    socklen_t length = sizeof error;
    CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0);
    return error;
}

static void wait_for(int fd, short events)
{
    struct pollfd entry = {.fd = fd, .events = events};
    CHECK(poll(&entry, 1, -1) == 1 && (entry.revents & events));
}

/* An attempt to connect fails, and another reader takes the frame that says so. */
static void after_an_attempt(void)
{
    int silent = socket(AF_INET, SOCK_DGRAM, 0), fd = one_to_one();
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    CHECK(silent >= 0 && bind(silent, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(getsockname(silent, (struct sockaddr *)&address, &length) == 0);
    struct sctp_udpencaps nowhere = {.sue_port = address.sin_port};
    struct sctp_rtoinfo times = {.srto_initial = 100, .srto_min = 100, .srto_max = 100};
    struct sctp_initmsg attempts = {.sinit_max_attempts = 1};
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &nowhere, sizeof nowhere) == 0);
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_RTOINFO, &times, sizeof times) == 0);
    CHECK(setsockopt(fd, IPPROTO_SCTP, SCTP_INITMSG, &attempts, sizeof attempts) == 0);
    address.sin_port = htons(1);
    int flags = fcntl(fd, F_GETFL);
    for (int look = 1; look < 4; look++) {
        CHECK(fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0);
        FAILS(connect(fd, (struct sockaddr *)&address, sizeof address), EINPROGRESS);
        CHECK(fcntl(fd, F_SETFL, flags) == 0);
        wait_for(fd, POLLIN);
        take_after(fd, look);
        FAILS(recv(fd, buffer, sizeof buffer, 0), ETIMEDOUT);
        take_after(fd, 0);
        CHECK(error_of(fd) == 0);
        FAILS(recv(fd, buffer, sizeof buffer, 0), ENOTCONN);
    }
    close(silent);
    close(fd);
}

/* The peer aborts behind its last message, and another reader takes the message, or the frame that tells of the abort. */
static void after_an_abort(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int server = one_to_one();
    CHECK(bind(server, (struct sockaddr *)&address, sizeof address) == 0 && listen(server, 5) == 0);
    CHECK(getsockname(server, (struct sockaddr *)&address, &length) == 0);
    for (int flags = 0; flags <= MSG_DONTWAIT; flags += MSG_DONTWAIT) {
        for (int taken = 0; taken < 3; taken++) {
            int client = one_to_one();
            CHECK(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
            int accepted = accept(server, NULL, NULL);
            CHECK(accepted >= 0 && send(accepted, "last", 4, 0) == 4);
            wait_for(client, POLLIN);
            struct linger linger = {.l_onoff = 1};
            CHECK(setsockopt(accepted, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) == 0);
            close(accepted);
            wait_for(client, POLLRDHUP);
            if (taken != 1)
                CHECK(recv(client, buffer, sizeof buffer, flags) == 4);
            take_after(client, taken ? 1 : 0);
            FAILS(recv(client, buffer, sizeof buffer, flags), ECONNRESET);
            take_after(client, 0);
            if (flags)
                CHECK(recv(client, buffer, sizeof buffer, flags) == 0);
            else
                FAILS(recv(client, buffer, sizeof buffer, flags), ENOTCONN);
            close(client);
        }
    }
    close(server);
}

int main(void)
{
    alarm(60);
    after_an_attempt();
    after_an_abort();
    puts("readers: none waits for what another one takes");
    return 0;
}
