// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of one file: 2 s of CPU time and 512 MiB, whatever it contains. The hostile files are
 * small on disk. A child reads each of them, and the kernel measures its time and memory.
 */
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "libsym/build-id.h"
#include "libsym/jit/perf-map.h"
#include "libsym/resolver.h"
#include "libsym/symtab.h"

#ifdef HAVE_LZMA
#include <lzma.h>
#endif

/* The reader's own limit is 1.7 s. It also has to free what it has read, which takes longer on a
 * busy machine. */
#define MAX_CPU_MS 2500
#define MAX_RSS_KIB (512L << 10)

/* Stop a reader of unbounded cost after this time. */
#define STOP_CPU_S 10
#define STOP_MEMORY_BYTES (3ul << 30)

/* A sanitizer's own memory does not count, and its checks slow everything down. */
#if defined(__SANITIZE_ADDRESS__)
static const bool is_sanitized = true;
#else
static const bool is_sanitized = false;
#endif

static char dir[] = "/tmp/vmop-cost-XXXXXX";
static char path[sizeof(dir) + 32];

/* ---- files ------------------------------------------------------------------ */

#define MAX_SECTIONS 65000

/* An ELF file made section by section; the contents are written at the offsets in the headers. */
static struct {
	int fd;
	Elf64_Ehdr header;
	Elf64_Shdr sections[MAX_SECTIONS];
	size_t n;
	uint64_t end; /* of all contents */
} file;

static const char section_names[] = "\0.plt\0.rela.plt\0.gnu_debugdata\0.gnu_debuglink\0.text";
enum section_name { PLT = 1, RELA_PLT = 6, DEBUGDATA = 16, DEBUGLINK = 31, TEXT = 46 };

static void write_at(const void *data, size_t len_bytes, uint64_t offset)
{
	assert_int_equal(pwrite(file.fd, data, len_bytes, (off_t)offset), len_bytes);
}

static Elf64_Shdr *add_section(uint32_t type, enum section_name name, uint64_t offset,
			       uint64_t len_bytes)
{
	Elf64_Shdr *section = &file.sections[file.n++];
	assert_true(file.n <= MAX_SECTIONS);
	*section = (Elf64_Shdr){
		.sh_type = type,
		.sh_name = (uint32_t)name,
		.sh_offset = offset,
		.sh_size = len_bytes,
	};
	return section;
}

/* Append data to the file as a section. NULL: a hole. */
static Elf64_Shdr *append_section(uint32_t type, enum section_name name, const void *data,
				  uint64_t len_bytes)
{
	uint64_t offset = (file.end + 63) & ~(uint64_t)63;
	file.end = offset + len_bytes;
	if (data)
		write_at(data, len_bytes, offset);
	return add_section(type, name, offset, len_bytes);
}

static void begin_file(const char *at)
{
	memset(&file, 0, sizeof(file));
	unlink(at);
	file.fd = open(at, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(file.fd >= 0);
	file.end = 4096;
	add_section(SHT_NULL, 0, 0, 0);
	append_section(SHT_STRTAB, 0, section_names, sizeof(section_names));
}

/* The segment that all files have: it covers their first GiB. */
static void end_file(void)
{
	const Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_vaddr = 0x400000,
		.p_filesz = 1ul << 30,
		.p_memsz = 1ul << 30,
	};
	file.header = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = 1,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = (file.end + 63) & ~(uint64_t)63,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)file.n,
		.e_shstrndx = 1,
	};
	write_at(&file.header, sizeof(file.header), 0);
	write_at(&segment, sizeof(segment), sizeof(file.header));
	write_at(file.sections, file.n * sizeof(file.sections[0]), file.header.e_shoff);
	close(file.fd);
}

/* ---- measuring ---------------------------------------------------------------- */

enum outcome { READ, TOO_COSTLY, OTHER_ERROR, NOTHING };

static enum outcome outcome_of(struct vmop_error *err)
{
	if (!err)
		return READ;
	fprintf(stderr, "%s\n", err->message);
	return err->code == VMOP_ERROR_LIMIT && strstr(err->message, "too costly") ? TOO_COSTLY
										   : OTHER_ERROR;
}

