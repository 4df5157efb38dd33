/* A tiny key/value server over HTTP, with the memory habits of real ones, for trying heapscope on.
 *
 *	GET /KEY             the value
 *	PUT /KEY (a body)    stores it
 *
 *	server [PORT]        serves on 127.0.0.1:PORT (8080) until it is killed
 *	server --once        serves one burst of requests that it makes to itself
 *
 * What there is to find: parse_request makes many short-lived strings; cache_put keeps every value (the
 * cache only grows); append_log grows one buffer by realloc; open_session forgets its greeting (the leak). */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUCKETS = 1024, REQUEST_BYTES = 16384, BURST = 1000, HOT_KEYS = 40 };

static void *must(void *block)
{
	if (block == NULL) {
		perror("server: out of memory");
		exit(1);
	}
	return block;
}

/* ---- the cache: values stay for good --------------------------------------------------------------------
 */

struct entry {
	struct entry *next;
	char *key, *value;
	size_t value_bytes;
};

static struct entry *buckets[BUCKETS];

static struct entry **cache_slot(const char *key)
{
	unsigned hash = 5381;
	for (const char *c = key; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	struct entry **slot = &buckets[hash % BUCKETS];
	while (*slot && strcmp((*slot)->key, key) != 0)
		slot = &(*slot)->next;
	return slot;
}

static const struct entry *cache_get(const char *key)
{
	return *cache_slot(key);
}

static void cache_put(const char *key, const char *value, size_t bytes)
{
	struct entry **slot = cache_slot(key), *entry = *slot;
	if (entry == NULL) {
		entry = *slot = must(calloc(1, sizeof(*entry)));
		entry->key = must(strdup(key));
	}
	free(entry->value);
	entry->value = must(malloc(bytes + 1));
	memcpy(entry->value, value, bytes);
	entry->value[bytes] = 0;
	entry->value_bytes = bytes;
}

/* ---- the access log: one buffer that grows --------------------------------------------------------------
 */

static char *log_text;
static size_t log_bytes, log_capacity;

static void append_log(const char *method, const char *key, int status)
{
	char line[512];
	int length = snprintf(line, sizeof(line), "%s /%s %d\n", method, key, status);
	if (length < 0 || (size_t)length >= sizeof(line))
		length = sizeof(line) - 1;
	if (log_bytes + (size_t)length > log_capacity) {
		log_capacity = log_capacity ? log_capacity + log_capacity / 2 : 256;
		log_text = must(realloc(log_text, log_capacity));
	}
	memcpy(log_text + log_bytes, line, (size_t)length);
	log_bytes += (size_t)length;
}

/* ---- requests: strings for a moment ---------------------------------------------------------------------
 */

struct request {
	char *method, *key;
	char *body; /* inside the received text */
	size_t body_bytes;
};

/* A copy of the word at *text, which moves past it. */
static char *copy_word(const char **text)
{
	*text += strspn(*text, " /");
	size_t length = strcspn(*text, " \r\n");
	char *word = must(strndup(*text, length));
	*text += length;
	return word;
}

/* Headers are compared in lower case, as copies: wasteful, and what many parsers do. */
static size_t content_length(const char *headers)
{
	size_t bytes = 0;
	for (const char *line = headers; *line && *line != '\r'; line = strchr(line, '\n') + 1) {
		char *copy = must(strndup(line, strcspn(line, "\r")));
		for (char *c = copy; *c; c++) {
			if (*c >= 'A' && *c <= 'Z')
				*c += 'a' - 'A';
		}
		if (strncmp(copy, "content-length:", 15) == 0)
			bytes = strtoul(copy + 15, NULL, 10);
		free(copy);
	}
	return bytes;
}

/* Returns whether the text holds a whole request. */
static bool parse_request(char *text, size_t bytes, struct request *request)
{
	char *end = strstr(text, "\r\n\r\n");
	if (end == NULL)
		return false;
	size_t wanted = content_length(strchr(text, '\n') + 1);
	request->body = end + 4;
	if (wanted > bytes - (size_t)(request->body - text))
		return false;
	request->body_bytes = wanted;
	const char *at = text;
	request->method = copy_word(&at);
	request->key = copy_word(&at);
	return true;
}

static void free_request(struct request *request)
{
	free(request->method);
	free(request->key);
}

static bool send_all(int fd, const char *bytes, size_t count)
{
	while (count) {
		ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		bytes += sent;
		count -= (size_t)sent;
	}
	return true;
}

static void respond(int fd, int status, const char *body, size_t body_bytes)
{
	char *response;
	int length = asprintf(&response, "HTTP/1.0 %d %s\r\nContent-Length: %zu\r\n\r\n%.*s", status,
			      status == 200 ? "OK" : "Not Found", body_bytes, (int)body_bytes, body);
	if (length < 0)
		must(NULL);
	send_all(fd, response, (size_t)length);
	free(response);
}

static void handle_request(int fd, struct request *request)
{
	int status = 200;
	if (strcmp(request->method, "PUT") == 0) {
		cache_put(request->key, request->body, request->body_bytes);
		respond(fd, status, "", 0);
	} else {
		const struct entry *entry = cache_get(request->key);
		status = entry ? 200 : 404;
		respond(fd, status, entry ? entry->value : "", entry ? entry->value_bytes : 0);
	}
	append_log(request->method, request->key, status);
}

/* ---- connections ----------------------------------------------------------------------------------------
 */

/* The bug: the greeting is made for every connection and lost. */
static unsigned open_session(int fd)
{
	static unsigned sessions;
	char *greeting = must(malloc(96));
	snprintf(greeting, 96, "session %u on descriptor %d", ++sessions, fd);
	return (unsigned)strlen(greeting);
}

static void serve_connection(int fd)
{
	char *text = must(malloc(REQUEST_BYTES));
	struct request request;
	size_t bytes = 0;
	open_session(fd);
	while (bytes < REQUEST_BYTES - 1) {
		ssize_t got = recv(fd, text + bytes, REQUEST_BYTES - 1 - bytes, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		bytes += (size_t)got;
		text[bytes] = 0;
		if (parse_request(text, bytes, &request)) {
			handle_request(fd, &request);
			free_request(&request);
			break;
		}
	}
	free(text);
	close(fd);
}

static int listen_on(unsigned short *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(*port)};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, 64) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
		fprintf(stderr, "server: cannot listen on 127.0.0.1:%u: %s\n", *port, strerror(errno));
		exit(1);
	}
	*port = ntohs(address.sin_port);
	return fd;
}

