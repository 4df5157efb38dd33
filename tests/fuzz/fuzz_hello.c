/* The collector's socket: any bytes, in any pieces. Only a hello that is right lets a process in, and the
 * server still hears the next one.
 *
 * The first byte says how the rest is sent: its low bits the size of a piece, bit 6 whether the token is
 * replaced by the right one, bit 7 whether the sender hangs up before it is heard. */
#include "fuzz.h"
#include "record/server.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { RIGHT_TOKEN = 1 << 6, HANG_UP = 1 << 7 };

static struct hs_server *server;
static unsigned admitted;
static int region;
static uint64_t now_ns;

static int admit(void *context, pid_t pid, const struct hs_hello *hello)
{
	FUZZ_CHECK(pid == getpid());
	FUZZ_CHECK(hello->magic == HS_REGION_MAGIC && hello->version == HS_REGION_VERSION);
	FUZZ_CHECK(memcmp(hello->token, hs_server_token(server), HS_TOKEN_BYTES) == 0);
	admitted++;
	return region;
}

void fuzz_seeds(fuzz_add *add, void *context)
{
	struct {
		uint8_t how;
		struct hs_hello hello;
	} __attribute__((packed))
	seed = {63 | RIGHT_TOKEN, {HS_REGION_MAGIC, HS_REGION_VERSION, HS_ORIGIN_START, 7, 1, 99, {0}}};
	add(context, &seed, sizeof seed);
	seed.how = 5 | RIGHT_TOKEN;
	seed.hello.version++;
	add(context, &seed, sizeof seed);
	seed.how = 63;
	add(context, &seed, sizeof seed);
	seed.how = 9 | HANG_UP;
	add(context, &seed, 40);
}

static int connect_abstract(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(hs_server_path(server));
	memcpy(address.sun_path + 1, hs_server_path(server), length);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FUZZ_CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address,
				      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1)) == 0);
	return fd;
}

/* What came back: a whole welcome, or nothing. */
static bool welcomed(int fd, uint32_t *record)
{
	struct hs_welcome welcome;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {&welcome, sizeof welcome};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got <= 0)
		return false;
	FUZZ_CHECK(got == sizeof welcome && welcome.magic == HS_REGION_MAGIC);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	FUZZ_CHECK((header != NULL) == (welcome.record == 1));
	if (header) {
		int received;
		memcpy(&received, CMSG_DATA(header), sizeof received);
		close(received);
	}
	*record = welcome.record;
	return true;
}

static void say(const uint8_t *data, size_t size, size_t piece, bool hang_up)
{
	int fd = connect_abstract();
	unsigned before = admitted;
	struct hs_hello hello = {0};
	memcpy(&hello, data, size < sizeof hello ? size : sizeof hello);
	for (size_t at = 0; at < size; at += piece) {
		size_t bytes = piece < size - at ? piece : size - at;
		if (send(fd, data + at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)bytes)
			break; /* heard enough, or too much at once */
		if (!hang_up)
			hs_server_serve(server, now_ns += 1000);
	}
	if (hang_up)
		shutdown(fd, SHUT_RDWR);
	hs_server_serve(server, now_ns += 1000);
	bool known = size >= sizeof hello && hello.magic == HS_REGION_MAGIC &&
		     memcmp(hello.token, hs_server_token(server), HS_TOKEN_BYTES) == 0;
	bool right = known && hello.version == HS_REGION_VERSION;
	FUZZ_CHECK(admitted == before + right);
	uint32_t record = 2;
	bool answered = welcomed(fd, &record);
	FUZZ_CHECK(hang_up || (answered == known && (!answered || record == right)));
	close(fd);
}

static void say_right(void)
{
	struct hs_hello hello = {HS_REGION_MAGIC, HS_REGION_VERSION, HS_ORIGIN_FORK, 1, 2, 3, {0}};
	memcpy(hello.token, hs_server_token(server), HS_TOKEN_BYTES);
	say((const uint8_t *)&hello, sizeof hello, sizeof hello, false);
}

static void end(void)
{
	hs_server_close(server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hs_error error;
	if (!server) {
		server = hs_server_open(admit, NULL, &error);
		FUZZ_CHECK(server != NULL);
		region = fuzz_file_make("", 0).fd;
		atexit(end);
	}
	uint8_t how = size ? data[0] : 0;
	size_t bytes = size ? size - 1 : 0, token = offsetof(struct hs_hello, token);
	uint8_t *words = malloc(bytes + 1);
	memcpy(words, data + (size != 0), bytes);
	if ((how & RIGHT_TOKEN) && bytes >= token + HS_TOKEN_BYTES)
		memcpy(words + token, hs_server_token(server), HS_TOKEN_BYTES);
	say(words, bytes, (how & 63) + 1, how & HANG_UP);
	free(words);
	say_right();
	return 0;
}
