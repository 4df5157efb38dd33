/* A recording, loaded: what happened, by stack. Pure: no printing, no exit.
 *
 *   recording.c  the file's members: hop, inflate (in parallel), check
 *   events.c     columns of an events member -> arrays; ahead.c: that and tracker.c, ahead of the replay
 *   tracker.c    which block (blocks.c) each event begins or ends, and which group counts it
 *   replay.c     events -> counts per group of nodes, timeline, histograms; one sequential pass
 *   replay_nodes.c  the simpler pass by nodes (node_counts.c), where nobody asks for maxima or histograms
 *   counts.c     the same counts of a file that has them instead of events
 *   profile.c    frames, stacks and names; loads all but the events
 *   fold.c       which frames are allocator or container internals
 *   suppressions.c  rules that say which stacks' live blocks are no leaks
 *   suppressions_find.c  which rule says so of each stack
 *   marks.c      phases and pauses: what the program said of itself
 *   order.c      which frame comes before which in reports
 *   sites.c      nodes grouped by their folded stack; sites_group.c: which node belongs to which site;
 *                sites_met.c: the same while events are replayed
 *   sites_finish.c  their order and frames
 */
#ifndef HS_PROFILE_H
#define HS_PROFILE_H

#include "base/error.h"
#include "base/strings.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what stands in the file ----------------------------------------------------------------------------
 */

struct hs_module {
	uint32_t path; /* string index */
	uint64_t start, size, bias;
	uint8_t build_id[64];
	uint32_t build_id_bytes;
	uint32_t flags;              /* of FORMAT.md */
	uint64_t load_us, unload_us; /* unload_us is UINT64_MAX while loaded */
	uint32_t same_as;            /* the first module that is the same file: a library loaded again */
};

/* One frame as people see it. Frames are distinct: the same text is the same frame (but for its address). */
struct hs_frame {
	uint32_t function; /* string index; 0 unknown */
	uint32_t file;     /* string index; 0 unknown */
	uint32_t line;     /* 0 unknown */
	uint32_t module;   /* index in modules (the first of the same file), UINT32_MAX none */
	uint64_t address;  /* return address - 1, link-time; 0 for the marks "cut" and "broken" */
	bool inlined;      /* into the next frame outwards */
	bool internal;     /* allocator or container plumbing (fold.c) */
	bool rust;         /* of Rust's standard library (fold.c) */
	uint32_t rank;     /* in the order of hs_frames_compare; the same if they look the same */
};

/* A return address, of which many nodes have the same; its frames, innermost first, are
 * frames[first_frame .. first_frame + frame_count). */
struct hs_call {
	uint32_t first_frame;
	uint32_t frame_count; /* 1 + inlined ones; 0: heapscope's own */
};

/* A node of the recorded trie: 8 bytes, for there may be a million of them. */
struct hs_node {
	uint32_t parent; /* node id; 0 root */
	uint32_t call;   /* 0, which has no frames: of the root */
};

struct hs_thread {
	uint32_t tid;
	uint32_t name; /* string index */
};

/* Of a file that `heapscope merge` made of several. */
struct hs_merged {
	uint64_t recordings; /* 0: it is no such file */
	uint64_t incomplete; /* of them, cut or damaged: they count as far as they were whole */
	struct hs_merged_command {
		char *line; /* the command in one piece */
		uint64_t recordings;
	} * commands; /* in the order of the files */
	uint32_t command_count;
	uint64_t end_unix_us;        /* of the one that ended last; 0 unknown */
	uint64_t longest_us, sum_us; /* durations */
};

enum hs_end_kind { HS_END_UNKNOWN, HS_END_EXIT, HS_END_SIGNAL, HS_END_EXEC, HS_END_RUNNING /* no footer */ };

/* What the numbers of a file without events count: bytes and blocks of a heap, or a profiler's samples, which
 * stand in `allocations`. */
enum hs_subject { HS_SUBJECT_HEAP, HS_SUBJECT_SAMPLES };

/* What a program reported of its own pools; slabs are memory that their blocks are carved from, and count
 * nowhere else. */
