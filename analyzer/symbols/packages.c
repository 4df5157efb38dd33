/* Which Debian package a file came with, and which one has its debug information. */
#include "packages.h"

#include "base/memory.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file in memory, with a newline thought in front of it. */
struct text {
	const char *bytes;
	size_t count;
};

/* Larger ones are no package lists. */
enum { TEXT_MOST = 1 << 30, NAMES_MOST = 2 };

static struct text map_text(const char *path)
{
	struct text text = {0};
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return text;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
	    status.st_size < TEXT_MOST) {
		void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes != MAP_FAILED)
			text = (struct text){bytes, (size_t)status.st_size};
	}
	close(fd);
	return text;
}

static void unmap_text(struct text text)
{
	if (text.bytes)
		munmap((void *)text.bytes, text.count);
}

static char *join(const char *a, const char *b)
{
	char *joined = hs_allocate(strlen(a) + strlen(b) + 1);
	return strcat(strcpy(joined, a), b);
}

static void each_file(const char *root, const char *pattern, void (*look)(const char *path, void *context),
		      void *context)
{
	char *whole = join(root, pattern);
	glob_t found;
	if (glob(whole, GLOB_NOSORT, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			look(found.gl_pathv[i], context);
		globfree(&found);
	}
	free(whole);
}

/* ---- owners -------------------------------------------------------------------------------------------- */

/* The paths by which a package may list a file: /lib and /usr/lib are the same folder. */
struct names {
	char *items[NAMES_MOST];
	unsigned count;
};

static void add_name(struct names *names, const char *path)
{
	if (path[0] != '/')
		return;
	names->items[names->count++] = hs_copy_string(path);
	bool in_usr = strncmp(path, "/usr/", 5) == 0;
	names->items[names->count++] = in_usr ? hs_copy_string(path + 4) : join("/usr", path);
}

struct owners {
	struct hs_package *packages;
	struct names *names;
	size_t count;
};

static bool has_line(struct text text, const char *line)
{
	size_t length = strlen(line);
	const char *at = text.bytes, *end = text.bytes + text.count;
	while ((at = memmem(at, (size_t)(end - at), line, length))) {
		if ((at == text.bytes || at[-1] == '\n') && at + length < end && at[length] == '\n')
			return true;
		at++;
	}
	return false;
}

static void look_for_owners(const char *path, void *context)
{
	struct owners *owners = context;
	struct text text = map_text(path);
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	for (size_t i = 0; text.bytes && i < owners->count; i++) {
		for (unsigned j = 0; j < owners->names[i].count && !owners->packages[i].name; j++) {
			/* "libc6:amd64.list" */
			if (has_line(text, owners->names[i].items[j]))
				owners->packages[i].name =
					strndup(name, strcspn(name, ":") < strlen(name)
							      ? strcspn(name, ":")
							      : strlen(name) - strlen(".list"));
		}
	}
	unmap_text(text);
}

static void find_owners(const char *root, struct hs_package *packages, size_t count)
{
	struct owners owners = {packages, hs_allocate_zero(count, sizeof(struct names)), count};
	for (size_t i = 0; i < count; i++) {
		if (packages[i].path == NULL)
			continue;
		/* a link may be another package's than what it leads to */
		char *whole = join(root, packages[i].path), *real = realpath(whole, NULL);
		size_t skip = strlen(root);
		add_name(&owners.names[i],
			 real && strncmp(real, root, skip) == 0 ? real + skip : packages[i].path);
		free(real);
		free(whole);
	}
	each_file(root, "/var/lib/dpkg/info/*.list", look_for_owners, &owners);
	for (size_t i = 0; i < count; i++)
		for (unsigned j = 0; j < owners.names[i].count; j++)
			free(owners.names[i].items[j]);
	free(owners.names);
}

/* ---- debug packages ------------------------------------------------------------------------------------ */

/* The paragraph around a place, with its last newline. */
static struct text paragraph_around(struct text text, const char *place)
{
	const char *end = text.bytes + text.count, *first = place;
	while (first > text.bytes && !(first[-1] == '\n' && first - 1 > text.bytes && first[-2] == '\n'))
		first--;
	const char *last = memmem(place, (size_t)(end - place), "\n\n", 2);
	return (struct text){first, (size_t)((last ? last + 1 : end) - first)};
}

/* The value of a field; {NULL, 0}: there is none. */
static struct text field(struct text paragraph, const char *name)
{
	size_t length = strlen(name);
	const char *end = paragraph.bytes + paragraph.count;
	for (const char *line = paragraph.bytes; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *line_end = newline ? newline : end;
		if ((size_t)(line_end - line) > length + 1 && memcmp(line, name, length) == 0 &&
		    line[length] == ':') {
			const char *value = line + length + 1;
			value += value < line_end && *value == ' ';
			return (struct text){value, (size_t)(line_end - value)};
		}
		line = line_end + 1;
	}
	return (struct text){0};
}

static bool is_installed(struct text paragraph)
{
	static const char words[] = "install ok installed";
	struct text status = field(paragraph, "Status");
	return status.count == strlen(words) && memcmp(status.bytes, words, status.count) == 0;
}

/* Whether a list of words, separated by spaces or commas, has this one. */
static bool has_word(struct text list, const char *word)
{
	size_t length = strlen(word);
	const char *at = list.bytes, *end = list.bytes + list.count;
	while (at && at < end && (at = memmem(at, (size_t)(end - at), word, length))) {
		const char *after = at + length;
		if ((at == list.bytes || at[-1] == ' ' || at[-1] == ',') &&
		    (after == end || strchr(" ,(", *after)))
			return true;
		at++;
	}
	return false;
}

/* Looks in a list of packages for the one whose field has the word. */
static bool find_by_field(struct text list, const char *name, const char *word, struct hs_package *package)
{
	const char *at = list.bytes, *end = list.bytes + list.count;
	size_t length = strlen(word);
	while (at && at < end && (at = memmem(at, (size_t)(end - at), word, length))) {
		struct text paragraph = paragraph_around(list, at);
		struct text found = field(paragraph, "Package");
		if (found.count && has_word(field(paragraph, name), word)) {
			package->debug = strndup(found.bytes, found.count);
			package->exact = true;
			package->installed = is_installed(paragraph);
			return true;
		}
		at = paragraph.bytes + paragraph.count > at ? paragraph.bytes + paragraph.count : at + 1;
	}
	return false;
}

static void look_for_debug(struct text list, struct hs_package *package)
{
	enum { BYTES_MOST = 64 };
	char digits[2 * BYTES_MOST + 1] = "";
	for (size_t i = 0; i < package->build_id_bytes && i < BYTES_MOST; i++)
		sprintf(digits + 2 * i, "%02x", package->build_id[i]);
	if (package->build_id_bytes > 1 && find_by_field(list, "Build-Ids", digits, package))
		return;
	if (package->name == NULL)
		return;
	char *symbols = join(package->name, "-dbgsym"), *old = join(package->name, "-dbg");
	if (!find_by_field(list, "Package", symbols, package) &&
	    !find_by_field(list, "Provides", symbols, package))
		find_by_field(list, "Package", old, package);
	free(symbols);
	free(old);
}

struct debug_search {
	struct hs_package *packages;
	size_t count;
};

static void look_for_debug_packages(const char *path, void *context)
{
	struct debug_search *search = context;
	struct text list = map_text(path);
	for (size_t i = 0; list.bytes && i < search->count; i++) {
		if (search->packages[i].debug == NULL)
			look_for_debug(list, &search->packages[i]);
	}
	unmap_text(list);
}

/* Whether a package was built from glibc's source. */
static bool is_of_glibc(struct text status, const char *name)
{
	char *line = join("Package: ", name);
	size_t length = strlen(line);
	const char *at = status.bytes, *end = status.bytes + status.count;
	bool glibc = strcmp(name, "libc6") == 0;
	while (!glibc && at && at < end && (at = memmem(at, (size_t)(end - at), line, length))) {
		if ((at == status.bytes || at[-1] == '\n') && at + length < end && at[length] == '\n')
			glibc = has_word(field(paragraph_around(status, at), "Source"), "glibc");
		at += length;
	}
	free(line);
	return glibc;
}

/* Where no list has it: Debian builds NAME-dbgsym beside NAME, but libc6-dbg for all of glibc. */
static void guess_debug(struct text status, struct hs_package *package)
{
	if (package->debug == NULL && package->name)
		package->debug = is_of_glibc(status, package->name) ? hs_copy_string("libc6-dbg")
								    : join(package->name, "-dbgsym");
}

void hs_packages_find(const char *root, struct hs_package *packages, size_t count)
{
	struct debug_search search = {packages, count};
	if (count == 0)
		return;
	for (size_t i = 0; i < count; i++) {
		packages[i].name = packages[i].debug = NULL;
		packages[i].exact = packages[i].installed = false;
	}
	find_owners(root, packages, count);
	each_file(root, "/var/lib/dpkg/status", look_for_debug_packages, &search);
	each_file(root, "/var/lib/apt/lists/*_Packages", look_for_debug_packages, &search);
	char *path = join(root, "/var/lib/dpkg/status");
	struct text status = map_text(path);
	for (size_t i = 0; i < count; i++)
		guess_debug(status, &packages[i]);
	unmap_text(status);
	free(path);
}

void hs_packages_free(struct hs_package *packages, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(packages[i].name);
		free(packages[i].debug);
		packages[i].name = packages[i].debug = NULL;
	}
}
