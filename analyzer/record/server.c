/* Hand-shakes. */
#include "record/server.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { GUESTS_MOST = 128, ACCEPTS_A_TURN = 64 };
#define GUEST_PATIENCE_NS 2000000000ull

/* Connected, but has not said all of its hello. */
struct guest {
	int fd; /* -1: free */
	uint64_t since_ns;
	size_t got;
	struct hs_hello hello;
};

struct hs_server {
	hs_server_admit *admit;
	void *context;
	char directory[sizeof((struct sockaddr_un){0}.sun_path)];
	char path[sizeof((struct sockaddr_un){0}.sun_path)];
	char token[HS_TOKEN_BYTES + 1];
	int listeners[2]; /* by path, abstract */
	int epoll;
	int reserve; /* a descriptor to give away when there are no more */
	struct guest guests[GUESTS_MOST];
	unsigned guest_count;
	unsigned strange_versions;
};

/* ---- opening ------------------------------------------------------------------------------------------- */

static int make_directory(struct hs_server *server, const char *parent)
{
	/* Room is needed for "/socket", behind the abstract name's zero byte. */
	int length = snprintf(server->directory, sizeof server->directory, "%s/heapscope-%d-XXXXXX", parent,
			      (int)getpid());
	if (length < 0 || (size_t)length + sizeof "/socket" + 1 > sizeof server->directory) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (!mkdtemp(server->directory))
		return -1;
	/* A target may give up its rights before it connects: it may pass through, but not look around. */
	chmod(server->directory, 0711);
	snprintf(server->path, sizeof server->path, "%.*s/socket", (int)sizeof server->path - 9,
		 server->directory);
	return 0;
}

static int listen_on(struct hs_server *server, bool abstract)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(server->path);
	memcpy(address.sun_path + abstract, server->path, length);
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	struct epoll_event event = {.events = EPOLLIN};
	if (bind(fd, (struct sockaddr *)&address, bytes) != 0 || listen(fd, SOMAXCONN) != 0 ||
	    epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
		int reason = errno;
		close(fd);
		errno = reason;
		return -1;
	}
	return fd;
}

