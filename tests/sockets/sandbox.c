// Runs a program in which a system call fails, as in a sandbox.
//
// usage: sandbox unix|process_vm_readv|memfd_create PROGRAM ARGUMENTS...
//
// "unix" forbids sockets of AF_UNIX. The others fail with EPERM.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

static int install(struct sock_filter *filter, unsigned short count) {
    struct sock_fprog program = {.len = count, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int count, char **arguments) {
    if (count < 3)
        return 2;
    const char *what = arguments[1];
    int failed;
    if (!strcmp(what, "unix")) {
        struct sock_filter filter[] = {
            LOAD(nr), UNLESS(SYS_socket, 3), LOAD(args[0]), UNLESS(AF_UNIX, 1),
            RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT), RETURN(SECCOMP_RET_ALLOW),
        };
        failed = install(filter, sizeof filter / sizeof *filter);
    } else {
        unsigned call = !strcmp(what, "memfd_create") ? SYS_memfd_create : SYS_process_vm_readv;
        struct sock_filter filter[] = {
            LOAD(nr), UNLESS(call, 1), RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW),
        };
        failed = install(filter, sizeof filter / sizeof *filter);
    }
    if (failed) {
        perror("sandbox: seccomp");
        return 1;
    }
    execvp(arguments[2], arguments + 2);
    perror(arguments[2]);
    return 1;
}
