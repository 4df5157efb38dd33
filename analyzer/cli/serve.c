/* Serves one page over HTTP, to this machine only: GET and HEAD of "/", nothing else. A page of the web that
 * has its own name resolved to 127.0.0.1 (DNS rebinding) is told apart by the Host that its requests name. */
#include "cli/serve.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS_MOST = 32, IDLE_SECONDS_MOST = 30, REQUEST_BYTES_MOST = 32 << 10, SOCKETS = 2 };

struct hs_server {
	struct MHD_Response *page;
	struct MHD_Daemon *daemons[SOCKETS];
	uint16_t port;
	sigset_t signals;
};

/* ---- the library ----------------------------------------------------------------------------------------
 */

/* Loaded when a page is served, and not with the program: it brings a dozen libraries along (gnutls), which
 * would double the time that every `heapscope run` takes to start. */
static const char library_name[] = "libmicrohttpd.so.12";

#define HTTP_FUNCTIONS(each)                                                                                 \
	each(start_daemon) each(stop_daemon) each(create_response_from_buffer) each(add_response_header)     \
		each(queue_response) each(destroy_response) each(lookup_connection_value)

#define DECLARE(name) __typeof__(MHD_##name) *name;
static struct {
	HTTP_FUNCTIONS(DECLARE)
} http;

static int load_library(struct hs_error *error)
{
	void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
	bool whole = library != NULL;
#define FIND(name) whole = whole && (http.name = (__typeof__(http.name))dlsym(library, "MHD_" #name)) != NULL;
	HTTP_FUNCTIONS(FIND)
	if (whole)
		return 0;
	return hs_fail(
		error,
		"cannot serve the page: %s\n"
		"install libmicrohttpd (Debian: package libmicrohttpd12), or leave out --port for a file",
		dlerror());
}

/* ---- answers --------------------------------------------------------------------------------------------
 */

/* Names of this machine for itself; the port may be another at the other end of an ssh tunnel. */
static bool is_own_name(const char *host)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
	for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
		size_t length = strlen(names[i]);
		if (strncasecmp(host, names[i], length) != 0)
			continue;
		const char *port = host + length;
		if (*port == 0 || (*port == ':' && strspn(port + 1, "0123456789") == strlen(port + 1)))
			return true;
	}
	return false;
}

static struct MHD_Response *make_response(const char *text, size_t bytes, const char *type)
{
	static const char *const headers[][2] = {
		{"Cache-Control", "no-store"},      {"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},        {"Cross-Origin-Resource-Policy", "same-origin"},
		{"Referrer-Policy", "no-referrer"},
	};
	struct MHD_Response *response =
		http.create_response_from_buffer(bytes, (void *)text, MHD_RESPMEM_PERSISTENT);
	if (response == NULL)
		return NULL;
	http.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		http.add_response_header(response, headers[i][0], headers[i][1]);
	return response;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *text)
{
	struct MHD_Response *response = make_response(text, strlen(text), "text/plain; charset=utf-8");
	if (response == NULL)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		http.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	http.add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	enum MHD_Result result = http.queue_response(connection, status, response);
	http.destroy_response(response);
	return result;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_bytes, void **request)
{
	const struct hs_server *server = context;
	const char *host = http.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	if (!is_own_name(host))
		return refuse(connection, MHD_HTTP_FORBIDDEN, "heapscope answers to localhost only\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (strcmp(url, "/") != 0)
		return refuse(connection, MHD_HTTP_NOT_FOUND, "there is one page, at /\n");
	return http.queue_response(connection, MHD_HTTP_OK, server->page);
}

/* ---- listening ------------------------------------------------------------------------------------------
 */

/* A socket on the loopback address of a family; -1 and errno on failure. *port 0 becomes the one it got. */
static int listen_on(int family, uint16_t *port)
{
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT, .sin6_port = htons(*port)};
	struct sockaddr_in four = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(*port)};
	bool is_six = family == AF_INET6;
	struct sockaddr *address = is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four;
	socklen_t bytes = is_six ? sizeof six : sizeof four;
	int yes = 1, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (is_six)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
	if (bind(fd, address, bytes) != 0 || listen(fd, CONNECTIONS_MOST) != 0 ||
	    getsockname(fd, address, &bytes) != 0) {
		int failure = errno;
		close(fd);
		errno = failure;
		return -1;
	}
	*port = ntohs(is_six ? six.sin6_port : four.sin_port);
	return fd;
}

static int fail_port(const struct hs_server *server, struct hs_error *error)
{
	if (errno == EADDRINUSE)
		return hs_fail(error, "port %u is in use\nname another one; --port 0 takes one that is free",
			       server->port);
	return hs_fail(error, "cannot serve on port %u: %s", server->port, strerror(errno));
}

static int start_daemons(struct hs_server *server, struct hs_error *error)
{
	static const int families[SOCKETS] = {AF_INET, AF_INET6};
	bool chosen = server->port != 0;
	for (unsigned i = 0; i < SOCKETS; i++) {
		int fd = listen_on(families[i], &server->port);
		/* many machines have no IPv6; and a port that was free in IPv4 need not be so in IPv6 */
		if (fd < 0 && families[i] == AF_INET6 && (errno != EADDRINUSE || !chosen))
			continue;
		if (fd < 0)
			return fail_port(server, error);
		server->daemons[i] = http.start_daemon(
			MHD_USE_INTERNAL_POLLING_THREAD, server->port, NULL, NULL, answer, server,
			MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST,
			MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS_MOST,
			MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES_MOST, MHD_OPTION_END);
		if (server->daemons[i] == NULL) {
			close(fd);
			return hs_fail(error, "cannot serve on port %u: libmicrohttpd could not start",
				       server->port);
		}
	}
	return 0;
}

struct hs_server *hs_serve_start(const char *page, size_t bytes, uint16_t port, struct hs_error *error)
{
	if (load_library(error) != 0)
		return NULL;
	struct hs_server *server = hs_allocate_zero(1, sizeof *server);
	server->port = port;
	/* before the daemons' threads begin, which inherit it */
	sigemptyset(&server->signals);
	sigaddset(&server->signals, SIGINT);
	sigaddset(&server->signals, SIGTERM);
	sigaddset(&server->signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &server->signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	server->page = make_response(page, bytes, "text/html; charset=utf-8");
	if (server->page && start_daemons(server, error) == 0)
		return server;
	hs_serve_end(server);
	return NULL;
}

uint16_t hs_serve_port(const struct hs_server *server)
{
	return server->port;
}

void hs_serve_until_signal(struct hs_server *server)
{
	int number;
	while (sigwait(&server->signals, &number) != 0)
		;
}

void hs_serve_end(struct hs_server *server)
{
	for (unsigned i = 0; i < SOCKETS; i++)
		if (server->daemons[i])
			http.stop_daemon(server->daemons[i]);
	if (server->page)
		http.destroy_response(server->page);
	free(server);
}