/* Read the file in a child, and assert the bounds on its cost. */
static enum outcome measure(enum outcome (*read_it)(void))
{
	struct rusage usage;
	int status;
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit cpu = {STOP_CPU_S, STOP_CPU_S};
		const struct rlimit memory = {STOP_MEMORY_BYTES, STOP_MEMORY_BYTES};
		setrlimit(RLIMIT_CPU, &cpu);
		if (!is_sanitized)
			setrlimit(RLIMIT_AS, &memory);
		_exit(read_it());
	}
	while (wait4(pid, &status, 0, &usage) < 0)
		assert_int_equal(errno, EINTR);
	long cpu_ms = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
		      (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
	fprintf(stderr, "%ld ms of CPU time, %ld MiB\n", cpu_ms, usage.ru_maxrss >> 10);
	if (!WIFEXITED(status))
		fail_msg("ended by signal %d", WTERMSIG(status));
	assert_in_range(cpu_ms, 0, is_sanitized ? 2 * MAX_CPU_MS : MAX_CPU_MS);
	if (!is_sanitized)
		assert_in_range(usage.ru_maxrss, 0, MAX_RSS_KIB);
	return WEXITSTATUS(status);
}

static enum outcome read_build_id(void)
{
	struct vmop_build_id id;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum outcome outcome = outcome_of(vmop_build_id_of_fd(fd, path, &id));
	close(fd);
	return outcome;
}

static enum outcome read_symbols(void)
{
	struct vmop_symtab *symtab;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum outcome outcome = outcome_of(vmop_symtab_read_elf(fd, path, 0, &symtab));
	if (outcome == READ)
		vmop_symtab_destroy(symtab);
	close(fd);
	return outcome;
}

static enum outcome read_kernel_image(void)
{
	struct vmop_symtab *symtab;
	enum outcome outcome = outcome_of(vmop_symtab_read_kernel_image(path, &symtab));
	if (outcome == READ)
		vmop_symtab_destroy(symtab);
	return outcome;
}

static enum outcome read_perf_map(void)
{
	struct vmop_symtab *symtab;
	struct vmop_perf_map_state state = {0};
	enum outcome outcome =
		outcome_of(vmop_perf_map_read(AT_FDCWD, path, getuid(), &state, &symtab));
	if (outcome == READ)
		vmop_symtab_destroy(symtab);
	return outcome;
}

static enum outcome resolve(void)
{
	static const char *const nowhere[] = {"/nonexistent"};
	const struct vmop_resolver_options options = {.debug_paths = nowhere, .n_debug_paths = 1};
	const struct vmop_image_ref ref = {.path = path};
	const struct vmop_symtab *symtab;
	struct vmop_resolver *resolver;
	const char *reason;
	if (vmop_resolver_create(&options, &resolver) ||
	    vmop_resolver_symtab(resolver, &ref, &symtab, &reason))
		return OTHER_ERROR;
	enum outcome outcome = READ;
	if (!symtab) {
		fprintf(stderr, "%s\n", reason);
		outcome = strncmp(reason, "too costly: ", 12) == 0 ? TOO_COSTLY : NOTHING;
	}
	vmop_resolver_destroy(resolver);
	return outcome;
}

/* ---- build-ids ---------------------------------------------------------------- */

static void overlapping_notes(void **state)
{
	(void)state;
	begin_file(path);
	file.end = 4 << 20;
	while (file.n < MAX_SECTIONS)
		add_section(SHT_NOTE, 0, 4096 + file.n * 16, 65536);
	end_file();
	assert_int_equal(measure(read_build_id), TOO_COSTLY);
}

/* ---- symbols ------------------------------------------------------------------ */

static void overlapping_plts(void **state)
{
	(void)state;
	begin_file(path);
	file.end = 4 << 20;
	while (file.n < MAX_SECTIONS)
		add_section(SHT_PROGBITS, PLT, 4096 + file.n * 16, 2 << 20)->sh_flags =
			SHF_ALLOC | SHF_EXECINSTR;
	end_file();
	assert_int_equal(measure(read_symbols), TOO_COSTLY);
}

static void overlapping_relocations(void **state)
{
	(void)state;
	begin_file(path);
	file.end = 4 << 20;
	while (file.n < MAX_SECTIONS)
		add_section(SHT_RELA, RELA_PLT, 4096 + file.n * 8, 87000 * sizeof(Elf64_Rela))
			->sh_flags = SHF_ALLOC;
	end_file();
	assert_int_equal(measure(read_symbols), TOO_COSTLY);
}

/* A symbol table has one table of wide indices: the others are never read. */
static void overlapping_wide_indices(void **state)
{
	(void)state;
	const Elf64_Sym symbols[2] = {{0}};
	begin_file(path);
	append_section(SHT_SYMTAB, 0, symbols, sizeof(symbols))->sh_link = 1;
	file.end = 4 << 20;
	while (file.n < MAX_SECTIONS)
		add_section(SHT_SYMTAB_SHNDX, 0, 4096 + file.n * 16, 2 << 20)->sh_link = 2;
	end_file();
	assert_int_equal(measure(read_symbols), READ);
}