struct hs_pool_facts {
	uint64_t slabs, slab_most_bytes, slab_live_bytes; /* of malloc: all, at most, at the end */
	uint64_t allocations, most_bytes, live_bytes;     /* blocks out of pools */
};

struct hs_facts {
	uint32_t unknown; /* HS_TOLD_...: what the file does not tell */
	enum hs_subject subject;
	char *imported; /* NULL, or the format that it was imported from: "heaptrack", "dhat", "folded" */
	struct hs_merged merged;
	char *program;
	char **command; /* NULL-terminated */
	char *cwd;
	uint32_t pid, parent_pid;
	bool forked; /* began as a fork: inherited blocks are not its own */
	uint64_t start_unix_us, duration_us;
	uint64_t time_resolution_us; /* times of events are wrong by less (1: exact), lifetimes by less than
				      * twice that; known after a replay, 0 if there are no events */
	enum hs_end_kind end;
	int end_value; /* exit status or signal */
	uint64_t lost_events, truncated_stacks, broken_stacks, fallback_stacks, late_events, repaired_frees,
		unknown_frees, peak_rss_bytes;
	uint64_t unseen_libraries; /* opened so that what they allocate themselves is not recorded, */
	char *unseen_library;      /* and the first one's name, or NULL */
	char *lsan_suppressions;   /* NULL, or the program's own (suppressions.h) */
	bool lsan_unread;          /* it has some that could not be read */
	uint64_t skipped_allocations, skipped_bytes; /* while the program had recording paused */
	struct hs_pool_facts pools;
	char *stopped; /* NULL, or why recording ended before the program did */
	char *warning; /* NULL, or what is wrong with the file (truncated, damaged, totals that disagree) */
};

/* ---- what the replay counts -----------------------------------------------------------------------------
 */

/* Definitions: docs of section 5 of the design; bytes are requested bytes. */
struct hs_counts {
	uint64_t allocated_bytes, allocations; /* all calls that gave a block, reallocs included */
	uint64_t peak_bytes, peak_blocks;      /* live at the global peak (t-gmax) */
	uint64_t live_bytes, live_blocks;      /* at the end */
	uint64_t max_bytes, max_blocks;      /* this group's own maximum of live bytes, and its blocks then */
	uint64_t temporary_bytes, temporary; /* freed before their thread allocated again */
	uint64_t moved_bytes, moved; /* what realloc copied: min(old, new), booked on the realloc's stack */
	uint64_t reallocations;      /* allocations that were reallocs of a live block */
	uint64_t lifetime_us;        /* sum over blocks; live ones count to the end */
	/* Of the live ones: what the profile's suppressions hide; the rest is leaked. Not in files. */
	uint64_t suppressed_bytes, suppressed_blocks;
};

enum { HS_COUNT_FIELDS = 14 };
_Static_assert(offsetof(struct hs_counts, suppressed_bytes) == HS_COUNT_FIELDS * sizeof(uint64_t),
	       "bits of hs_told");

/* What a file tells. A recording of `heapscope run` tells all of it; what an imported or merged file does not
 * is 0 in the structures and unknown: never to be shown as a number. The first bits are the fields of
 * hs_counts, in their order. */
enum hs_told {
	HS_TOLD_ALLOCATED_BYTES = 1 << 0,
	HS_TOLD_ALLOCATIONS = 1 << 1,
	HS_TOLD_PEAK_BYTES = 1 << 2,
	HS_TOLD_PEAK_BLOCKS = 1 << 3,
	HS_TOLD_LIVE_BYTES = 1 << 4,
	HS_TOLD_LIVE_BLOCKS = 1 << 5,
	HS_TOLD_MAX_BYTES = 1 << 6,
	HS_TOLD_MAX_BLOCKS = 1 << 7,
	HS_TOLD_TEMPORARY_BYTES = 1 << 8,
	HS_TOLD_TEMPORARY = 1 << 9,
	HS_TOLD_MOVED_BYTES = 1 << 10,
	HS_TOLD_MOVED = 1 << 11,
	HS_TOLD_REALLOCATIONS = 1 << 12,
	HS_TOLD_LIFETIME_US = 1 << 13,
	HS_TOLD_FIELDS = (1 << HS_COUNT_FIELDS) - 1,
	HS_TOLD_MAX = HS_TOLD_MAX_BYTES | HS_TOLD_MAX_BLOCKS,
	HS_TOLD_PEAK_US = 1 << 14, /* when the heap peaked */
	HS_TOLD_EVENTS = 1 << 15,  /* everything over time: timeline, histograms, what was live when */
	HS_TOLD_FREES = 1 << 16,
	HS_TOLD_DURATION_US = 1 << 17,
	HS_TOLD_THREADS = 1 << 18,
	HS_TOLD_PROCESS = 1 << 19, /* pid, how it ended, resident size */
	HS_TOLD_ALL = (1 << 20) - 1,
};
enum { HS_TOLD_ITEMS = 20 };
/* The names of the bits, as in the file's header. */
extern const char *const hs_told_names[HS_TOLD_ITEMS];

