// Preloaded into user-mode Linux. Its kernel 6.1 keeps 2,696 bytes of a process's register state; a processor with
// more of it (AMX: some 11 kB) refuses to take so few back, and the guest panics before its first process runs. Here
// what user-mode Linux does not know of is read from the process first and written back unchanged.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

static long (*next)(int, ...);

__attribute__((constructor)) static void find_next(void) {
    *(void **)&next = dlsym(RTLD_NEXT, "ptrace");
}

long ptrace(enum __ptrace_request request, ...) {
    va_list list;
    va_start(list, request);
    pid_t process = va_arg(list, pid_t);
    void *address = va_arg(list, void *);
    void *data = va_arg(list, void *);
    va_end(list);

    static char whole[65536];
    struct iovec all = {whole, sizeof whole};
    if (request != PTRACE_SETREGSET || address != (void *)NT_X86_XSTATE ||
        next(PTRACE_GETREGSET, process, address, &all) != 0) {
        return next((int)request, process, address, data);
    }
    const struct iovec *part = data;
    memcpy(whole, part->iov_base, part->iov_len < all.iov_len ? part->iov_len : all.iov_len);
    return next(PTRACE_SETREGSET, process, address, &all);
}
