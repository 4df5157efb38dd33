/* Is it safe to give a mangled Rust name to a demangler? */
#ifndef HS_RUST_NAMES_H
#define HS_RUST_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* The longest name looked at. */
enum { HS_RUST_NAME_MOST = 1 << 16 };

/* A name of the v0 scheme ("_R...") that has its grammar, refers back only to what is a path, type or
 * constant, and binds no more lifetimes than anybody writes. */
bool hs_rust_name_is_sane(const char *name, size_t length);

#endif
