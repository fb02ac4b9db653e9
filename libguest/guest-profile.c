// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmop-guest-profile(1): print a profile (kernel/layout.h) of a kernel without BTF. It contains the
 * struct offsets that libguest needs, read from the DWARF of a vmlinux with debug information.
 */
#include "config.h"

#include <argp.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libguest/kernel/layout.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libutil/escape.h"
#include "libutil/log.h"
#include "libutil/options.h"

#define MAX_DEPTH 8

#define FIELD(field, type, member) {type, member},
static const struct {
	const char *type, *member;
} fields[] = {VMOP_LAYOUT_FIELDS(FIELD)};

static int64_t found[VMOP_LAYOUT_FIELD_COUNT]; /* -1: not found yet */

/* Set *ret to the type of die, through typedefs and qualifiers. Return false when it has none. */
static bool type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attribute;
	return dwarf_attr_integrate(die, DW_AT_type, &attribute) &&
	       dwarf_formref_die(&attribute, ret) && dwarf_peel_type(ret, ret) == 0;
}

/*
 * Return the value of an attribute that is a non-negative number, or -1. One byte of 200
 * (DW_FORM_data1) is 200.
 */
static int64_t number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	if (!dwarf_attr_integrate(die, name, &attribute) ||
	    dwarf_formudata(&attribute, &value) != 0 || value > INT32_MAX)
		return -1;
	return (int64_t)value;
}

/*
 * Return the offset of a member in bytes: 0 for members of a union, which have no such attribute;
 * -1 when it is not a plain number.
 */
static int64_t member_offset(Dwarf_Die *member)
{
	return dwarf_hasattr(member, DW_AT_data_member_location)
		       ? number(member, DW_AT_data_member_location)
		       : 0;
}

/*
 * Find the first part of path in a struct, store its type in *ret_type and return its offset in
 * bytes. Return -1 when the struct has no such member.
 */
static int64_t find_member(Dwarf_Die *type, const char *path, size_t len, int depth,
			   Dwarf_Die *ret_type)
{
	Dwarf_Die member;
	if (depth > MAX_DEPTH || dwarf_child(type, &member) != 0)
		return -1;
	do {
		const char *name = dwarf_diename(&member);
		Dwarf_Die inner;
		if (dwarf_tag(&member) != DW_TAG_member || !type_of(&member, &inner))
			continue;
		if (name && strncmp(name, path, len) == 0 && !name[len]) {
			*ret_type = inner;
			return member_offset(&member);
		}
		if (name)
			continue;
		int64_t start = member_offset(&member);
		int64_t offset = find_member(&inner, path, len, depth + 1, ret_type);
		if (start >= 0 && offset >= 0)
			return start + offset;
	} while (dwarf_siblingof(&member, &member) == 0);
	return -1;
}

static int64_t offset_of(Dwarf_Die type, const char *path, size_t path_len)
{
	int64_t total = 0;
	for (size_t at = 0; at < path_len;) {
		size_t len = strcspn(path + at, ".|");
		Dwarf_Die next;
		int64_t offset = find_member(&type, path + at, len, 0, &next);
		if (offset < 0)
			return -1;
		total += offset;
		type = next;
		at += len + 1;
	}
	return total;
}

static int64_t enumerator(Dwarf_Die *type, const char *name)
{
	Dwarf_Die child;
	if (dwarf_child(type, &child) != 0)
		return -1;
	do {
		const char *candidate = dwarf_diename(&child);
		if (candidate && strcmp(candidate, name) == 0)
			return number(&child, DW_AT_const_value);
	} while (dwarf_siblingof(&child, &child) == 0);
	return -1;
}

static int64_t field_of(Dwarf_Die *type, const char *member)
{
	if (!*member)
		return dwarf_bytesize(type);
	if (*member == '=')
		return enumerator(type, member + 1);
	while (*member) { /* try the alternatives in order */
		size_t len = strcspn(member, "|");
		int64_t offset = offset_of(*type, member, len);
		if (offset >= 0)
			return offset;
		member += len + (member[len] == '|');
	}
	return -1;
}

/* Look up the fields of a type at the top level of a compilation unit. */
static void take_type(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);
	int tag = dwarf_tag(type);
	if (!name ||
	    (tag != DW_TAG_structure_type && tag != DW_TAG_union_type &&
	     tag != DW_TAG_enumeration_type) ||
	    dwarf_hasattr(type, DW_AT_declaration))
		return;
	for (unsigned int i = 0; i < VMOP_LAYOUT_FIELD_COUNT; i++)
		if (found[i] < 0 && strcmp(fields[i].type, name) == 0)
			found[i] = field_of(type, fields[i].member);
}

static void read_units(Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die unit_die, die;
	while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &unit_die, NULL) == 0) {
		if (dwarf_child(&unit_die, &die) != 0)
			continue;
		do
			take_type(&die);
		while (dwarf_siblingof(&die, &die) == 0);
	}
}

const char *argp_program_version = "vmop-guest-profile " PACKAGE_VERSION;

struct arguments {
	const char *vmlinux, *release;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	switch (key) {
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			return ARGP_ERR_UNKNOWN;
		*(state->arg_num ? &arguments->release : &arguments->vmlinux) = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 2)
			argp_error(state, "VMLINUX and RELEASE are required");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse,
	.args_doc = "VMLINUX RELEASE",
	.doc = "Print a profile of a Linux kernel without BTF: the struct offsets that vmopd needs "
	       "to "
	       "read a guest with that kernel, from the debug information of its VMLINUX.\v"
	       "Store the output in " VMOP_SYSCONFDIR "/guest-profiles/RELEASE. "
	       "Exit status: 0 success, 2 usage error, 3 failure.",
};

static int fail(const char *path, const char *reason)
{
	vmop_log_error("%s: %s", path, reason);
	return VMOP_EXIT_CANT;
}

static void print_profile(const char *release)
{
	char name[96];
	fputs("[kernel]\nrelease = ", stdout);
	vmop_escape_print(release, SIZE_MAX, vmop_escape_locale(), stdout);
	fputs("\n\n[offsets]\n", stdout);
	for (unsigned int i = 0; i < VMOP_LAYOUT_FIELD_COUNT; i++)
		if (found[i] >= 0)
			printf("%s = %lld\n", vmop_layout_name(i, name, sizeof(name)),
			       (long long)found[i]);
}

int main(int argc, char **argv)
{
	struct arguments arguments = {0};
	setlocale(LC_CTYPE, "");
	vmop_log_init("vmop-guest-profile", VMOP_LOG_NOTICE);
	argp_err_exit_status = VMOP_EXIT_USAGE;
	vmop_options_parse(&argp, argc, argv, 0, &arguments);
	_cleanup_close_ int fd = open(arguments.vmlinux, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(arguments.vmlinux, strerror(errno));
	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	if (!dwarf) {
		char reason[160];
		snprintf(reason, sizeof(reason), "no debug information (%s)", dwarf_errmsg(-1));
		return fail(arguments.vmlinux, reason);
	}
	for (unsigned int i = 0; i < VMOP_LAYOUT_FIELD_COUNT; i++)
		found[i] = -1;
	read_units(dwarf);
	dwarf_end(dwarf);
	print_profile(arguments.release);
	if (ferror(stdout) || fflush(stdout))
		return fail("output", strerror(errno));
	return VMOP_EXIT_DONE;
}