static int make_token(struct hs_server *server)
{
	uint8_t bytes[HS_TOKEN_BYTES / 2];
	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return -1;
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(server->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

struct hs_server *hs_server_open(hs_server_admit *admit, void *context, struct hs_error *error)
{
	struct hs_server *server = hs_allocate_zero(1, sizeof *server);
	server->admit = admit;
	server->context = context;
	server->listeners[0] = server->listeners[1] = -1;
	server->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (unsigned i = 0; i < GUESTS_MOST; i++)
		server->guests[i].fd = -1;
	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	const char *parent = getenv("TMPDIR");
	if (!parent || parent[0] != '/' || make_directory(server, parent) != 0) {
		server->directory[0] = 0;
		if (make_directory(server, "/tmp") != 0)
			server->directory[0] = 0;
	}
	if (server->epoll < 0 || !server->directory[0] || make_token(server) != 0 ||
	    (server->listeners[0] = listen_on(server, false)) < 0 ||
	    (server->listeners[1] = listen_on(server, true)) < 0) {
		hs_fail(error,
			"cannot open a socket for the recorder in '%s': %s; point TMPDIR at a writable "
			"directory",
			server->directory[0] ? server->directory : "/tmp", strerror(errno));
		hs_server_close(server);
		return NULL;
	}
	chmod(server->path, 0777);
	return server;
}

static void drop(struct hs_server *server, struct guest *guest)
{
	if (guest->fd < 0)
		return;
	close(guest->fd); /* leaves the epoll set */
	guest->fd = -1;
	server->guest_count--;
}

void hs_server_close(struct hs_server *server)
{
	for (unsigned i = 0; i < GUESTS_MOST; i++)
		drop(server, &server->guests[i]);
	for (unsigned i = 0; i < 2; i++)
		if (server->listeners[i] >= 0)
			close(server->listeners[i]);
	if (server->epoll >= 0)
		close(server->epoll);
	if (server->reserve >= 0)
		close(server->reserve);
	if (server->directory[0]) {
		char library[sizeof server->directory + 16];
		snprintf(library, sizeof library, "%s/library", server->directory);
		unlink(library);
		unlink(server->path);
		rmdir(server->directory);
	}
	free(server);
}

const char *hs_server_path(const struct hs_server *server)
{
	return server->path;
}

const char *hs_server_token(const struct hs_server *server)
{
	return server->token;
}

const char *hs_server_directory(const struct hs_server *server)
{
	return server->directory;
}

int hs_server_descriptor(const struct hs_server *server)
{
	return server->epoll;
}

unsigned hs_server_strange_versions(const struct hs_server *server)
{
	return server->strange_versions;
}

/* ---- serving ------------------------------------------------------------------------------------------- */

static bool same_token(const char *left, const char *right)
{
	unsigned differs = 0;
	for (unsigned i = 0; i < HS_TOKEN_BYTES; i++)
		differs |= (unsigned char)(left[i] ^ right[i]);
	return !differs;
}

static void send_welcome(int fd, int region)
{
	struct hs_welcome welcome = {HS_REGION_MAGIC, HS_REGION_VERSION, region >= 0};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof region)] = {0};
	struct iovec part = {&welcome, sizeof welcome};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (region >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof control;
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof region);
		memcpy(CMSG_DATA(header), &region, sizeof region);
	}
	sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void answer(struct hs_server *server, const struct guest *guest)
{
	const struct hs_hello *hello = &guest->hello;
	struct ucred peer;
	socklen_t bytes = sizeof peer;
	if (hello->magic != HS_REGION_MAGIC || !same_token(hello->token, server->token))
		return;
	int region = -1;
	if (hello->version != HS_REGION_VERSION)
		server->strange_versions++;
	else if (getsockopt(guest->fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid > 0)
		region = server->admit(server->context, peer.pid, hello);
	send_welcome(guest->fd, region);
}

/* true: the guest has nothing more to say, or is gone. */
static bool hear(struct hs_server *server, struct guest *guest)
{
	char *hello = (char *)&guest->hello;
	while (guest->got < sizeof guest->hello) {
		ssize_t got =
			recv(guest->fd, hello + guest->got, sizeof guest->hello - guest->got, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 || errno != EAGAIN;
		guest->got += (size_t)got;
	}
	answer(server, guest);
	return true;
}

static struct guest *free_place(struct hs_server *server)
{
	struct guest *oldest = &server->guests[0];
	for (unsigned i = 0; i < GUESTS_MOST; i++) {
		struct guest *guest = &server->guests[i];
		if (guest->fd < 0)
			return guest;
		if (guest->since_ns < oldest->since_ns)
			oldest = guest;
	}
	drop(server, oldest);
	return oldest;
}

static void receive_guest(struct hs_server *server, int fd, uint64_t now_ns)
{
	struct guest *guest = free_place(server);
	*guest = (struct guest){.fd = fd, .since_ns = now_ns};
	server->guest_count++;
	struct epoll_event event = {.events = EPOLLIN};
	/* Mostly the hello is there already. */
	if (hear(server, guest) || epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		drop(server, guest);
}

/* Out of descriptors: whoever waits would keep the listener readable and us awake, so he is sent away. */
static void turn_away(struct hs_server *server, int listener)
{
	if (server->reserve < 0)
		return;
	close(server->reserve);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	server->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void hs_server_serve(struct hs_server *server, uint64_t now_ns)
{
	for (unsigned i = 0; i < GUESTS_MOST && server->guest_count; i++) {
		struct guest *guest = &server->guests[i];
		if (guest->fd >= 0 && (hear(server, guest) || now_ns - guest->since_ns > GUEST_PATIENCE_NS))
			drop(server, guest);
	}
	for (unsigned i = 0; i < 2; i++)
		for (unsigned turn = 0; turn < ACCEPTS_A_TURN; turn++) {
			int fd = accept4(server->listeners[i], NULL, NULL, SOCK_CLOEXEC);
			if (fd < 0 && (errno == EMFILE || errno == ENFILE))
				turn_away(server, server->listeners[i]);
			if (fd < 0)
				break;
			receive_guest(server, fd, now_ns);
		}
}
