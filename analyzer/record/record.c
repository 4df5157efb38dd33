/* hs_record: checks, starts, records, completes. */
#include "record/record.h"

#include "base/memory.h"
#include "record/launch.h"
#include "record/procfs.h"
#include "record/session.h"
#include "record/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OWN_FAILURE = 125 };

/* A region is a large, almost empty file; and many processes with many libraries take many descriptors. The
 * target keeps the limits it would have had: it is started before. */
static void raise_limits(void)
{
	static const int kinds[] = {RLIMIT_FSIZE, RLIMIT_NOFILE};
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct rlimit limit;
		if (getrlimit((__rlimit_resource_t)kinds[i], &limit) == 0 &&
		    limit.rlim_cur != limit.rlim_max) {
			limit.rlim_cur = limit.rlim_max;
			setrlimit((__rlimit_resource_t)kinds[i], &limit);
		}
	}
}

int hs_record_check_limits(struct hs_error *error)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_max == RLIM_INFINITY ||
	    limit.rlim_max >= HS_REGION_FILE_BYTES)
		return 0;
	return hs_fail(error,
		       "the limit on file sizes (ulimit -f) is too low for the shared memory between the "
		       "program and the "
		       "recorder, which is %llu GiB large, though almost empty: try 'ulimit -f unlimited'",
		       (unsigned long long)(HS_REGION_FILE_BYTES >> 30));
}

/* Were a standard stream closed, a file of ours would take its place, and messages would end up in it. The
 * target finds the stream closed as before: this goes away on exec. */
static void occupy_streams(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* All that can fail before the target runs. */
static int prepare(struct hs_session *session, const char *program, struct hs_error *error)
{
	const struct hs_record_options *options = session->options;
	if (hs_record_check_limits(error) != 0 || hs_target_check_library(options->library, error) != 0 ||
	    hs_outputs_open(&session->output, options->output, program, error) != 0)
		return -1;
	session->server = hs_server_open(hs_session_admit, session, error);
	if (!session->server)
		return -1;
	session->packer = hs_packer_new();
	hs_cores_open(&session->cores);
	session->files = hs_files_new();
	session->images_context = (struct hs_image_context){
		.files = session->files,
		.output = &session->output,
		.packer = session->packer,
		.notice = options->notice,
	};
	if (hs_session_watch(session) != 0)
		return hs_fail(error, "cannot wait for the program: %s", strerror(errno));
	return 0;
}

static int start(struct hs_session *session, const char *path, struct hs_error *error)
{
	static const char *const follow_names[] = {
		[HS_FOLLOW_ALL] = "all", [HS_FOLLOW_EXEC] = "exec", [HS_FOLLOW_NONE] = "none"};
	const struct hs_record_options *options = session->options;
	const struct hs_launch launch = {
		.path = path,
		.arguments = options->command,
		.library = options->library,
		.directory = hs_server_directory(session->server),
		.socket = hs_server_path(session->server),
		.token = hs_server_token(session->server),
		.follow = follow_names[options->follow],
		.signals = &session->signals,
	};
	session->own_peak_bytes = hs_proc_most_resident(getpid());
	int code = hs_launch(&launch, &session->target, error);
	if (code == 0)
		raise_limits();
	return code;
}

/* The program ran, but the recorder in it never called. */
static void explain_silence(const struct hs_session *session)
{
	const char *program = session->options->command[0];
	if (hs_server_strange_versions(session->server))
		hs_session_notice(
			session,
			"nothing was recorded: '%s' is another version than heapscope; install both "
			"together",
			session->options->library);
	else
		hs_session_notice(session,
				  "nothing was recorded: '%s' ran, but the recorder was not loaded in it. "
				  "Perhaps it clears the "
				  "environment and starts another program (as sudo, su and env -i do): "
				  "record that program "
				  "itself",
				  program);
}

static void close_session(struct hs_session *session)
{
	if (session->naming) {
		char *failure = hs_naming_finish(session->naming);
		if (failure)
			hs_session_notice(session, "%s", failure);
		free(failure);
	}
	if (session->server)
		hs_server_close(session->server);
	if (session->files && !session->options->is_last)
		hs_files_free(session->files);
	hs_packer_free(session->packer);
	hs_cores_close(&session->cores);
	hs_offspring_free(&session->offspring);
	if (session->epoll >= 0)
		close(session->epoll);
}

static void take_result(struct hs_session *session, struct hs_record_result *result)
{
	int status = session->target_status;
	result->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	result->exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	result->files = session->output.files;
	if (!result->files)
		result->files = hs_allocate_zero(1, sizeof *result->files);
	session->output.files = NULL;
}

static int record(struct hs_session *session, const char *path, struct hs_record_result *result,
		  struct hs_error *error)
{
	int code = prepare(session, path, error) == 0 ? 0 : OWN_FAILURE;
	if (code == 0)
		code = start(session, path, error);
	if (code == 0) {
		session->naming = hs_naming_start(session->options->symbols);
		hs_session_loop(session);
		hs_session_name(session);
		if (!session->target_images && !session->output.count)
			explain_silence(session);
	}
	close_session(session);
	if (code == 0)
		take_result(session, result);
	hs_outputs_close(&session->output);
	return code;
}

int hs_record(const struct hs_record_options *options, struct hs_record_result *result,
	      struct hs_error *error)
{
	struct hs_session session = {.options = options,
				     .epoll = -1,
				     .cores.schedstat = -1,
				     .output = {.directory = -1, .fd = -1}};
	struct hs_error notice;
	char *path;
	*result = (struct hs_record_result){0};
	occupy_streams();
	hs_clock_start();
	int code = hs_target_check(options->command[0], &path, &notice, error);
	if (code)
		return code;
	if (notice.text[0])
		hs_session_notice(&session, "%s", notice.text);
	if (hs_signals_take(&session.signals) != 0) {
		hs_fail(error, "cannot receive signals: %s", strerror(errno));
		code = OWN_FAILURE;
	} else {
		code = record(&session, path, result, error);
		hs_signals_give_back(&session.signals);
		close(session.signals.descriptor);
	}
	free(path);
	return code;
}

void hs_record_result_free(struct hs_record_result *result)
{
	for (char **file = result->files; file && *file; file++)
		free(*file);
	free(result->files);
	result->files = NULL;
}
