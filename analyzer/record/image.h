/* One recorded process image: its region, what was read from it, its file. A process has a new image after
 * exec. */
#ifndef HS_RECORD_IMAGE_H
#define HS_RECORD_IMAGE_H

#include "record/drain.h"
#include "record/files.h"
#include "record/nodes.h"
#include "record/outputs.h"
#include "record/pair.h"

struct hs_place_names;

enum hs_image_end { HS_IMAGE_UNKNOWN, HS_IMAGE_EXIT, HS_IMAGE_SIGNAL, HS_IMAGE_EXEC };

struct hs_image_module {
	bool seen;        /* its file was looked for */
	uint32_t file_id; /* + 1; 0: no node of it is in the recording yet */
	bool unloaded;    /* which the recording knows */
	uint64_t bias;
	struct hs_module_file *file; /* or NULL */
	uint8_t build_id[HS_BUILD_ID_MOST];
	uint32_t build_id_bytes;
	char *path;
};

/* What all images of a session share. */
struct hs_image_context {
	struct hs_files *files;
	struct hs_outputs *output;
	struct hs_packer *packer;
	void (*notice)(const char *text);
};

struct hs_image {
	struct hs_image *next;
	const struct hs_image_context *context;

	/* Who it is. */
	pid_t pid, parent_pid;
	int pidfd;
	bool first;        /* the target's first image: its file has the plain name */
	bool own_pid_view; /* it sees the pids and tids that we see */
	bool shares_root;
	enum hs_origin origin;
	char *program, **command, *cwd;
	dev_t program_device; /* of the executable; inode 0: not known */
	ino_t program_inode;
	struct hs_module_file *program_file; /* opened while it surely lives; or NULL */
	uint64_t connect_ns, connect_unix_us, connect_rss_bytes;

	/* What it says. */
	struct hs_view view;
	bool ready;
	struct hs_stamp_clock clock;
	uint64_t start_stamp;
	uint64_t start_unix_us;
	struct hs_drain *drain;
	struct hs_image_module *modules;
	uint32_t module_count, modules_seen, file_modules;

	/* What is written. */
	bool begun; /* there is a file, and encoder, nodes and pairs stand */
	struct hs_encoder encoder;
	struct hs_nodes nodes;
	struct hs_pairing pairs;
	uint32_t *module_of_file; /* region module of a file module */
	size_t module_of_file_capacity;
	uint32_t nodes_given, modules_given; /* to the naming thread, and what it has made of them */
	struct hs_place_names *names;
	char *stopped;            /* NULL, or why nothing more is written */
	char *suppressions;       /* what __lsan_default_suppressions of the program returns, or NULL */
	bool suppressions_unread; /* there is one that cannot be read */
	uint64_t flushed_ns, flushed_events;
	uint32_t old_threads; /* were there at the last flush */

	/* Samples. */
	int statm;
	uint64_t next_sample_ns, next_peak_ns, next_burial_ns, next_exec_look_ns, peak_rss_bytes;
	uint64_t left_ns; /* 0, or when the process was first seen to run another executable */

	/* How it ended, and what the region said then. */
	enum hs_image_end end;
	int end_value;
	uint64_t duration_us;
	uint64_t lost_events, truncated_stacks, broken_stacks, fallback_stacks, late_events;
	uint64_t time_resolution_us; /* of events: their times are wrong by less, were they written exactly */
	uint64_t skipped_allocations, skipped_bytes; /* while recording was paused */
	uint32_t unseen_libraries;                   /* see region.h; and the first one's name */
	char unseen_library[256];
};

/* Takes pidfd. Returns NULL and the error if there is no memory for a region. */
struct hs_image *hs_image_new(const struct hs_image_context *context, pid_t pid, int pidfd,
			      const struct hs_hello *hello, struct hs_error *error);
/* Once round the loop: reads what is there. Returns the number of items. */
uint64_t hs_image_round(struct hs_image *image, uint64_t now_ns);
/* The process writes no more: reads the rest, and gives up the region and the table of blocks; what remains
 * is for the naming thread. begin: make a file even if there is nothing to write. */
void hs_image_finish(struct hs_image *image, bool begin, enum hs_image_end end, int end_value);
/* Header and footer as JSON, malloc'ed (documents.c). */
char *hs_image_header(const struct hs_image *image);
char *hs_image_footer(const struct hs_image *image);
/* Writes the footer, closes the file. From the naming thread, after the names. */
void hs_image_close(struct hs_image *image);
void hs_image_free(struct hs_image *image);

#endif
