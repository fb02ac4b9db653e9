// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/kernel/vmcoreinfo.h"

#include <stdlib.h>
#include <string.h>

static unsigned int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned int)(c - 'a') + 10;
	return 16;
}

static void parse_build_id(const char *hex, struct vmop_vmcoreinfo *ret)
{
	uint8_t len = 0;
	for (; len < sizeof(ret->build_id); len++, hex += 2) {
		unsigned int high = hex_digit(hex[0]);
		unsigned int low = high < 16 ? hex_digit(hex[1]) : 16;
		if (low >= 16)
			break;
		ret->build_id[len] = (uint8_t)(high << 4 | low);
	}
	ret->build_id_len_bytes = len;
}

/* Return the value when line is "key=value"; otherwise NULL. */
static const char *value_of(const char *line, const char *key)
{
	size_t len = strlen(key);
	return strncmp(line, key, len) == 0 && line[len] == '=' ? line + len + 1 : NULL;
}

/* arch/arm64/kernel/vmcore_info.c (crash_core.c before 6.9, machine_kexec.c before 5.0) */
static void parse_arm64_line(const char *line, struct vmop_vmcoreinfo *ret)
{
	const char *value;
	if ((value = value_of(line, "NUMBER(kimage_voffset)"))) {
		ret->kimage_voffset = strtoull(value, NULL, 0);
		ret->is_arm64 = true;
	} else if ((value = value_of(line, "NUMBER(VA_BITS)"))) {
		ret->va_bits = (uint32_t)strtoul(value, NULL, 10);
	} else if ((value = value_of(line, "NUMBER(TCR_EL1_T1SZ)"))) {
		ret->t1sz = (uint32_t)strtoul(value, NULL, 0);
	} else if ((value = value_of(line, "NUMBER(PHYS_OFFSET)"))) {
		ret->phys_offset = strtoull(value, NULL, 0);
	} else if ((value = value_of(line, "NUMBER(VMEMMAP_START)"))) {
		ret->vmemmap_start = strtoull(value, NULL, 0);
	}
}

static void parse_line(const char *line, struct vmop_vmcoreinfo *ret)
{
	const char *value;
	if ((value = value_of(line, "OSRELEASE"))) {
		strncpy(ret->release, value, sizeof(ret->release) - 1);
	} else if ((value = value_of(line, "BUILD-ID"))) {
		parse_build_id(value, ret);
	} else if ((value = value_of(line, "SYMBOL(swapper_pg_dir)"))) {
		ret->swapper_pg_dir = strtoull(value, NULL, 16);
	} else if ((value = value_of(line, "KERNELOFFSET"))) {
		ret->kernel_offset = strtoull(value, NULL, 16);
		ret->has_kernel_offset = true;
	} else if ((value = value_of(line, "NUMBER(phys_base)"))) {
		ret->phys_base = strtoll(value, NULL, 10);
	} else if ((value = value_of(line, "NUMBER(pgtable_l5_enabled)"))) {
		ret->has_5_levels = strtoul(value, NULL, 10) != 0;
	} else if ((value = value_of(line, "SYMBOL(init_uts_ns)"))) {
		ret->init_uts_ns = strtoull(value, NULL, 16);
	} else if ((value = value_of(line, "OFFSET(uts_namespace.name)"))) {
		ret->uts_name = strtoull(value, NULL, 10);
	} else if ((value = value_of(line, "SYMBOL(_stext)"))) {
		ret->stext = strtoull(value, NULL, 16);
	} else if ((value = value_of(line, "PAGESIZE"))) {
		ret->page_bytes = strtoull(value, NULL, 10);
	} else if ((value = value_of(line, "SIZE(page)"))) {
		ret->page_struct_bytes = strtoull(value, NULL, 10);
	} else {
		parse_arm64_line(line, ret);
	}
}

bool vmop_vmcoreinfo_parse(const char *text, size_t len_bytes, struct vmop_vmcoreinfo *ret)
{
	char copy[VMOP_VMCOREINFO_MAX_BYTES + 1];
	memset(ret, 0, sizeof(*ret));
	ret->uts_name = 4;
	if (len_bytes > sizeof(copy) - 1)
		len_bytes = sizeof(copy) - 1;
	len_bytes = strnlen(text, len_bytes);
	memcpy(copy, text, len_bytes);
	copy[len_bytes] = '\0';
	char *save;
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		parse_line(line, ret);
	return ret->release[0] && ret->swapper_pg_dir;
}