/* Whether any of them is not 0. */
bool hs_counts_any(const struct hs_counts *counts);
/* Whether one stack's counts, but for the unknown ones, can be true: not more live than allocated and so on.
 */
bool hs_counts_possible(uint32_t unknown, const struct hs_counts *counts);

struct hs_point {
	uint64_t time_us, heap_bytes; /* largest heap in [time, next point's time) */
};
struct hs_sample {
	uint64_t time_us, rss_bytes;
};

struct hs_totals {
	struct hs_counts counts;
	uint64_t events, frees;
	uint64_t peak_us; /* when the heap peaked: the last moment of equals; with a filter's --at: that
			     moment */
	uint64_t max_us;  /* when max_bytes was reached; without a filter that is the peak */
};

/* What the program said of itself (docs/annotations.md), in the order of time. */
enum hs_mark_what { HS_MARKED_PHASE, HS_MARKED_MOMENT, HS_MARKED_PAUSE };
#define HS_TIME_NONE UINT64_MAX
struct hs_mark {
	enum hs_mark_what what;
	uint32_t name;            /* string index; 0 of a pause */
	uint32_t thread;          /* index in threads, perhaps beyond its end: who said so */
	uint64_t time_us, end_us; /* end_us: HS_TIME_NONE while it is open, and of a moment */
	/* Events with numbers in [first_event, end_event) lie in it, by the order of the file; end_event is
	 * UINT64_MAX while it is open. */
	uint64_t first_event, end_event;
};

struct hs_counted {
	uint32_t node;
	struct hs_counts counts;
};

struct hs_profile {
	struct hs_facts facts;
	struct hs_strings strings;
	struct hs_module *modules;
	uint32_t module_count;
	struct hs_thread *threads; /* [0] unused */
	uint32_t thread_count;
	struct hs_frame *frames;
	uint32_t frame_count;
	struct hs_call *calls;
	uint32_t call_count;
	struct hs_node *nodes; /* [0] is the root */
	uint32_t node_count;
	struct hs_sample *samples;
	uint32_t sample_count;
	struct hs_mark *marks; /* by time_us */
	uint32_t mark_count;
	struct hs_counted *counted; /* in a file without events: what was counted by node; else NULL */
	uint32_t counted_count;
	bool damaged;                         /* something is wrong with the file: facts.warning says what */
	struct hs_suppressions *suppressions; /* NULL, or the rules that hs_sites_make heeds; not owned */
	struct hs_recording *recording;       /* for the replay; private */
	struct hs_loader *loader;             /* not NULL: only begun; private */
	/* What counts in a replay (filter.h); NULL: all. The caller's, who may change it between replays. */
	const struct hs_filter *filter;
	/* NULL, or told now and then how far a replay is, in events. The caller's. */
	void (*progress)(const char *phase, unsigned long long done, unsigned long long total);
};

/* Loads everything but the events. On failure (not a recording, empty, another version, unreadable) returns
 * NULL and fills in error. A truncated or damaged file loads as far as it is whole: facts.warning says so. */
struct hs_profile *hs_profile_load(const char *path, struct hs_error *error);
/* The same in two halves. After the first there are no stacks: no nodes, frames, nor what is counted by node;
 * nothing can fail after it but that what is damaged is left out. */
