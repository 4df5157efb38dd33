/* The table of rules, while it grows and a library comes and goes at one address: whoever runs in the library
 * gets the rule of its present code, never one of an earlier image.
 *
 * The modules are made up: _dl_find_object is ours here. */
#include "eh_frame.h"
#include "unwind/rules.h"
#include "world.h"

#include <dlfcn.h>
#include <link.h>

enum { THREADS = 3, TURNS = 150, PROGRAM_BYTES = 1 << 18, PLUGIN_BYTES = 4096, LOOK_UPS = 300 };

/* Code that is never run: only its addresses count. */
static uint8_t program_code[PROGRAM_BYTES], plugin_code[PLUGIN_BYTES];
static struct eh_frame program_frames, plugin_frames[2];
static struct link_map maps[TURNS + 2];

/* The plugin's image; changed only while nobody is in it. */
static pthread_rwlock_t plugin_lock = PTHREAD_RWLOCK_INITIALIZER;
static uint32_t plugin_version;

static bool within(const void *pc, const uint8_t *code, size_t bytes)
{
	return (uintptr_t)pc - (uintptr_t)code < bytes;
}

int _dl_find_object(void *pc, struct dl_find_object *found)
{
	*found = (struct dl_find_object){.dlfo_link_map = &maps[0]};
	if (within(pc, program_code, PROGRAM_BYTES)) {
		found->dlfo_map_start = program_code;
		found->dlfo_map_end = program_code + PROGRAM_BYTES;
		found->dlfo_eh_frame = program_frames.header;
		return 0;
	}
	if (!within(pc, plugin_code, PLUGIN_BYTES))
		return -1;
	uint32_t version = __atomic_load_n(&plugin_version, __ATOMIC_ACQUIRE);
	found->dlfo_link_map = &maps[version + 1];
	found->dlfo_map_start = plugin_code;
	found->dlfo_map_end = plugin_code + PLUGIN_BYTES;
	found->dlfo_eh_frame = plugin_frames[version % 2].header;
	return 0;
}

/* One function that covers the code, whose frames are `frame` bytes large. */
static void make_frames(struct eh_frame *eh, const uint8_t *code, uint32_t bytes, uint8_t frame)
{
	eh_begin(eh);
	eh_cie(eh, "zR", EH_PCREL, 1, EH_ENTRY, 5);
	eh_function(eh, (uint64_t)code, bytes, (uint8_t[]){0x0e, frame}, 2);
}

static void check_rule(const uint8_t *pc, int64_t frame)
{
	unwind_rule rule = hs_rule_of((uint64_t)pc);
	CHECK(RULE_KIND(rule) == RULE_SP && RULE_CFA(rule) == frame && RULE_SLOT(rule) == 0);
}

static int64_t plugin_frame(uint32_t version)
{
	return version % 2 ? 48 : 32;
}

static bool stop;
static uint32_t version_seen; /* somebody was in the plugin's image of that number */

static void *look_up(void *argument)
{
	uint64_t random = (uint64_t)(uintptr_t)argument * 0x9e3779b97f4a7c15u;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		pthread_rwlock_rdlock(&plugin_lock);
		uint32_t version = plugin_version;
		int64_t frame = plugin_frame(version);
		for (unsigned i = 0; i < 16; i++)
			check_rule(plugin_code + 1 + world_random(&random) % (PLUGIN_BYTES - 1), frame);
		__atomic_store_n(&version_seen, version, __ATOMIC_RELAXED);
		pthread_rwlock_unlock(&plugin_lock);
		for (unsigned i = 0; i < LOOK_UPS; i++)
			check_rule(program_code + 1 + world_random(&random) % (PROGRAM_BYTES - 1), 16);
	}
	return NULL;
}

/* dlclose and dlopen of another library, which lands on the same address. */
static void replace_plugin(void)
{
	pthread_rwlock_wrlock(&plugin_lock);
	__atomic_store_n(&plugin_version, plugin_version + 1, __ATOMIC_RELEASE);
	hs_modules_check();
	pthread_rwlock_unlock(&plugin_lock);
}

int main(void)
{
	struct hs_view view;
	pthread_t threads[THREADS];
	make_frames(&program_frames, program_code, PROGRAM_BYTES, 16);
	make_frames(&plugin_frames[0], plugin_code, PLUGIN_BYTES, 32);
	make_frames(&plugin_frames[1], plugin_code, PLUGIN_BYTES, 48);
	world_begin(&view, 8);
	for (uint64_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, look_up, (void *)(i + 1)) == 0);
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		/* Small again, so that it grows while the plugin goes. */
		if (turn % 8 == 0)
			atomic_store(&hs_rules, NULL);
		replace_plugin();
		while (__atomic_load_n(&version_seen, __ATOMIC_RELAXED) != turn + 1)
			sched_yield();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	uint32_t modules = hs_process.header->module_count;
	CHECK(modules > TURNS && modules < HS_MAX_MODULES);
	printf("%u modules, a table of %llu rules\n", modules,
	       (unsigned long long)atomic_load(&hs_rules)->mask + 1);
	return 0;
}
