/* What the files of profile/ share with each other. */
#ifndef HS_PROFILE_INTERNAL_H
#define HS_PROFILE_INTERNAL_H

#include "profile.h"

/* Adds a sentence to facts.warning, unless it stands there already. */
void hs_profile_warn(struct hs_profile *profile, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