struct hs_profile *hs_profile_begin(const char *path, struct hs_error *error);
void hs_profile_finish(struct hs_profile *profile);
void hs_profile_free(struct hs_profile *profile);
static inline struct hs_call hs_call_of(const struct hs_profile *profile, uint32_t node)
{
	return profile->calls[profile->nodes[node].call];
}
/* Adds the lines that are not there yet to the program's own suppressions. */
void hs_facts_add_suppressions(struct hs_facts *facts, const char *lines);
/* Frees what the facts point to. */
void hs_facts_free(struct hs_facts *facts);
/* The command line in one piece, or the program. The caller frees it. */
char *hs_command_line(const struct hs_facts *facts);

/* A stack: that of a node without the `cut` innermost frames of its call. */
struct hs_rest {
	uint32_t node, cut;
};

/* Takes the innermost frame off a stack; false if there is none. */
static inline bool hs_rest_next(const struct hs_profile *profile, struct hs_rest *rest, uint32_t *frame)
{
	for (; rest->node; *rest = (struct hs_rest){profile->nodes[rest->node].parent, 0}) {
		struct hs_call call = hs_call_of(profile, rest->node);
		if (rest->cut < call.frame_count) {
			*frame = call.first_frame + rest->cut++;
			return true;
		}
	}
	return false;
}

/* ---- replay ---------------------------------------------------------------------------------------------
 */

/* What a group of the replay is a part of. */
struct hs_part {
	uint32_t group; /* of the caller's */
	union {
		uint32_t thread; /* by_thread: index in hs_replay.threads */
		uint32_t bucket; /* by_size, by_lifetime: as in the histograms; or HS_BUCKET_LIVE */
		uint32_t slice;  /* slices: of the run, from 0 */
	};
};
enum { HS_BUCKETS = 65, HS_BUCKET_LIVE = HS_BUCKETS /* never freed */ };

struct hs_replay {
	uint32_t unknown; /* HS_TOLD_...: facts.unknown; and the maxima where groups are sums of several
			   * stacks without events: then max_bytes is only a lower bound */
	struct hs_totals totals;        /* of what profile.filter selects */
	struct hs_totals all, left_out; /* of the whole recording, and what the filter leaves out */
	struct hs_counts *groups;       /* group_count; the caller's groups. NULL by node, then it is */
	struct hs_node_table *nodes;    /* private: likewise, but they may be sums of several nodes */
	uint32_t group_count;
	struct hs_point *timeline; /* at most 4096 points, even steps */
	uint32_t point_count;
	/* Histograms over the selected allocations: bucket b of sizes counts sizes in [2^(b-1), 2^b) (0: size
	 * 0), bucket b of lifetimes blocks that lived [2^(b-1), 2^b) us; and bytes allocated meanwhile
	 * likewise.
	 */
	uint64_t size_blocks[65], size_bytes[65], lifetime_blocks[65], lifetime_bytes_blocks[65];
	struct hs_part *parts; /* by thread, size, lifetime, slice: whose part each group is; else NULL */
	uint64_t *slice_us;    /* slices: when each began */
	uint32_t slice_count;
	uint32_t *threads; /* by thread: ids (indices in profile.threads, if there) in the order of their
			    * first event */
	uint32_t thread_count;
	bool *node_used; /* of each node: has allocations of its own (is the innermost of a stack with
			  * events); NULL by node */
};

/* Reads the events once, or the counts of a file without events: then there is no timeline, and no
 * histogram. group_of_node[node] < group_count names the group whose counts a node's blocks go
 * to; maxima are those of the group. Sets facts.warning if the tail is damaged. Returns 0, or -1 and an
 * error. */
int hs_replay_run(struct hs_profile *profile, const uint32_t *group_of_node, uint32_t group_count,
		  struct hs_replay *replay, struct hs_error *error);

/* Sees blocks begin and end, for what counts do not tell. A realloc is an end and a beginning. */
struct hs_watch {
	void (*begin)(void *context, uint32_t group, uint64_t size, uint64_t now_us);
	void (*end)(void *context, uint32_t group, uint64_t size, uint64_t now_us);
	/* For each block once; for those that are never freed at the end of the replay. */
	void (*lived)(void *context, uint32_t group, uint64_t lived_us);
	void *context;
	/* NULL, or told of each event before it happens, selected or not: its number in the file, from 0. */
	void (*event)(void *context, uint64_t number);
};

