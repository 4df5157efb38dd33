/* Opens libraries. Usage: modules MODE LIBRARY... */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

KEEPER(main_kept, 1, 3)

static void *function(void *handle, const char *name)
{
	void *found = handle ? dlsym(handle, name) : NULL;
	CHECK(found);
	return found;
}

static void (*entry_of(void *handle))(void)
{
	return (void (*)(void))function(handle, "entry");
}

static uintptr_t places[2];

static void once(const char *path, int which)
{
	void *handle = dlopen(path, RTLD_NOW);
	void (*entry)(void) = entry_of(handle);
	entry();
	places[which] = (uintptr_t)entry;
	CHECK(dlclose(handle) == 0);
	main_kept();
}

/* Two libraries in turn, ten times each. Tells whether both stood at the same address. */
static void mode_turns(char **libraries)
{
	for (int i = 0; i < 10; i++) {
		once(libraries[0], 0);
		once(libraries[1], 1);
	}
	CHECK(write(1, places[0] == places[1] ? "same\n" : "apart\n", 5) == 5);
}

static atomic_int stop;

static void *churn(void *unused)
{
	while (!stop)
		free(keep(malloc(64)));
	return unused;
}

static void *turns(void *path)
{
	for (int i = 0; i < 100; i++) {
		void *handle = dlopen(path, RTLD_NOW);
		entry_of(handle)();
		CHECK(dlclose(handle) == 0);
	}
	return NULL;
}

/* Two threads open and close a library each while two others allocate. */
static void mode_threads(char **libraries)
{
	pthread_t openers[2], churners[2];
	for (int i = 0; i < 2; i++) {
		CHECK(pthread_create(&churners[i], NULL, churn, NULL) == 0);
		CHECK(pthread_create(&openers[i], NULL, turns, libraries[i]) == 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(openers[i], NULL);
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(churners[i], NULL);
}

static void mode_deepbind(char **libraries)
{
	void *handle = dlopen(libraries[0], RTLD_NOW | RTLD_DEEPBIND);
	main_kept();
	entry_of(handle)();
	void (*call)(void (*)(void)) = (void (*)(void (*)(void)))function(handle, "call");
	call(main_kept);
}

NOINLINE static void *lends(void)
{
	return keep(malloc(500));
}

NOINLINE static void *lends_again(void)
{
	return keep(malloc(500));
}

/* The library frees a block of ours, which we get again, and we free one of its own. */
static void mode_exchange(char **libraries)
{
	void *handle = dlopen(libraries[0], RTLD_NOW | RTLD_DEEPBIND);
	void (*takes)(void *) = (void (*)(void *))function(handle, "takes");
	void *(*gives)(void) = (void *(*)(void))function(handle, "gives");
	void *block = lends(), *theirs = gives();
	CHECK(theirs);
	takes(block);
	CHECK(lends_again() == block);
	free(theirs);
	main_kept();
}

static void mode_namespace(char **libraries)
{
	void *handle = dlmopen(LM_ID_NEWLM, libraries[0], RTLD_NOW);
	entry_of(handle)();
	void (*call)(void (*)(void)) = (void (*)(void (*)(void)))function(handle, "call");
	for (int i = 0; i < 10; i++)
		call(main_kept);
}

static void mode_runpath(char **libraries)
{
	void *handle = dlopen(libraries[0], RTLD_NOW);
	int (*open_by_name)(const char *) = (int (*)(const char *))function(handle, "open_by_name");
	for (int i = 0; i < 3; i++)
		CHECK(open_by_name(libraries[1]) == 0);
}

static void mode_open(char **libraries)
{
	void *handle = dlopen(libraries[0], RTLD_NOW);
	if (!handle)
		check_failed(dlerror());
	for (int i = 0; i < 4; i++)
		entry_of(handle)();
}

/* The library is deleted or replaced as soon as it is open. */
static void mode_delete(char **libraries)
{
	void *handle = dlopen(libraries[0], RTLD_NOW);
	CHECK(unlink(libraries[0]) == 0);
	for (int i = 0; i < 4; i++)
		entry_of(handle)();
}

/* The same, but when whoever reads our output says so. */
static void mode_wait(char **libraries)
{
	char byte;
	void *handle = dlopen(libraries[0], RTLD_NOW);
	entry_of(handle)();
	CHECK(write(1, "ready\n", 6) == 6 && read(0, &byte, 1) == 1);
	for (int i = 0; i < 3; i++)
		entry_of(handle)();
}

/* Opens the library when told to, and ends when told to. */
static void mode_late(char **libraries)
{
	char byte;
	main_kept();
	CHECK(write(1, "ready\n", 6) == 6 && read(0, &byte, 1) == 1);
	mode_open(libraries);
	CHECK(write(1, "open\n", 5) == 5 && read(0, &byte, 1) == 1);
}

static void mode_replace(char **libraries)
{
	void *handle = dlopen(libraries[0], RTLD_NOW);
	CHECK(rename(libraries[1], libraries[0]) == 0);
	for (int i = 0; i < 4; i++)
		entry_of(handle)();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(char **libraries);
	} modes[] = {
		{"turns", mode_turns},       {"threads", mode_threads},     {"deepbind", mode_deepbind},
		{"exchange", mode_exchange}, {"namespace", mode_namespace}, {"runpath", mode_runpath},
		{"open", mode_open},         {"delete", mode_delete},       {"wait", mode_wait},
		{"replace", mode_replace},   {"late", mode_late},
	};
	CHECK(argc >= 3);
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run(argv + 2);
			return 0;
		}
	return FAILED;
}
