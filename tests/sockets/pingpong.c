// A message there and one back, over and over, between two processes on this host: how long that takes.
//
// usage: pingpong sctp|tcp BYTES ROUNDS
//
// Prints a line of JSON: median, 90th and 99th percentile of the round trip in microseconds; of TCP also its congestion control.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/sctp.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what)                                                                                  \
    do {                                                                                             \
        if (!(what)) {                                                                               \
            fprintf(stderr, "pingpong.c:%d: %s: %s\n", __LINE__, #what, strerror(errno));            \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static int by_size(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

// Takes a whole message, which TCP may divide; false at the end.
static int take(int fd, char *buffer, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        ssize_t got = recv(fd, buffer + done, bytes - done, 0);
        if (got <= 0)
            return 0;
        done += got;
    }
    return 1;
}

int main(int count, char **arguments) {
    CHECK(count == 4);
    int is_tcp = !strcmp(arguments[1], "tcp"), protocol = is_tcp ? IPPROTO_TCP : IPPROTO_SCTP, on = 1;
    size_t bytes = atol(arguments[2]), rounds = atol(arguments[3]);
    char *buffer = calloc(1, bytes);
    double *times = calloc(rounds, sizeof *times);
    CHECK(bytes > 0 && rounds > 0 && buffer && times);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM, protocol);
    CHECK(server >= 0 && bind(server, (struct sockaddr *)&address, sizeof address) == 0 && listen(server, 1) == 0);
    CHECK(getsockname(server, (struct sockaddr *)&address, &length) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int fd = accept(server, NULL, NULL);
        CHECK(fd >= 0);
        CHECK(setsockopt(fd, protocol, is_tcp ? TCP_NODELAY : SCTP_NODELAY, &on, sizeof on) == 0);
        while (take(fd, buffer, bytes))
            CHECK(send(fd, buffer, bytes, 0) == (ssize_t)bytes);
        return 0;
    }
    int fd = socket(AF_INET, SOCK_STREAM, protocol);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(setsockopt(fd, protocol, is_tcp ? TCP_NODELAY : SCTP_NODELAY, &on, sizeof on) == 0);
    for (size_t round = 0; round < rounds; round++) {
        double begun = now_us();
        CHECK(send(fd, buffer, bytes, 0) == (ssize_t)bytes && take(fd, buffer, bytes));
        times[round] = now_us() - begun;
    }
    char congestion[32] = "";
    length = sizeof congestion - 1;
    if (is_tcp)
        CHECK(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, &length) == 0);
    close(fd);
    CHECK(waitpid(child, NULL, 0) == child);
    qsort(times, rounds, sizeof *times, by_size);
    printf("{\"protocol\": \"%s\", \"congestion\": \"%s\", \"bytes\": %zu, \"median_us\": %.1f, \"p90_us\": %.1f, \"p99_us\": %.1f}\n",
           arguments[1], congestion, bytes, times[rounds / 2], times[rounds * 9 / 10], times[rounds * 99 / 100]);
    return 0;
}