/* Sums of sites. */
struct hs_site_sums {
	const uint32_t *of_site; /* of each site the number of the one that it is part of */
	struct hs_counts *sums;  /* zeros at first */
};

/* Where the counts of a replay's groups go. */
struct hs_group_sums {
	/* NULL, or of each group which sum it is part of, numbered in the order of their first groups: the
	 * replay has these instead of the groups then. */
	const uint32_t *of_group;
	struct hs_site_sums larger; /* NULLs, or these sums, which are sites, are added up, too */
};

/* The nodes that a replay has met. */
struct hs_met {
	uint32_t *nodes;   /* of each group its node: the caller's array, with room for all nodes */
	atomic_uint count; /* so many are there, which other threads may read while the replay goes on */
	/* NULL, or something else to do, in a thread of its own, which has ended when find_sums is called. */
	void (*aside)(void *context);
	/* NULL, or called now and then while the replay goes on. */
	void (*met_some)(void *context);
	/* NULL, or called when all are met. */
	struct hs_group_sums (*find_sums)(void *context);
	void *context;
};

struct hs_replay_how {
	/* NULL, or each node that has blocks is a group of its own, numbered as they come; the caller gives
	 * none. Groups have no maxima, lifetimes and temporary bytes; without a filter there are no
	 * histograms. Nothing of the profile is
	 * read but what tells how to filter, or written but facts' warning, times and `damaged`. Not with
	 * by_... and slices. */
	struct hs_met *by_node;
	/* Counts are kept apart for each thread that allocates: replay.groups begins with the caller's
	 * groups, for the first thread; those of other threads follow as they come (see replay.parts). */
	bool by_thread;
	/* Likewise for each bucket of sizes; the caller's groups are those of size 0. */
	bool by_size;
	/* Parts for each bucket of lifetimes follow the caller's groups, which have all counts as usual;
	 * parts have allocations, allocated_bytes and lifetime_us only. */
	bool by_lifetime;
	/* Likewise (as by_thread) for each slice of the run: all allocations in the order of time, cut into
	 * at most so many slices of equal numbers. The caller's groups are those of slice 0. At most one of
	 * by_... and slices. */
	uint32_t slices;
	const struct hs_watch *watch; /* or NULL; sees what the filter selects */
};

int hs_replay_run_as(struct hs_profile *profile, const uint32_t *group_of_node, uint32_t group_count,
		     const struct hs_replay_how *how, struct hs_replay *replay, struct hs_error *error);
void hs_replay_free(struct hs_replay *replay);

/* ---- sites ----------------------------------------------------------------------------------------------
 */

#define HS_NO_FRAME UINT32_MAX

/* Stacks that look the same to people (function, file, line, module of every frame; addresses apart), from
 * the innermost frame that is not internal outwards. */
struct hs_site {
	uint32_t *frames;     /* indices in profile.frames, innermost first; may be empty. NULL before
				 hs_sites_finish */
	uint32_t frame_count; /* 0 before hs_sites_finish: see hs_site_depth */
	union {
		/* finished: how many internal frames are left out, of the deepest stack folded in */
		uint32_t folded_frames;
		/* before: what is further out than the own frame: the stack of this node without the
		 * innermost callers_cut frames of its call; 0: nothing */
		uint32_t callers;
	};
	uint32_t own_frame;   /* position in `frames` of the innermost frame of the user's own code: not in a
			       * system library if there is such a frame, else 0 */
	uint32_t suppression; /* the rule, + 1, that suppresses what is live of it; 0: none. Where it applies
			       * to only some of the stacks that look the same, these are a site of their own
			       */
	uint32_t own;         /* that frame; HS_NO_FRAME: there are no frames */
	uint16_t callers_cut;
	uint16_t cut; /* private, as what follows */
	union {
		uint32_t node;  /* whose stack it is, without the innermost `cut` frames of its call */
		uint32_t stack; /* since hs_sites_finish has begun: that, in hs_sites_making.stacks */
	};
	uint32_t group;
	struct hs_counts *counts; /* of hs_sites.replay.groups; may be NULL before hs_sites_finish: see
				     hs_site_counts */
};

