/* The socket to which the shims connect. */
#ifndef HS_RECORD_SERVER_H
#define HS_RECORD_SERVER_H

#include "base/error.h"
#include "heapscope/region.h"

#include <stdbool.h>
#include <sys/types.h>

/* Decides about a process that says hello with the right token; pid is the kernel's word, in our namespace.
 * Returns the memfd of its region, which the server does not close, or -1: not to be recorded. */
typedef int hs_server_admit(void *context, pid_t pid, const struct hs_hello *hello);

struct hs_server;

/* Makes a private directory with the socket. Returns NULL and the error. */
struct hs_server *hs_server_open(hs_server_admit *admit, void *context, struct hs_error *error);
void hs_server_close(struct hs_server *server);

const char *hs_server_path(const struct hs_server *server);  /* for HS_ENV_SOCKET */
const char *hs_server_token(const struct hs_server *server); /* for HS_ENV_TOKEN */
const char *hs_server_directory(
	const struct hs_server *server); /* emptied and removed at the end: socket and "library" */

/* An epoll descriptor, readable when hs_server_serve has something to do. */
int hs_server_descriptor(const struct hs_server *server);
/* Never blocks: a stranger who connects and says nothing is dropped after a while. */
void hs_server_serve(struct hs_server *server, uint64_t now_ns);
/* Connections that were turned away because they spoke another version. */
unsigned hs_server_strange_versions(const struct hs_server *server);

#endif
