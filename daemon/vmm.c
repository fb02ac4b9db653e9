// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/vmm.h"

#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

bool vmop_vmm_is_likely(const char *comm)
{
	/* Beginnings: names are cut to 15 bytes, and qemu has the machine's in its own. */
	static const char *const names[] = {"qemu",   "kvm",  "firecracker", "cloud-hyp",
					    "crosvm", "lkvm", "vm",	     "stratovirt"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(comm, names[i], strlen(names[i])))
			return true;
	return false;
}

bool vmop_vmm_vcpu_of_comm(const char *comm, uint32_t *ret)
{
	static const char *const formats[] = {"CPU %u/KVM%n", "fc_vcpu %u%n", "vcpu%u%n",
					      "crosvm_vcpu%u%n", "kvm-vcpu-%u%n"};
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		unsigned number;
		int len = 0;
		if (sscanf(comm, formats[i], &number, &len) == 1 && len && !comm[len]) {
			*ret = number;
			return true;
		}
	}
	return false;
}

/*
 * The value of option `key` in "a,key=value,b=...", where a doubled comma stands for one
 * (QEMU's util/keyval.c); with an empty key that of the first part, if it has no "=".
 */
static bool suboption(const char *text, const char *key, char *buf, size_t size)
{
	for (bool is_first = true; *text; is_first = false) {
		const char *value = NULL;
		size_t key_len = strlen(key), len = 0;
		if (!strncmp(text, key, key_len) && text[key_len] == '=')
			value = text + key_len + 1;
		else if (is_first && strcspn(text, "=") >= strcspn(text, ","))
			value = text;
		if (!value)
			value = text, key_len = SIZE_MAX;
		for (text = value; *text && (*text != ',' || text[1] == ','); text++) {
			if (*text == ',')
				text++;
			if (len < size - 1)
				buf[len++] = *text;
		}
		buf[len] = '\0';
		if (key_len != SIZE_MAX)
			return len > 0;
		if (*text == ',')
			text++;
	}
	*buf = '\0';
	return false;
}

enum value_form {
	AS_IS,
	QEMU_NAME,   /* "[guest=]NAME,..." */
	UUID_OPTION, /* "...,uuid=UUID,..." */
	SOCKET_PATH, /* "[path=]PATH": a name of last resort */
};

static const struct {
	const char *vmm; /* the executable's base name begins so */
	const char *option;
	enum value_form form;
	bool is_uuid;
} options[] = {
	{"firecracker", "id", AS_IS, false},
	{"cloud-hyp", "platform", UUID_OPTION, true},
	{"cloud-hyp", "api-socket", SOCKET_PATH, false},
	{"crosvm", "name", AS_IS, false},
	{"crosvm", "socket", SOCKET_PATH, false},
	{"crosvm", "s", SOCKET_PATH, false},
	{"lkvm", "name", AS_IS, false},
	{"lkvm", "n", AS_IS, false},
	/* QEMU goes by many names (kvm, qemu-kvm, qemu-system-*, wrappers): any other. */
	{"", "name", QEMU_NAME, false},
	{"", "uuid", AS_IS, true},
	{"", "id", AS_IS, false},
};

static void take_value(enum value_form form, const char *value, char *buf, size_t size)
{
	switch (form) {
	case AS_IS:
		snprintf(buf, size, "%s", value);
		break;
	case QEMU_NAME:
		suboption(value, "guest", buf, size);
		break;
	case UUID_OPTION:
		if (!suboption(value, "uuid", buf, size) || !strstr(value, "uuid="))
			*buf = '\0';
		break;
	case SOCKET_PATH:
		if (!*buf) /* --name is better */
			snprintf(buf, size, "%s",
				 base_name(strncmp(value, "path=", 5) ? value : value + 5));
		break;
	}
}

void vmop_vmm_parse_cmdline(const char *cmdline, size_t len_bytes, char name[VMOP_GUEST_NAME_BYTES],
			    char uuid[VMOP_UUID_BYTES])
{
	*name = *uuid = '\0';
	const char *end = cmdline + len_bytes;
	const char *vmm = base_name(cmdline);
	for (const char *at = cmdline; at < end; at += strlen(at) + 1) {
		if (*at != '-')
			continue;
		const char *option = at + 1 + (at[1] == '-');
		size_t option_len = strcspn(option, "=");
		const char *value =
			option[option_len] ? option + option_len + 1 : at + strlen(at) + 1;
		if (value >= end)
			return;
		for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
			if (strncmp(vmm, options[i].vmm, strlen(options[i].vmm)) != 0 ||
			    strlen(options[i].option) != option_len ||
			    strncmp(options[i].option, option, option_len) != 0)
				continue;
			if (options[i].is_uuid)
				take_value(options[i].form, value, uuid, VMOP_UUID_BYTES);
			else
				take_value(options[i].form, value, name, VMOP_GUEST_NAME_BYTES);
			break;
		}
	}
}
