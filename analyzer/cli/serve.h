/* Serves one page over HTTP, to this machine only. */
#ifndef HS_SERVE_H
#define HS_SERVE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct hs_server;

/* Listens on 127.0.0.1 and, where there is one, ::1; port 0 takes any that is free. The page must stay until
 * the end. NULL and an error on failure. Blocks the signals that end it: to be called by the only thread. */
struct hs_server *hs_serve_start(const char *page, size_t bytes, uint16_t port, struct hs_error *error);
uint16_t hs_serve_port(const struct hs_server *server);
/* Serves until SIGINT, SIGTERM or SIGHUP comes. */
void hs_serve_until_signal(struct hs_server *server);
void hs_serve_end(struct hs_server *server);

#endif
