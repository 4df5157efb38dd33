/* When there is no rule: the frame pointer (JIT code of V8 and others keeps it), or libunwind for
 * unwind data that rules cannot express. */
#include "../shim.h"

#include <dlfcn.h>
#include <errno.h>
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <link.h>

/* ---- frame pointers ---------------------------------------------------------------------------------- */

/* Can 8 bytes be read there? The kernel tells: it copies the mask before it looks at the invalid `how`. */
static bool readable(uint64_t address)
{
	enum { NO_SUCH_HOW = 99 };
	return !hs_process.jailed &&
	       arch_syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, (long)address, 0, 8, 0, 0) != -EFAULT;
}

/* A return address lies behind a call, in a module or in code that no module knows (another JIT frame). */
static bool plausible_return(uint64_t pc)
{
	struct dl_find_object found;
	if (pc < HS_PAGE_BYTES || pc >> 47)
		return false;
	if (_dl_find_object((void *)(pc - 1), &found) != 0)
		return readable(pc & ~7ULL);
	return pc - (uint64_t)found.dlfo_map_start > 8 && arch_follows_call(pc);
}

bool hs_step_by_frame_pointer(const struct frame_state *from, struct frame_state *to, bool *looked)
{
	enum { FRAME_MOST = 1 << 20 };
	uint64_t fp = from->fp;
	*looked = false;
	if (fp % 8 || fp < from->sp || fp - from->sp > FRAME_MOST)
		return false;
	*looked = true;
	/* sp - 8 held the return address that led here, so its page can be read. */
	bool same_page = (from->sp - 8) / HS_PAGE_BYTES == (fp + 15) / HS_PAGE_BYTES;
	if (!same_page && (!readable(fp) || !readable(fp + 8)))
		return false;
	const uint64_t *words = (const uint64_t *)fp;
	if (!plausible_return(words[1]))
		return false;
	*to = (struct frame_state){.pc = words[1], .sp = fp + 16, .fp = words[0]};
	return true;
}

/* ---- libunwind --------------------------------------------------------------------------------------- */

/* Loaded with RTLD_LOCAL when first needed: in the global scope it would replace libgcc's unwinder. */
static struct {
	int (*getcontext)(unw_context_t *);
	int (*init_local)(unw_cursor_t *, unw_context_t *);
	int (*step)(unw_cursor_t *);
	int (*get_reg)(unw_cursor_t *, unw_regnum_t, unw_word_t *);
	int (*is_signal_frame)(unw_cursor_t *);
	int loaded; /* 1 yes, -1 cannot be had */
} libunwind;

#define NAME_OF(function) NAME_OF_EXPANDED(function)
#define NAME_OF_EXPANDED(function) #function

static void *symbol(void *library, const char *name)
{
	return library ? dlsym(library, name) : NULL;
}

static bool load_libunwind(void)
{
	if (libunwind.loaded)
		return libunwind.loaded > 0;
	/* The loader is at work, perhaps in this very thread: another time. */
	if (_r_debug.r_state != RT_CONSISTENT)
		return false;
	void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	libunwind.getcontext = symbol(library, NAME_OF(unw_tdep_getcontext));
	if (!libunwind.getcontext)
		libunwind.getcontext = symbol(library, "_Ux86_64_getcontext");
	libunwind.init_local = symbol(library, NAME_OF(unw_init_local));
	libunwind.step = symbol(library, NAME_OF(unw_step));
	libunwind.get_reg = symbol(library, NAME_OF(unw_get_reg));
	libunwind.is_signal_frame = symbol(library, NAME_OF(unw_is_signal_frame));
	dlerror(); /* what failed here is not the program's affair */
	bool complete = libunwind.getcontext && libunwind.init_local && libunwind.step && libunwind.get_reg &&
			libunwind.is_signal_frame;
	libunwind.loaded = complete ? 1 : -1;
	return complete;
}

static size_t collect(unw_context_t *context, const struct frame_state *from, struct frame_state *frames,
		      size_t most)
{
	unw_cursor_t cursor;
	size_t count = 0;
	bool reached = false;
	if (libunwind.init_local(&cursor, context) != 0)
		return 0;
	while (count < most && libunwind.step(&cursor) > 0) {
		unw_word_t pc = 0, sp = 0, fp = 0;
		libunwind.get_reg(&cursor, UNW_REG_IP, &pc);
		libunwind.get_reg(&cursor, UNW_REG_SP, &sp);
		libunwind.get_reg(&cursor, UNW_TDEP_BP, &fp);
		pc += libunwind.is_signal_frame(&cursor) >
		      0; /* interrupted, not returned to: see struct frame */
		if (!pc || pc == 1)
			break;
		if (reached)
			frames[count++] = (struct frame_state){pc, sp, fp};
		else
			reached = pc == from->pc && sp == from->sp;
	}
	return count;
}

size_t hs_libunwind_frames(struct thread *thread, const struct frame_state *from, struct frame_state *frames,
			   size_t most)
{
	if (hs_process.jailed)
		return 0;
	int saved_errno = errno;
	bool was_internal = thread->internal;
	/* What libunwind allocates is not the program's; what a handler allocates is. */
	uint64_t mask = hs_signals_block();
	thread->internal = true;
	size_t count = 0;
	unw_context_t context;
	if (load_libunwind() && libunwind.getcontext(&context) == 0)
		count = collect(&context, from, frames, most);
	thread->internal = was_internal;
	hs_signals_restore(mask);
	errno = saved_errno;
	return count;
}
