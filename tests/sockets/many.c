// Many associations at once, in one epoll set for each process: what they cost, and whether that depends on how many there are.
//
// usage: many ASSOCIATIONS PROCESSES STYLE PORT [PID]
//
// STYLE is "one-to-one", or "one-to-many" for one listening socket with all associations of a process. Each process has a server at a port of
// its own, and its clients. Prints a line of JSON for each tenth of the associations: the time of a connect() with accept(), what the service,
// whose process is PID, computes meanwhile for all processes, and its memory and descriptors. Then a message goes over each association, in
// both directions, and all are closed.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/sctp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what)                                                                                  \
    do {                                                                                             \
        if (!(what)) {                                                                               \
            fprintf(stderr, "many.c:%d: %s: %s\n", __LINE__, #what, strerror(errno));                \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

// Kilobytes that the service has in memory.
static long memory_of(const char *pid) {
    char path[64], line[256];
    long kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%s/status", pid);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file))
        sscanf(line, "VmRSS: %ld", &kilobytes);
    fclose(file);
    return kilobytes;
}

// Seconds that the service has computed.
static double computing_of(const char *pid) {
    char path[64];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    // The name of the program, in parentheses, may have spaces.
    CHECK(fscanf(file, "%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) == 2);
    fclose(file);
    return (double)(user + system) / sysconf(_SC_CLK_TCK);
}

static int descriptors_of(const char *pid) {
    char path[64];
    int count = -2;
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void watch(int set, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    CHECK(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0);
}

// Waits for a message on each of so many associations; answers each if `answers`.
static void receive_all(int set, int wanted, int answers) {
    struct epoll_event events[256];
    struct sockaddr_in peer;
    int flags;
    char byte;
    while (wanted > 0) {
        int count = epoll_wait(set, events, 256, 20000);
        CHECK(count > 0);
        for (int index = 0; index < count; index++) {
            int fd = events[index].data.fd;
            socklen_t length = sizeof peer;
            struct sctp_sndrcvinfo info = {0};
            ssize_t got = sctp_recvmsg(fd, &byte, 1, (struct sockaddr *)&peer, &length, &info, &flags);
            CHECK(got == 1);
            wanted--;
            if (answers)
                CHECK(sctp_sendmsg(fd, &byte, 1, length ? (struct sockaddr *)&peer : NULL, length, 0, 0, 0, 0, 0) == 1);
        }
    }
}

static void run(int associations, int style, int port, const char *service, int number) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port + number)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one_to_many = style == SOCK_SEQPACKET, on = 1;
    int server = socket(AF_INET, style, IPPROTO_SCTP), servers = epoll_create1(0), clients = epoll_create1(0);
    CHECK(server >= 0 && bind(server, (struct sockaddr *)&address, sizeof address) == 0 && listen(server, 4096) == 0);
    int *fds = calloc(associations, sizeof *fds), step = associations / 10 ? associations / 10 : 1;
    double begin = now(), computed = computing_of(service);
    for (int index = 0; index < associations; index++) {
        int fd = fds[index] = socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
        CHECK(fd >= 0 && setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on) == 0);
        CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
        watch(clients, fd);
        if (!one_to_many) {
            int accepted = accept(server, NULL, NULL);
            CHECK(accepted >= 0);
            watch(servers, accepted);
        }
        if ((index + 1) % step == 0) {
            double end = now(), by_service = computing_of(service);
            printf("{\"process\": %d, \"associations\": %d, \"connect_us\": %.1f, \"service_computes_us\": %.1f, \"service_kb\": %ld, \"service_fds\": %d}\n",
                   number, index + 1, (end - begin) / step * 1e6, (by_service - computed) / step * 1e6, memory_of(service), descriptors_of(service));
            fflush(stdout);
            computed = by_service;
            begin = now();
        }
    }
    if (one_to_many)
        watch(servers, server);
    begin = now();
    for (int index = 0; index < associations; index++)
        CHECK(send(fds[index], "x", 1, 0) == 1);
    receive_all(servers, associations, 1);
    receive_all(clients, associations, 0);
    double moved = now();
    for (int index = 0; index < associations; index++)
        close(fds[index]);
    printf("{\"process\": %d, \"round_trip_us\": %.1f, \"close_us\": %.1f}\n", number, (moved - begin) / associations * 1e6,
           (now() - moved) / associations * 1e6);
}

int main(int argc, char **argv) {
    if (argc < 5)
        return 2;
    int associations = atoi(argv[1]), processes = atoi(argv[2]), port = atoi(argv[4]);
    int style = strcmp(argv[3], "one-to-many") == 0 ? SOCK_SEQPACKET : SOCK_STREAM;
    const char *service = argc > 5 ? argv[5] : "self";
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int number = 0; number < processes; number++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            run(associations / processes, style, port, service, number);
            return 0;
        }
    }
    int status, failed = 0;
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}
