/* Two AF_CONN sockets of one program, which carries their packets itself (usrsctp's API): it hands packets in from within its callback and
 * from several threads, with garbage among them, and calls back into the library meanwhile.
 *
 * carried [nothreads]: with `nothreads`, the library may call the program only within usrsctp_handle_timers(), usrsctp_conninput() and usrsctp_close(). */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <usrsctp.h>

#define MESSAGES 200
#define BYTES 20000
#define PAIRS 2
#define PATH_MTU 1100

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "carried: line %d: %s (errno %d)\n", __LINE__, #condition, errno); \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)

/* Whether something was done; if not, it has to be tried again later, and not have failed. */
static int is_done_now(int done)
{
    CHECK(done || errno == EAGAIN);
    return done;
}

/* An end: its address is that of the structure, as in many programs. */
struct end {
    struct end *other;
    struct socket *socket;
    size_t bytes;
    atomic_size_t notifications;
    atomic_int is_over;
    /* It is aborted, and closed: its memory could be another's. */
    atomic_int is_gone;
    unsigned char next;
};

static struct end ends[PAIRS][2], aborting[2], stranger;
static atomic_int is_done, inputs;
static atomic_long packets, calls;
static int has_threads = 1;
static _Thread_local int is_within;

/* Without threads of the library, it calls within calls of the program. */
static void check_caller(void)
{
    CHECK(has_threads || is_within);
}

static void hand_in(void *address, const void *packet, size_t length)
{
    int before = is_within;
    is_within = 1;
    usrsctp_conninput(address, packet, length, 0);
    is_within = before;
    inputs++;
}

static void close_socket(struct socket *socket)
{
    int before = is_within;
    is_within = 1;
    usrsctp_close(socket);
    is_within = before;
}

static int output(void *address, void *packet, size_t length, uint8_t tos, uint8_t set_df)
{
    (void)tos, (void)set_df;
    check_caller();
    struct end *end = address;
    CHECK(!end->is_gone);
    CHECK(end->other != NULL && length >= 12 && length <= PATH_MTU);
    /* A question to the stack, whose packet this is. */
    if (packets++ % 16 == 0 && end->socket != NULL) {
        struct sctp_status status;
        socklen_t size = sizeof status;
        memset(&status, 0, sizeof status);
        if (usrsctp_getsockopt(end->socket, IPPROTO_SCTP, SCTP_STATUS, &status, &size) == 0)
            calls++;
    }
    hand_in(end->other, packet, length);
    return 0;
}

static int receive(struct socket *socket, union sctp_sockstore from, void *data, size_t length, struct sctp_rcvinfo info, int flags,
                   void *ulp_info)
{
    (void)info;
    check_caller();
    struct end *end = ulp_info;
    if (data == NULL) {
        if (!end->is_over++)
            close_socket(socket);
        return 1;
    }
    if (flags & MSG_NOTIFICATION) {
        end->notifications++;
    } else {
        CHECK(from.sconn.sconn_family == AF_CONN && from.sconn.sconn_addr == end && ntohs(from.sconn.sconn_port) == 5001);
        for (size_t n = 0; n < length; n++)
            CHECK(((unsigned char *)data)[n] == end->next++);
        end->bytes += length;
    }
    free(data);
    return 1;
}

static void *throw_garbage(void *seed)
{
    unsigned char packet[300];
    unsigned state = (unsigned)(size_t)seed;
    while (!is_done) {
        for (size_t n = 0; n < sizeof packet; n++)
            packet[n] = (unsigned char)((state = state * 1103515245 + 12345) >> 16);
        /* Ports of the sockets, so that it comes further. */
        packet[0] = packet[2] = 5001 >> 8;
        packet[1] = packet[3] = 5001 & 0xff;
        usrsctp_conninput(&ends[state % PAIRS][state / 2 % 2], packet, state % sizeof packet, 0);
        usrsctp_conninput(&stranger, packet, sizeof packet, 0);
        usrsctp_conninput(NULL, NULL, 5, 0);
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Lets the library call the program, if it has no threads for that. */
static void turn(void)
{
    if (!has_threads) {
        is_within = 1;
        usrsctp_handle_timers(1);
        is_within = 0;
    }
    struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
}

#define WAIT_UNTIL(condition)                            \
    for (int turns = 0; !(condition); turn(), turns++) { \
        CHECK(turns < 60000);                            \
    }

static struct sockaddr_conn at(void *end)
{
    struct sockaddr_conn address;
    memset(&address, 0, sizeof address);
    address.sconn_family = AF_CONN;
    address.sconn_port = htons(5001);
    address.sconn_addr = end;
    return address;
}

static struct socket *new_socket(struct end *end)
{
    struct socket *socket = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, receive, NULL, 0, end);
    CHECK(socket != NULL && usrsctp_set_non_blocking(socket, 1) == 0);
    struct sctp_event event = {.se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = SCTP_ASSOC_CHANGE, .se_on = 1};
    CHECK(usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event) == 0);
    struct sctp_paddrparams parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.spp_address.ss_family = AF_CONN;
    parameters.spp_flags = SPP_PMTUD_DISABLE;
    parameters.spp_pathmtu = PATH_MTU;
    CHECK(usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &parameters, sizeof parameters) == 0);
    struct sockaddr_conn address = at(end);
    CHECK(usrsctp_bind(socket, (struct sockaddr *)&address, sizeof address) == 0);
    return socket;
}