/* Four tables, together nearly a GiB of holes. */
static void sparse_tables(void **state)
{
	(void)state;
	const uint64_t len_bytes = (1ul << 30) - 4096;
	begin_file(path);
	append_section(SHT_SYMTAB, 0, NULL, len_bytes)->sh_link = 3;
	append_section(SHT_STRTAB, 0, NULL, len_bytes);
	append_section(SHT_DYNSYM, 0, NULL, len_bytes)->sh_link = 5;
	append_section(SHT_STRTAB, 0, NULL, len_bytes);
	end_file();
	assert_int_equal(measure(read_symbols), TOO_COSTLY);
	assert_int_equal(measure(resolve), TOO_COSTLY);
}

/* Without a NUL at its end, each look-up of a name could read the whole table. */
static void section_names_without_end(void **state)
{
	(void)state;
	const uint64_t len_bytes = 48 << 20;
	begin_file(path);
	append_section(SHT_STRTAB, 0, NULL, len_bytes);
	write_at("", 1, file.sections[2].sh_offset);
	char *text = malloc(len_bytes - 1);
	memset(text, 'x', len_bytes - 1);
	write_at(text, len_bytes - 1, file.sections[2].sh_offset + 1);
	free(text);
	file.sections[1] = file.sections[2];
	while (file.n < MAX_SECTIONS)
		add_section(SHT_PROGBITS, file.n, 4096, 16)->sh_flags = SHF_EXECINSTR;
	end_file();
	measure(read_symbols);
}

static void more_segments_than_memory(void **state)
{
	(void)state;
	begin_file(path);
	file.sections[0].sh_info = 200000000;
	file.end = 12ul << 30;
	end_file();
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	file.header.e_phnum = PN_XNUM;
	assert_int_equal(pwrite(fd, &file.header, sizeof(file.header), 0), sizeof(file.header));
	close(fd);
	assert_int_equal(measure(read_symbols), TOO_COSTLY);
	assert_int_equal(measure(read_build_id), TOO_COSTLY);
}

/* Millions of names at one address, with a long common prefix. */
static void aliases_without_end(void **state)
{
	(void)state;
	const size_t n = 3000000, name_len_bytes = 40;
	Elf64_Sym *symbols = calloc(n, sizeof(*symbols));
	char *names = malloc(n * name_len_bytes);
	uint64_t random = 1;
	memset(names, 'a', n * name_len_bytes);
	for (size_t i = 0; i < n; i++) {
		random = random * 6364136223846793005 + 1442695040888963407;
		snprintf(names + i * name_len_bytes + 23, 17, "%016llx",
			 (unsigned long long)random);
		symbols[i] = (Elf64_Sym){
			.st_name = (uint32_t)(i * name_len_bytes),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_value = 0x400000,
			.st_shndx = SHN_ABS - 1,
			.st_size = 16,
		};
	}
	begin_file(path);
	append_section(SHT_SYMTAB, 0, symbols, n * sizeof(*symbols))->sh_link = 3;
	append_section(SHT_STRTAB, 0, names, n * name_len_bytes);
	end_file();
	free(symbols);
	free(names);
	measure(read_symbols); /* a fast machine can finish in time */
}

/*
 * As many functions, with names as long, as large programs have: a machine that is half as fast as
 * others still reads them.
 */
static void a_large_program_is_read(void **state)
{
	(void)state;
	const size_t n = 600000, name_len_bytes = 80;
	Elf64_Sym *symbols = calloc(n + 1, sizeof(*symbols));
	char *names = malloc((n + 1) * name_len_bytes);
	memset(names, 'a', n * name_len_bytes);
	names[0] = '\0';
	for (size_t i = 1; i <= n; i++) {
		snprintf(names + i * name_len_bytes, 12, "_ZN%08zu", i);
		names[i * name_len_bytes + 11] = 'x';
		names[i * name_len_bytes + name_len_bytes - 1] = '\0';
		symbols[i] = (Elf64_Sym){
			.st_name = (uint32_t)(i * name_len_bytes),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_value = 0x400000 + i * 7919 % n * 64,
			.st_shndx = 2,
			.st_size = 64,
		};
	}
	begin_file(path);
	Elf64_Shdr *text = append_section(SHT_PROGBITS, TEXT, NULL, n * 64);
	text->sh_addr = 0x400000;
	text->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	append_section(SHT_SYMTAB, 0, symbols, (n + 1) * sizeof(*symbols))->sh_link = 4;
	append_section(SHT_STRTAB, 0, names, (n + 1) * name_len_bytes);
	end_file();
	free(symbols);
	free(names);
	assert_int_equal(measure(read_symbols), READ);
	assert_int_equal(measure(resolve), READ);
}

/* ---- packed content ------------------------------------------------------------- */

