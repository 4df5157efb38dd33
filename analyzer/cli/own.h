/* Whose line stands for a site when the recorded program itself belongs to the system. */
#ifndef HS_OWN_H
#define HS_OWN_H

#include "profile/profile.h"

#include <stdbool.h>

/* A library that every program runs on: libc and the loader. */
bool hs_is_libc(const struct hs_profile *profile, uint32_t frame);

/* The profile takes the innermost frame outside of system libraries as a site's own line. For a program that
 * is installed in the system's folders, like clang, that is often nothing but its main function: its
 * libraries are as much its own. There own_frame becomes the innermost frame outside of the language's
 * runtime (libc, libstdc++, ...). */
void hs_own_frames_adjust(const struct hs_profile *profile, struct hs_sites *sites);

#endif
