/* What is refused before it is started, and why. */
#include "check.h"
#include "elf_maker.h"
#include "record/target.h"

#include <unistd.h>

static const char loader[] = "/lib64/ld-linux-x86-64.so.2";
static struct hs_error notice, error;
static char *found;

static int check(const char *command)
{
	free(found);
	error.text[0] = 0;
	int code = hs_target_check(command, &found, &notice, &error);
	CHECK((found == NULL) == (code != 0));
	return code;
}

static void expect(int code, int expected, const char *part)
{
	CHECK_NUMBER(code, expected);
	if (!strstr(error.text, part)) {
		printf("\"%s\" does not mention \"%s\"\n", error.text, part);
		check_failures++;
	}
}

static void write_text(const char *text, const char *path, mode_t mode)
{
	elf_write(text, strlen(text), path, mode);
}

static void test_finding(void)
{
	setenv("PATH", "dir:bin::/nowhere", 1);
	mkdir("dir", 0755);
	mkdir("bin", 0755);
	mkdir("dir/both", 0755);
	struct elf_image image;
	elf_begin(&image, ET_DYN, EM_X86_64);
	elf_loader(&image, loader);
	elf_write(&image, sizeof image, "bin/both", 0755);
	elf_write(&image, sizeof image, "bin/plain", 0644);
	elf_write(&image, sizeof image, "here", 0755);
	CHECK_NUMBER(check("both"), 0);
	CHECK_TEXT(found, "bin/both");
	CHECK_NUMBER(check("here"), 0); /* by the empty part of PATH */
	CHECK_TEXT(found, "here");
	expect(check("plain"), 126, "chmod");
	expect(check("missing"), 127, "'missing' was not found in PATH");
	expect(check("./missing"), 127, "No such file");
	expect(check("here/below"), 127, "Not a directory");
	expect(check(""), 127, "empty");
	expect(check("./dir"), 126, "directory");
	expect(check("/dev/null"), 126, "not a regular file");
	setenv("PATH", "/nowhere", 1);
	expect(check("here"), 127, "try './here'");
}

static void test_elf(void)
{
	struct elf_image image;
	elf_begin(&image, ET_DYN, EM_X86_64);
	elf_write(&image, sizeof image, "program", 0755);
	expect(check("./program"), 125, "statically linked");
	elf_write(&image, sizeof image, "ld-linux.so", 0755);
	CHECK_NUMBER(check("./ld-linux.so"), 0);
	elf_loader(&image, loader);
	elf_write(&image, sizeof image, "program", 0755);
	CHECK_NUMBER(check("./program"), 0);
	CHECK_TEXT(notice.text, "");
	image.header.e_type = ET_REL;
	elf_write(&image, sizeof image, "program", 0755);
	expect(check("./program"), 125, "link it first");
	elf_write(&image, 40, "program", 0755);
	expect(check("./program"), 125, "damaged");
	image.header.e_ident[EI_CLASS] = ELFCLASS32;
	elf_write(&image, sizeof image, "program", 0755);
	expect(check("./program"), 125, "32-bit");
	elf_begin(&image, ET_EXEC, EM_AARCH64);
	elf_write(&image, sizeof image, "program", 0755);
	expect(check("./program"), 125, "another kind of machine");
	elf_begin(&image, ET_DYN, EM_X86_64);
	elf_loader(&image, "/lib/ld-musl-x86_64.so.1");
	elf_write(&image, sizeof image, "program", 0755);
	expect(check("./program"), 125, "musl");
}