#ifdef HAVE_LZMA
/* Make *ret_len_bytes of xz that unpack to unpacked_bytes zeros. */
static uint8_t *make_bomb(size_t unpacked_bytes, size_t *ret_len_bytes)
{
	const size_t capacity = 1 << 20;
	static uint8_t zeros[1 << 20];
	uint8_t *packed = malloc(capacity);
	lzma_stream stream = LZMA_STREAM_INIT;
	assert_int_equal(lzma_easy_encoder(&stream, 0, LZMA_CHECK_NONE), LZMA_OK);
	stream.next_out = packed;
	stream.avail_out = capacity;
	for (size_t done = 0; done < unpacked_bytes; done += sizeof(zeros)) {
		stream.next_in = zeros;
		stream.avail_in = sizeof(zeros);
		while (stream.avail_in)
			assert_int_equal(lzma_code(&stream, LZMA_RUN), LZMA_OK);
	}
	assert_int_equal(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
	*ret_len_bytes = stream.total_out;
	lzma_end(&stream);
	return packed;
}

static void packed_bombs(void **state)
{
	(void)state;
	size_t len_bytes;
	uint8_t *bomb = make_bomb((size_t)1 << 30, &len_bytes);
	begin_file(path);
	append_section(SHT_PROGBITS, DEBUGDATA, bomb, len_bytes);
	end_file();
	free(bomb);
	assert_int_equal(measure(read_symbols), TOO_COSTLY);
	assert_int_equal(measure(resolve), TOO_COSTLY);
}
#endif

static void compressed_sections(void **state)
{
	(void)state;
	const Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = 1ul << 40};
	begin_file(path);
	Elf64_Shdr *section = append_section(SHT_SYMTAB, 0, &header, sizeof(header));
	section->sh_flags = SHF_COMPRESSED;
	section->sh_link = 2;
	section = append_section(SHT_PROGBITS, DEBUGDATA, &header, sizeof(header));
	section->sh_flags = SHF_COMPRESSED;
	end_file();
	assert_int_equal(measure(read_symbols), READ);
}

/* ---- other files ------------------------------------------------------------------ */

static void debug_link_to_sparse_files(void **state)
{
	(void)state;
	static const char *const names[] = {"huge.debug", ".debug/huge.debug"};
	const char link[] = "huge.debug\0\0\1\2\3\4"; /* padded to 12, and a checksum */
	char debug[sizeof(path) + 32];
	snprintf(debug, sizeof(debug), "%s/.debug", dir);
	assert_int_equal(mkdir(debug, 0700), 0);
	for (size_t i = 0; i < 2; i++) {
		snprintf(debug, sizeof(debug), "%s/%s", dir, names[i]);
		begin_file(debug);
		file.end = 8ul << 30;
		end_file();
	}
	begin_file(path);
	append_section(SHT_PROGBITS, DEBUGLINK, link, 16);
	end_file();
	enum outcome outcome = measure(resolve);
	for (size_t i = 0; i < 2; i++) {
		snprintf(debug, sizeof(debug), "%s/%s", dir, names[i]);
		unlink(debug);
	}
	snprintf(debug, sizeof(debug), "%s/.debug", dir);
	rmdir(debug);
	assert_int_equal(outcome, TOO_COSTLY);
}

static void write_lines(const char *format, size_t n)
{
	FILE *text = fopen(path, "we");
	uint64_t random = 1;
	assert_non_null(text);
	for (size_t i = 0; i < n; i++) {
		random = random * 6364136223846793005 + 1442695040888963407;
		fprintf(text, format, (unsigned long long)(random >> 8 | 1ull << 55));
	}
	assert_int_equal(fclose(text), 0);
}

static void texts_in_no_order(void **state)
{
	(void)state;
	write_lines("%016llx t function\n", 2500000);
	measure(read_kernel_image);
	write_lines("%llx 1 f\n", 3200000);
	measure(read_perf_map);
	/* As many functions at one address. */
	write_lines("1 1 %llx\n", 3000000);
	measure(read_perf_map);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/file", dir);
	return 0;
}

static int remove_file(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(dir);
}

#define BOUNDED(test) cmocka_unit_test_teardown(test, remove_file)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOUNDED(overlapping_notes),
		BOUNDED(overlapping_plts),
		BOUNDED(overlapping_relocations),
		BOUNDED(overlapping_wide_indices),
		BOUNDED(sparse_tables),
		BOUNDED(section_names_without_end),
		BOUNDED(more_segments_than_memory),
		BOUNDED(aliases_without_end),
		BOUNDED(a_large_program_is_read),
#ifdef HAVE_LZMA
		BOUNDED(packed_bombs),
#endif
		BOUNDED(compressed_sections),
		BOUNDED(debug_link_to_sparse_files),
		BOUNDED(texts_in_no_order),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
