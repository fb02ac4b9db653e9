// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as an ELF image: its unwind table, built from memory and from a file. Both tables give
 * the same rules; limits hold; the facts of a table are true. A third table is built by a reader
 * without the pages that the last byte selects.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libstack/table.h"
#include "libutil/clock.h"
#include "libutil/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

enum { MAX_BYTES = 4 << 20 };

static const struct vmop_cfi_limits limits = {
	.max_bytes = MAX_BYTES,
	.max_cpu_ns = 10 * VMOP_NS_PER_S,
};

static void check(bool is_right)
{
	if (!is_right)
		abort();
}

/* Read every byte of a range, so that a sanitizer detects one that is not there. */
static void touch(const uint8_t *bytes, size_t n)
{
	static volatile uint8_t sink;
	for (size_t i = 0; i < n; i++)
		sink = (uint8_t)(sink + bytes[i]);
}

static void check_entry(const struct vmop_cfi_table *table, uint64_t offset)
{
	struct vmop_cfi_entry entry;
	if (!vmop_cfi_table_entry(table, offset, &entry))
		return;
	touch(entry.cie, entry.cie_bytes);
	touch(entry.fde, entry.fde_bytes);
	uint64_t address = offset + entry.address_minus_offset;
	check(address - entry.function_address < entry.function_bytes);
}

static void check_rule(const struct vmop_cfi_rule *rule, const struct vmop_cfi_facts *facts)
{
	check(rule->kind <= VMOP_CFI_EXPRESSION);
	check(rule->fp_saved <= VMOP_CFI_LOST && rule->ra_saved < VMOP_CFI_LOST);
	check(rule->cfa_register < (facts->machine == EM_AARCH64 ? 32 : 17));
	check(rule->kind != VMOP_CFI_EXPRESSION || facts->n_expression_rows);
}

static void compare(const struct vmop_cfi_table *a, const struct vmop_cfi_table *b, uint64_t offset,
		    const struct vmop_cfi_facts *facts)
{
	struct vmop_cfi_rule rule_a, rule_b;
	vmop_cfi_table_find(a, offset, &rule_a);
	vmop_cfi_table_find(b, offset, &rule_b);
	check(memcmp(&rule_a, &rule_b, sizeof(rule_a)) == 0);
	check_rule(&rule_a, facts);
	check_entry(a, offset);
	check(vmop_cfi_table_is_entry(a, offset) == vmop_cfi_table_is_entry(b, offset));
}

static void compare_all(const struct vmop_cfi_table *a, const struct vmop_cfi_table *b)
{
	struct vmop_cfi_facts facts;
	vmop_cfi_table_facts(a, &facts);
	check(facts.table_bytes < MAX_BYTES + 1024);
	check(facts.machine == EM_X86_64 || facts.machine == EM_AARCH64);
	for (uint64_t offset = 0; offset < 0x3000; offset += 5)
		compare(a, b, offset, &facts);
	for (unsigned bits = 0; bits < 64; bits++)
		compare(a, b, UINT64_MAX >> bits, &facts);
}

/* A file of which some pages can't be read: page i, if bit i % 8 is set. */
struct holed_file {
	const uint8_t *bytes;
	size_t len_bytes;
	uint8_t absent;
};

static bool read_holed(void *arg, uint64_t offset, void *buf, size_t len_bytes)
{
	const struct holed_file *file = arg;
	if (offset > file->len_bytes || len_bytes > file->len_bytes - offset)
		return false;
	for (uint64_t page = offset >> 12; page << 12 < offset + len_bytes; page++)
		if (file->absent >> (page & 7) & 1)
			return false;
	memcpy(buf, file->bytes + offset, len_bytes);
	return true;
}

static void build_with_holes(const uint8_t *data, size_t len_bytes)
{
	struct vmop_cfi_table *table = NULL;
	struct holed_file file = {.bytes = data, .len_bytes = len_bytes};
	const struct vmop_cfi_reader reader = {.read = read_holed, .arg = &file};
	if (len_bytes)
		file.absent = data[len_bytes - 1];
	struct vmop_error *err = vmop_cfi_table_build_by(&reader, &limits, &table);
	if (!err)
		compare_all(table, table);
	vmop_error_destroy(err);
	vmop_cfi_table_destroy(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct vmop_cfi_table *from_memory = NULL, *from_file = NULL;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, len_bytes) != (ssize_t)len_bytes)
		abort();
	struct vmop_error *err_a =
		vmop_cfi_table_build_from_memory(data, len_bytes, &limits, &from_memory);
	struct vmop_error *err_b = vmop_cfi_table_build(fd, &limits, &from_file);
	check(!err_a == !err_b && (!err_a || err_a->code == err_b->code));
	if (!err_a)
		compare_all(from_memory, from_file);
	vmop_error_destroy(err_a);
	vmop_error_destroy(err_b);
	vmop_cfi_table_destroy(from_memory);
	vmop_cfi_table_destroy(from_file);
	close(fd);
	build_with_holes(data, len_bytes);
	return 0;
}
