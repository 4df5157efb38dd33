/* The demangler on any name. */
#include "base/memory.h"
#include "fuzz.h"
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>

void fuzz_seeds(fuzz_add *add, void *context)
{
	static const char *const names[] = {
		"_ZNSt6vectorIiSaIiEE9push_backERKi",
		"_ZZ4mainENKUlT_E_clIiEEDaS_",
		"_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$..$u7b$$u7b$closure$u7d$$"
		"u7d$$GT$"
		"17h0123456789abcdefE",
		"_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
		"_RINvNtC3std3mem8align_ofjdEC4main",
		"_RIC0Ina_Kj1p7eecedf_E",
		"_D3std5stdio4File6__ctorMFNcNfAyaxAaZSQBpQBoQBl",
		"_ZTVN10__cxxabiv117__class_type_infoE",
		"_ZNKSt3_V214error_category10equivalentEiRKSt15error_condition@@GLIBCXX_3.4.21",
		"_ZdlPvmSt11align_val_t.cold.7",
		"_Z1fILi3EEvT_IXT_EE",
		"_RMIC0DGRCI000CC00C0C0_GLOBIC0DIC0C0RIC0I",
		"main",
		"",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		add(context, names[i], strlen(names[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = hs_allocate(size + 1);
	memcpy(name, data, size);
	name[size] = 0;
	char *readable = hs_demangle(name);
	if (readable)
		FUZZ_CHECK(strlen(readable) > 0);
	free(readable);
	free(name);
	return 0;
}
