/* Which modules are the user's own code, and the frames of it that sites go by. */
#ifndef HS_OWN_H
#define HS_OWN_H

#include "profile/profile.h"

#include <stdbool.h>

/* A library that every program runs on: libc and the loader. module: UINT32_MAX none. */
bool hs_is_libc(const struct hs_profile *profile, uint32_t module);

/* Of a stack's frames, innermost first: how many are left without those at its outer end by which libc starts
 * a program or a thread; all if none would be. */
uint32_t hs_without_start(const struct hs_profile *profile, const uint32_t *frames, uint32_t count);

/* By module: whether its code is the user's: the program, and libraries outside of the system's folders. For
 * a program that is itself installed in the system's folders, like clang, that would often be nothing but its
 * main function, and its libraries are as much its own: there it is all but the language's runtime (libc,
 * libstdc++, ...). The caller frees it. */
bool *hs_own_modules(const struct hs_profile *profile);

/* By module: whether it has Rust's start-up code, so that it is a Rust program. The caller frees it. */
bool *hs_rust_modules(const struct hs_profile *profile);

/* Whether a frame is start-up code that never has lines, however the program is built: _start, and the main
 * that rustc makes. */
bool hs_is_start_code(const struct hs_profile *profile, const bool *rust_modules, uint32_t frame);

/* Numbers the own frame of the next site; `own` is zeros at first. */
void hs_own_frames_add(struct hs_own_frames *own, const struct hs_profile *profile, uint32_t frame);
void hs_own_frames_free(struct hs_own_frames *own); /* leaves zeros */

#endif