/* The own frames of sites, numbered as they come (own.h). */
struct hs_own_frames {
	uint32_t *of_site; /* of each site the number of its own frame */
	uint32_t site_count;
	uint32_t *frames; /* of each number; HS_NO_FRAME: of sites without frames */
	uint32_t count;
	uint32_t *numbers; /* of each frame, and at last of none: + 1; 0: it is none's own */
	size_t site_capacity, capacity;
};

struct hs_sites {
	struct hs_site *items; /* sorted by peak bytes, then allocated, then frames' text: stable */
	uint32_t count;
	uint32_t *site_of_node; /* UINT32_MAX: node is not the innermost of any stack with events */
	uint32_t *suppressed;   /* indices of those with a suppression, which are few */
	uint32_t suppressed_count;
	struct hs_own_frames own; /* before hs_sites_finish, of sites found while events were replayed */
	struct hs_replay replay;  /* of its groups some are the sites' counts, the others none's */
	uint32_t *frame_pool;     /* what the sites' frames point into; private */
	struct hs_sites_making *making; /* not NULL: unfinished; private */
};

/* Orders frames by what people see of them: function, file, line, module; the address if there is no name. 0:
 * they look the same. HS_NO_FRAME comes first. */
int hs_frames_compare(const struct hs_profile *profile, uint32_t left, uint32_t right);

/* raw: keep internal frames. Runs the replay. */
int hs_sites_make(struct hs_profile *profile, bool raw, struct hs_sites *sites, struct hs_error *error);
void hs_sites_free(struct hs_sites *sites);

/* What a caller of hs_sites_begin does meanwhile, perhaps in another thread. */
struct hs_meanwhile {
	/* NULL, or called when a profile that was only begun is finished. */
	void (*prepare)(struct hs_profile *profile, void *context);
	/* NULL, or called when events are replayed and all sites are there, but their counts not added up
	 * yet: what only needs the profile can go on in a thread of its own. Nothing fails any more. Returns
	 * NULLs, or sums to make when all counts are at hand anyway. */
	struct hs_site_sums (*replayed)(const struct hs_sites *sites, void *context);
	void *context;
};

/* The two halves of hs_sites_make, for reports that show few of many sites. After the first the sites have
 * their counts (but for max_..., lifetime_us and temporary_bytes) and own frames, in no order; what else
 * hs_site says is not there yet. A profile that is only begun is finished meanwhile. It has to outlive the
 * second half. meanwhile: may be NULL. */
int hs_sites_begin(struct hs_profile *profile, bool raw, const struct hs_meanwhile *meanwhile,
		   struct hs_sites *sites, struct hs_error *error);
void hs_sites_finish(struct hs_sites *sites);

/* Of sites finished or not: */
struct hs_counts hs_site_counts(const struct hs_sites *sites, const struct hs_site *site);
/* Asks for the memory that it reads: of many sites that lie anywhere each would be waited for. */
void hs_site_counts_soon(const struct hs_sites *sites, const struct hs_site *site);
/* Adds all of them but the maxima. */
void hs_site_add_counts(const struct hs_sites *sites, const struct hs_site *site, struct hs_counts *sum);
void hs_sites_add_up(const struct hs_sites *sites, const struct hs_site_sums *sums);
/* Before hs_sites_finish, when events are replayed: room for a number of each node, mostly of memory that was
 * needed until then, so that no more is taken. It stays the sites'. NULL: they are finished. */
uint32_t *hs_sites_spare(const struct hs_sites *sites);
uint32_t hs_site_depth(const struct hs_sites *sites, const struct hs_site *site); /* frames */
/* Writes the innermost `count` frames of a site, its depth at most, innermost first. */
void hs_site_write_frames(const struct hs_sites *sites, const struct hs_site *site, uint32_t count,
			  uint32_t *frames);
/* Whether the site with index `left` comes before that with index `right`, once they are sorted. */
bool hs_site_is_before(const struct hs_sites *sites, uint32_t left, uint32_t right);

#endif