/* Connects the ends of a pair; both have the same port. */
static void connect_pair(struct end *client, struct end *server)
{
    client->other = server;
    server->other = client;
    usrsctp_register_address(client);
    usrsctp_register_address(server);
    struct socket *listener = new_socket(server);
    struct socket *socket = new_socket(client);
    CHECK(usrsctp_listen(listener, 0) == 0 && usrsctp_listen(listener, 1) == 0 && usrsctp_listen(listener, 0) == 0);
    CHECK(usrsctp_listen(listener, 1) == 0);
    struct sockaddr_conn peer = at(client);
    CHECK(usrsctp_connect(socket, (struct sockaddr *)&peer, sizeof peer) == -1 && errno == EINPROGRESS);
    client->socket = socket;
    struct socket *accepted = NULL;
    struct sockaddr_conn from;
    socklen_t size = sizeof from;
    WAIT_UNTIL(is_done_now((accepted = usrsctp_accept(listener, (struct sockaddr *)&from, &size)) != NULL));
    CHECK(from.sconn_family == AF_CONN && from.sconn_addr == server && size == sizeof from);
    server->socket = accepted;
    close_socket(listener);
    struct sockaddr *list;
    CHECK(usrsctp_getpaddrs(accepted, 0, &list) == 1);
    CHECK(((struct sockaddr_conn *)list)->sconn_addr == server);
    usrsctp_freepaddrs(list);
    CHECK(usrsctp_getladdrs(accepted, 0, &list) == 1);
    CHECK(((struct sockaddr_conn *)list)->sconn_addr == server);
    usrsctp_freeladdrs(list);
}

static void send_all(struct end *from)
{
    static unsigned char message[BYTES];
    struct sctp_sndinfo info;
    memset(&info, 0, sizeof info);
    info.snd_sid = 1;
    unsigned char next = 0;
    for (int n = 0; n < MESSAGES; n++) {
        for (size_t byte = 0; byte < sizeof message; byte++)
            message[byte] = next++;
        WAIT_UNTIL(is_done_now(usrsctp_sendv(from->socket, message, sizeof message, NULL, 0, &info, sizeof info, SCTP_SENDV_SNDINFO, 0) >= 0));
    }
}

static void end_pair(struct end *client, struct end *server)
{
    CHECK(usrsctp_shutdown(client->socket, SHUT_WR) == 0);
    WAIT_UNTIL(client->is_over && server->is_over);
    CHECK(client->notifications > 0);
    usrsctp_deregister_address(client);
    usrsctp_deregister_address(server);
    struct sockaddr_conn address = at(client);
    struct socket *late = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
    CHECK(late != NULL);
    CHECK(usrsctp_bind(late, (struct sockaddr *)&address, sizeof address) == -1 && errno == EADDRNOTAVAIL);
    close_socket(late);
    hand_in(client, "of a withdrawn address", 22);
}

/* A program may free what an address points to after it has aborted the association. */
static void abort_pair(struct end *client, struct end *server)
{
    connect_pair(client, server);
    WAIT_UNTIL(client->notifications > 0);
    /* The call does not wait, although the socket would. */
    char byte;
    ssize_t got;
    unsigned int kind;
    int flags;
    do {
        flags = MSG_DONTWAIT;
        got = usrsctp_recvv(client->socket, &byte, 1, NULL, NULL, NULL, NULL, &kind, &flags);
    } while (got > 0);
    CHECK(got == -1 && errno == EAGAIN);
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    CHECK(usrsctp_setsockopt(client->socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
    struct socket *socket = client->socket;
    client->socket = NULL;
    close_socket(socket);
    usrsctp_deregister_address(client);
    client->is_gone = 1;
    WAIT_UNTIL(server->is_over);
    usrsctp_deregister_address(server);
}

int main(int argc, char **argv)
{
    pthread_t throwers[3];
    has_threads = argc < 2 || strcmp(argv[1], "nothreads") != 0;
    if (has_threads)
        usrsctp_init(0, output, NULL);
    else
        usrsctp_init_nothreads(0, output, NULL);
    CHECK(usrsctp_socket(AF_CONN, SOCK_DGRAM, IPPROTO_SCTP, NULL, NULL, 0, NULL) == NULL);
    /* In a program without threads of the library, others would be called, too. */
    size_t count = has_threads ? sizeof throwers / sizeof *throwers : 0;
    for (int pair = 0; pair < PAIRS; pair++)
        connect_pair(&ends[pair][0], &ends[pair][1]);
    for (size_t n = 0; n < count; n++)
        CHECK(pthread_create(&throwers[n], NULL, throw_garbage, (void *)(n + 1)) == 0);
    for (int pair = 0; pair < PAIRS; pair++) {
        send_all(&ends[pair][0]);
        WAIT_UNTIL(ends[pair][1].bytes == (size_t)MESSAGES * BYTES);
    }
    for (int pair = 0; pair < PAIRS; pair++)
        end_pair(&ends[pair][0], &ends[pair][1]);
    abort_pair(&aborting[0], &aborting[1]);
    is_done = 1;
    for (size_t n = 0; n < count; n++)
        CHECK(pthread_join(throwers[n], NULL) == 0);
    WAIT_UNTIL(usrsctp_finish() == 0);
    CHECK(packets > 0 && calls > 0 && inputs > 0);
    printf("carried: %d messages came over packets of the program\n", PAIRS * MESSAGES);
    return 0;
}
