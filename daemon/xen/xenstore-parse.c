// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <string.h>

#include "daemon/xen/domains.h"
#include "daemon/xen/xenstore.h"
#include "libutil/parse.h"

#define UUID_TEXT_LEN 36

bool vmop_xenstore_parse_domid(const char *text, uint32_t *ret)
{
	uint64_t number;
	if (!isdigit((unsigned char)*text) || (*text == '0' && text[1]) ||
	    !vmop_parse_u64(text, 10, &number) || number >= VMOP_XEN_IDS)
		return false;
	*ret = (uint32_t)number;
	return true;
}

static bool is_uuid(const char *text)
{
	for (size_t i = 0; i < UUID_TEXT_LEN; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (is_dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false; /* also at the end of the text */
	}
	return true;
}

bool vmop_xenstore_parse_vm(const char *text, char ret[VMOP_UUID_BYTES])
{
	*ret = '\0';
	if (strncmp(text, "/vm/", 4) != 0 || !is_uuid(text + 4))
		return false;
	char after = text[4 + UUID_TEXT_LEN];
	if (after && after != '-')
		return false;
	for (size_t i = 0; i < UUID_TEXT_LEN; i++)
		ret[i] = (char)tolower((unsigned char)text[4 + i]);
	ret[UUID_TEXT_LEN] = '\0';
	return true;
}

enum vmop_xen_type vmop_xenstore_parse_type(const char *text)
{
	if (!strcmp(text, "pv"))
		return VMOP_XEN_PV;
	if (!strcmp(text, "pvh"))
		return VMOP_XEN_PVH;
	return !strcmp(text, "hvm") ? VMOP_XEN_HVM : VMOP_XEN_TYPE_UNKNOWN;
}