static void serve(int listener, long connections)
{
	for (long served = 0; connections < 0 || served < connections; served++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			serve_connection(fd);
	}
}

/* ---- the burst: a thread that is the client -------------------------------------------------------------
 */

/* One exchange; returns the status of the response. */
static int exchange(unsigned short port, const char *request, size_t bytes)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	char response[REQUEST_BYTES] = "";
	size_t received = 0;
	ssize_t got;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 0;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    !send_all(fd, request, bytes)) {
		perror("server: cannot reach itself");
		exit(1);
	}
	while (received < sizeof(response) - 1 &&
	       (got = recv(fd, response + received, sizeof(response) - 1 - received, 0)) > 0)
		received += (size_t)got;
	close(fd);
	sscanf(response, "HTTP/1.0 %d", &status);
	return status;
}

static void *client(void *argument)
{
	unsigned short port = *(unsigned short *)argument;
	static int failures;
	for (unsigned i = 0; i < BURST; i++) {
		char *body = must(malloc(64 + i * 12)), *request;
		memset(body, 'a' + (int)(i % 26), 64 + i * 12);
		int length =
			asprintf(&request,
				 "PUT /user/%u HTTP/1.0\r\nHost: localhost\r\nContent-Length: %u\r\n\r\n%.*s",
				 i, 64 + i * 12, (int)(64 + i * 12), body);
		if (length < 0)
			must(NULL);
		failures += exchange(port, request, (size_t)length) != 200;
		free(request);
		free(body);
		length = asprintf(&request, "GET /user/%u HTTP/1.0\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
				  i % HOT_KEYS);
		if (length < 0)
			must(NULL);
		failures += exchange(port, request, (size_t)length) != (i < i % HOT_KEYS ? 404 : 200);
		free(request);
	}
	return &failures;
}

static int serve_once(void)
{
	unsigned short port = 0;
	pthread_t thread;
	void *failures;
	int listener = listen_on(&port);
	if (pthread_create(&thread, NULL, client, &port) != 0) {
		fprintf(stderr, "server: cannot start a thread\n");
		return 1;
	}
	serve(listener, 2 * BURST);
	pthread_join(thread, &failures);
	close(listener);
	printf("served %d requests, %d of them wrong; the log has %zu bytes\n", 2 * BURST, *(int *)failures,
	       log_bytes);
	return *(int *)failures != 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--once") == 0)
		return serve_once();
	unsigned short port = argc > 1 ? (unsigned short)atoi(argv[1]) : 8080;
	int listener = listen_on(&port);
	printf("listening on 127.0.0.1:%u\n", port);
	fflush(stdout);
	serve(listener, -1);
	return 0;
}
