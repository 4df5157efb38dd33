/* Owners and debug packages, from a database of dpkg and apt that is written here. */
#include "../cli/check.h"
#include "symbols/packages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/heapscope-packages-XXXXXX";

static void write_file(const char *path, const char *text)
{
	char whole[512];
	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(whole, 0755);
		*slash = '/';
	}
	FILE *file = fopen(whole, "w");
	CHECK(file && fputs(text, file) >= 0);
	if (file)
		fclose(file);
}

static void make_database(void)
{
	write_file("/var/lib/dpkg/info/libc6:amd64.list", "/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n");
	write_file("/var/lib/dpkg/info/libc-bin.list", "/usr/bin/iconv\n");
	write_file("/var/lib/dpkg/info/jq.list", "/usr\n/usr/bin\n/usr/bin/jq\n");
	write_file("/var/lib/dpkg/info/old.list", "/usr/bin/old\n/usr/bin/older");
	write_file("/var/lib/dpkg/info/other.list",
		   "/usr/bin/jqx\n/opt/usr/bin/jq\n/usr/lib/libother.so.1.2\n");
	write_file("/var/lib/dpkg/status",
		   "Package: libc6\nStatus: install ok installed\nSource: glibc\n\n"
		   "Package: libc-bin\nSource: glibc (2.36-9)\nStatus: install ok installed\n\n"
		   "Package: removed-dbgsym\nStatus: deinstall ok config-files\nBuild-Ids: 0badcafe\n\n"
		   "Package: here-dbgsym\nStatus: install ok installed\nBuild-Ids: aa00 bb11cc22 dd33\n");
	write_file("/var/lib/apt/lists/debian_main_Packages",
		   "Package: old-dbg\nArchitecture: amd64\n\n"
		   "Package: all-the-others\nProvides: x, other-dbgsym (= 1), y\nDescription: "
		   "other-dbgsym-not\n\n"
		   "Package: some-dbgsym\nBuild-Ids: 0123456789abcdef\n");
	char link[512];
	snprintf(link, sizeof(link), "%s/usr/lib/libother.so.1.2", root);
	write_file("/usr/lib/libother.so.1.2", "");
	snprintf(link, sizeof(link), "%s/usr/lib/libother.so", root);
	CHECK(symlink("libother.so.1.2", link) == 0);
}

static void expect(const struct hs_package *package, const char *name, const char *debug, bool exact,
		   bool installed)
{
	CHECK_TEXT(package->name ? package->name : "(none)", name);
	CHECK_TEXT(package->debug ? package->debug : "(none)", debug);
	CHECK(package->exact == exact && package->installed == installed);
}

int main(void)
{
	static const uint8_t installed[] = {0xbb, 0x11, 0xcc, 0x22}, removed[] = {0x0b, 0xad, 0xca, 0xfe},
			     listed[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef},
			     beginning[] = {0x01, 0x23};
	CHECK(mkdtemp(root) != NULL);
	make_database();
	struct hs_package packages[] = {
		{.path = "/usr/lib/x86_64-linux-gnu/libc.so.6"}, /* /lib is /usr/lib; glibc's debug package */
		{.path = "/usr/bin/iconv"},                      /* another package of glibc */
		{.path = "/usr/bin/jq"},          /* by the rule; not jqx, not /opt/usr/bin/jq */
		{.path = "/usr/bin/old"},         /* -dbg, as some packages have it */
		{.path = "/usr/lib/libother.so"}, /* through the link; provided by another package */
		{.path = "/usr/bin/nobody"},
		{.path = "/usr/bin/jq", .build_id = installed, .build_id_bytes = 4},
		{.build_id = removed, .build_id_bytes = 4},
		{.build_id = listed, .build_id_bytes = 8},
		{.build_id = beginning, .build_id_bytes = 2}, /* of another one's */
		{.path = "relative"},
	};
	enum { COUNT = sizeof(packages) / sizeof(packages[0]) };
	hs_packages_find(root, packages, COUNT);
	expect(&packages[0], "libc6", "libc6-dbg", false, false);
	expect(&packages[1], "libc-bin", "libc6-dbg", false, false);
	expect(&packages[2], "jq", "jq-dbgsym", false, false);
	expect(&packages[3], "old", "old-dbg", true, false);
	expect(&packages[4], "other", "all-the-others", true, false);
	expect(&packages[5], "(none)", "(none)", false, false);
	expect(&packages[6], "jq", "here-dbgsym", true, true);
	expect(&packages[7], "(none)", "removed-dbgsym", true, false);
	expect(&packages[8], "(none)", "some-dbgsym", true, false);
	expect(&packages[9], "(none)", "(none)", false, false);
	expect(&packages[10], "(none)", "(none)", false, false);
	hs_packages_free(packages, COUNT);
	hs_packages_find("/nonexistent", packages, COUNT);
	expect(&packages[0], "(none)", "(none)", false, false);
	char command[256];
	snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK(system(command) == 0);
	return 0;
}
