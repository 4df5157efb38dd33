/* Names the addresses of images while they are being recorded, and completes the files of those that have
 * ended, in a thread of its own: it can take seconds. */
#ifndef HS_RECORD_NAMING_H
#define HS_RECORD_NAMING_H

#include "record/image.h"

struct hs_naming;

struct hs_naming *hs_naming_start(bool symbols);
/* Names what is new of an image; for once a round. */
void hs_naming_ahead(struct hs_naming *naming, struct hs_image *image);
/* Takes a finished image that has a file; it is freed when it is done. */
void hs_naming_add(struct hs_naming *naming, struct hs_image *image);
/* true: everything given so far is done. */
bool hs_naming_idle(struct hs_naming *naming);
/* Readable when something was done. */
int hs_naming_descriptor(const struct hs_naming *naming);
void hs_naming_progress(const struct hs_naming *naming, unsigned long long *done, unsigned long long *total);
/* Leaves the remaining addresses without names. */
void hs_naming_hurry(struct hs_naming *naming);
/* Waits for the rest. Returns a message about files that could not be completed, malloc'ed, or NULL. */
char *hs_naming_finish(struct hs_naming *naming);

#endif