static void test_allocators(void)
{
	struct elf_image image;
	elf_begin(&image, ET_DYN, EM_X86_64);
	elf_loader(&image, loader);
	elf_needed(&image, "libasan.so.8");
	elf_write(&image, sizeof image, "program", 0755);
	expect(check("./program"), 125, "AddressSanitizer");

	elf_begin(&image, ET_DYN, EM_X86_64);
	elf_loader(&image, loader);
	elf_needed(&image, "libc.so.6");
	elf_symbol(&image, "__tsan_init", SHN_UNDEF, STT_FUNC);
	elf_write(&image, sizeof image, "program", 0755);
	expect(check("./program"), 125, "ThreadSanitizer");

	elf_begin(&image, ET_DYN, EM_X86_64);
	elf_loader(&image, loader);
	elf_symbol(&image, "malloc", 1, STT_FUNC);
	elf_write(&image, sizeof image, "program", 0755);
	CHECK_NUMBER(check("./program"), 0);
	CHECK(strstr(notice.text, "malloc of its own") != NULL);

	elf_begin(&image, ET_DYN, EM_X86_64);
	elf_loader(&image, loader);
	elf_symbol(&image, "malloc", SHN_UNDEF, STT_FUNC);
	elf_write(&image, sizeof image, "program", 0755);
	CHECK_NUMBER(check("./program"), 0);
	CHECK_TEXT(notice.text, "");
}

static void test_scripts(void)
{
	struct elf_image image;
	elf_begin(&image, ET_DYN, EM_X86_64);
	elf_write(&image, sizeof image, "static", 0755);
	elf_loader(&image, loader);
	elf_write(&image, sizeof image, "dynamic", 0755);
	write_text("#! ./dynamic -x\n", "script", 0755);
	CHECK_NUMBER(check("./script"), 0);
	write_text("#!./script", "script2", 0755);
	CHECK_NUMBER(check("./script2"), 0);
	write_text("#!./static\n", "script", 0755);
	expect(check("./script2"), 125, "'./static' is statically linked");
	write_text("#!/no/such/thing\n", "script", 0755);
	expect(check("./script2"), 126, "'/no/such/thing'");
	write_text("#!./script\n", "script", 0755); /* for ever */
	expect(check("./script"), 125, "neither");
	write_text("#!\n", "script", 0755);
	expect(check("./script"), 125, "neither");
	write_text("echo hello\n", "script", 0755);
	expect(check("./script"), 125, "sh ./script");
	write_text("", "script", 0755);
	expect(check("./script"), 125, "neither");
}

/* Only an identity other than ours counts. As root a file can be given to somebody else. */
static void test_rights(void)
{
	struct elf_image image;
	elf_begin(&image, ET_DYN, EM_X86_64);
	elf_loader(&image, loader);
	elf_write(&image, sizeof image, "program", 06755);
	CHECK_NUMBER(check("./program"), 0);
	if (getuid() != 0)
		return;
	CHECK_NUMBER(chown("program", 65534, 0), 0);
	CHECK_NUMBER(chmod("program", 04755), 0);
	expect(check("./program"), 125, "setuid");
	CHECK_NUMBER(chown("program", 0, 65534), 0);
	CHECK_NUMBER(chmod("program", 02755), 0);
	expect(check("./program"), 125, "setgid");
	CHECK_NUMBER(chmod("program", 02745), 0); /* mandatory locking, once upon a time */
	CHECK_NUMBER(check("./program"), 0);
}

static void test_library(void)
{
	struct elf_image image;
	elf_begin(&image, ET_DYN, EM_X86_64);
	elf_write(&image, sizeof image, "library.so", 0644);
	CHECK_NUMBER(hs_target_check_library("library.so", &error), 0);
	CHECK_NUMBER(hs_target_check_library("missing.so", &error), 125);
	write_text("INPUT(libc.so)", "library.so", 0644);
	CHECK_NUMBER(hs_target_check_library("library.so", &error), 125);
}

int main(void)
{
	char directory[] = "/tmp/heapscope-test-XXXXXX";
	if (!mkdtemp(directory) || chdir(directory) != 0) {
		perror(directory);
		return 1;
	}
	test_finding();
	test_elf();
	test_allocators();
	test_scripts();
	test_rights();
	test_library();
	free(found);
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", directory);
	if (chdir("/") != 0)
		return 1;
	setenv("PATH", "/usr/bin:/bin", 1);
	return system(command) != 0 || check_failures != 0;
}
