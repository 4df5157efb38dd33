/* The exporters, one a file. Private to export/. */
#ifndef HS_EXPORT_FORMATS_H
#define HS_EXPORT_FORMATS_H

#include "export.h"

int hs_svg_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		 struct hs_error *error);
int hs_folded_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		    struct hs_error *error);
int hs_speedscope_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
			struct hs_error *error);
int hs_pprof_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		   struct hs_error *error);
int hs_massif_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		    struct hs_error *error);
int hs_callgrind_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		       struct hs_error *error);
int hs_html_write(struct hs_profile *profile, const struct hs_export_options *options, FILE *output,
		  struct hs_error *error);

#endif
