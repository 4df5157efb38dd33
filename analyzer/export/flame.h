/* Flame graphs: the stacks of one recording, or of two that are compared, as boxes on boxes. Private to
 * export/.
 *
 *   flame_tree.c    the boxes: what they count, who calls whom
 *   flame_layout.c  which are drawn, and where
 *   flame_text.c    what the picture says in words
 *   flame_svg.c     the picture; flamegraph.css and flamegraph.js are put into it
 */
#ifndef HS_EXPORT_FLAME_H
#define HS_EXPORT_FLAME_H

#include "base/text.h"
#include "export.h"
#include "profile/pairs.h"
#include "stacks.h"

enum { HS_FLAME_NEW, HS_FLAME_OLD, HS_FLAME_SIDES };

enum hs_flame_code { HS_FLAME_OWN, HS_FLAME_LIBRARY, HS_FLAME_INTERNAL, HS_FLAME_NO_CODE };

/* What boxes of the same function show. */
struct hs_flame_label {
	const char *name; /* valid UTF-8 without control characters; of the side's names, or of flame.texts */
	const char *file; /* "" unknown; may be hostile */
	const char *module; /* likewise */
	enum hs_flame_code code;
};

/* A parent stands before its children. */
struct hs_flame_node {
	uint32_t label;
	uint32_t line;                                     /* 0: unknown, or several */
	uint32_t parent, first_child, last_child, sibling; /* 0: none */
	uint32_t level;                                    /* 0: the root */
	bool has_line;
	bool drawn;
	uint64_t values[HS_FLAME_SIDES]; /* of the metric, with all that it calls */
	uint64_t selves[HS_FLAME_SIDES]; /* without */
	uint64_t others;                 /* of the new side, with all that it calls: hs_flame_other */
	uint64_t width, first;           /* in units of the metric: its width, and what is left of it */
};

struct hs_flame_side {
	struct hs_export export;
	uint32_t *label_of_place;
};

struct hs_flame {
	const struct hs_export_options *options;
	struct hs_flame_side sides[HS_FLAME_SIDES];
	unsigned side_count;
	struct hs_flame_label *labels;
	uint32_t label_count, deeper_label;
	struct hs_strings texts;
	struct hs_flame_node *nodes; /* [0] is the root */
	uint32_t node_count;
	size_t node_capacity;
	struct hs_pairs known; /* parent, label; index + 1 is the node. Not of a chart */
	/* A chart's slices that have something: what is left of each, and when it began. */
	uint64_t *slice_first, *slice_us;
	uint32_t slice_count;
	/* Of the layout: */
	uint64_t least;                          /* what options.min_width comes to */
	uint64_t threshold;                      /* the least width of the boxes that are drawn */
	uint32_t box_count, drawn_count, levels; /* boxes without a width do not count */
	uint64_t joined_width; /* of the boxes that are not drawn, without those on top of them */
};

/* What belongs to a metric, for whoever asks "in how many?": blocks of bytes, bytes of calls. */
uint64_t hs_flame_other(const struct hs_counts *counts, enum hs_metric metric);

/* Replays what is drawn. Returns 0, or -1 and an error. Free it either way. */
int hs_flame_make(struct hs_flame *flame, struct hs_profile *profile, const struct hs_export_options *options,
		  struct hs_error *error);
void hs_flame_free(struct hs_flame *flame);

/* Chooses what is drawn and gives it its place. */
void hs_flame_layout(struct hs_flame *flame);

/* ---- flame_text.c ---------------------------------------------------------------------------------------
 */

/* Adds text as XML, in an element or an attribute: whatever it is, it means nothing there. */
void hs_xml_add(struct hs_text *text, const char *added);

/* A number of the metric's unit. */
struct hs_number hs_flame_number(const struct hs_flame *flame, uint64_t value);
void hs_flame_add_title(struct hs_text *text, const struct hs_flame *flame);
/* Lines below the title, each ended by a newline. */
void hs_flame_add_lines(struct hs_text *text, const struct hs_flame *flame);
/* What pointing at a box shows; the name is its first line. */
void hs_flame_add_details(struct hs_text *text, const struct hs_flame *flame,
			  const struct hs_flame_node *node);
/* The numbers of boxes that are not drawn: how many, side by side, and what they add up to. */
void hs_flame_add_joined(struct hs_text *text, const struct hs_flame *flame, uint32_t count,
			 const uint64_t values[HS_FLAME_SIDES]);
/* The number for a box's label: "5.8 MiB (94.9%)"; of a comparison what changed, "+1.2 MiB". */
void hs_flame_add_short(struct hs_text *text, const struct hs_flame *flame,
			const uint64_t values[HS_FLAME_SIDES]);

/* flamegraph.css and flamegraph.js */
extern const char hs_flame_css[], hs_flame_js[];

#endif
