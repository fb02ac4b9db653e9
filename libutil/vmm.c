// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/vmm.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

bool vmop_vmm_is_likely(const char *comm)
{
	/* Prefixes: names are cut to 15 bytes, and QEMU's contains the name of the machine. */
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
 * Find the value of `key` in "a,key=value,b=...", in which a doubled comma stands for one (QEMU's
 * util/keyval.c).  may_be_first: the first part may lack the key.
 */
static bool suboption(const char *text, const char *key, bool may_be_first, char *buf, size_t size)
{
	for (bool is_first = true; *text; is_first = false) {
		const char *value = NULL;
		size_t key_len = strlen(key), len = 0;
		if (!strncmp(text, key, key_len) && text[key_len] == '=')
			value = text + key_len + 1;
		else if (may_be_first && is_first && strcspn(text, "=") >= strcspn(text, ","))
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
	SOCKET_PATH, /* "[path=]PATH": its base name, if no option sets the name */
};

static const struct {
	const char *vmm; /* a prefix of the executable's base name */
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
	/* QEMU has many names (kvm, qemu-kvm, qemu-system-*, wrappers): any other name is QEMU. */
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
		suboption(value, "guest", true, buf, size);
		break;
	case UUID_OPTION:
		suboption(value, "uuid", false, buf, size);
		break;
	case SOCKET_PATH:
		if (!*buf) /* --name precedes it */
			snprintf(buf, size, "%s",
				 base_name(strncmp(value, "path=", 5) ? value : value + 5));
		break;
	}
}

/* One option of a command line; its value is "" if none follows. */
struct option {
	const char *name;
	size_t name_len;
	const char *value;
};

/* Parse the next option from *at on, "-name value" or "--name=value"; false: no more. */
static bool next_option(const char **at, const char *end, struct option *ret)
{
	while (*at < end && **at != '-')
		*at += strlen(*at) + 1;
	if (*at >= end)
		return false;
	const char *word = *at;
	*at += strlen(word) + 1;
	ret->name = word + 1 + (word[1] == '-');
	ret->name_len = strcspn(ret->name, "=");
	ret->value = *at < end ? *at : "";
	if (ret->name[ret->name_len])
		ret->value = ret->name + ret->name_len + 1;
	return true;
}

static bool is_named(const struct option *option, const char *name)
{
	return strlen(name) == option->name_len && !strncmp(name, option->name, option->name_len);
}

void vmop_vmm_parse_cmdline(const char *cmdline, size_t len_bytes, char name[VMOP_GUEST_NAME_BYTES],
			    char uuid[VMOP_UUID_BYTES])
{
	*name = *uuid = '\0';
	const char *at = cmdline, *vmm = base_name(cmdline);
	struct option option;
	while (next_option(&at, cmdline + len_bytes, &option)) {
		for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
			if (strncmp(vmm, options[i].vmm, strlen(options[i].vmm)) != 0 ||
			    !is_named(&option, options[i].option))
				continue;
			if (options[i].is_uuid)
				take_value(options[i].form, option.value, uuid, VMOP_UUID_BYTES);
			else
				take_value(options[i].form, option.value, name,
					   VMOP_GUEST_NAME_BYTES);
			break;
		}
	}
}

/* Return whether a character device listens, by "server" or "server=on"; else it connects. */
static bool is_server(const char *value)
{
	const char *at = strstr(value, ",server");
	return at && (at[7] == '\0' || at[7] == ',' || !strncmp(at + 7, "=on", 3));
}

/* Parse the id of the character device of a control monitor; false: option is another one. */
static bool take_monitor(const struct option *option, char *id, size_t size)
{
	char mode[16];
	return is_named(option, "mon") &&
	       suboption(option->value, "mode", false, mode, sizeof(mode)) &&
	       !strcmp(mode, "control") && suboption(option->value, "chardev", true, id, size);
}

bool vmop_vmm_qmp_socket(const char *cmdline, size_t len_bytes, char *ret, size_t size)
{
	char monitor[64] = "", id[64];
	const char *at = cmdline, *end = cmdline + len_bytes;
	struct option option;
	while (next_option(&at, end, &option)) {
		bool is_short = is_named(&option, "qmp") || is_named(&option, "qmp-pretty");
		if (is_short && !strncmp(option.value, "unix:", 5) && is_server(option.value))
			return suboption(option.value + 5, "path", true, ret, size);
		if (take_monitor(&option, id, sizeof(id)))
			memcpy(monitor, id, sizeof(id));
	}
	for (at = cmdline; *monitor && next_option(&at, end, &option);)
		if (is_named(&option, "chardev") && !strncmp(option.value, "socket,", 7) &&
		    is_server(option.value) &&
		    suboption(option.value, "id", false, id, sizeof(id)) && !strcmp(id, monitor))
			return suboption(option.value, "path", false, ret, size);
	return false;
}

/* Return whether a value of QEMU's -netdev has the type vhost-user; libvirt writes it as JSON. */
static bool is_vhost_user_netdev(const char *value)
{
	char type[16];
	if (*value != '{')
		return suboption(value, "type", true, type, sizeof(type)) &&
		       !strcmp(type, "vhost-user");
	json_t *json = json_loads(value, 0, NULL);
	const char *text = json_string_value(json_object_get(json, "type"));
	bool ret = text && !strcmp(text, "vhost-user");
	json_decref(json);
	return ret;
}

static bool is_vhost_user_net(const char *value)
{
	char text[8];
	return suboption(value, "vhost_user", false, text, sizeof(text)) && !strcmp(text, "true");
}

unsigned vmop_vmm_vhost_user_networks(const char *cmdline, size_t len_bytes)
{
	unsigned n = 0;
	const char *at = cmdline, *end = cmdline + len_bytes;
	bool is_cloud_hypervisor = !strncmp(base_name(cmdline), "cloud-hyp", 9);
	struct option option;
	while (next_option(&at, end, &option)) {
		if (!is_cloud_hypervisor) {
			n += is_named(&option, "netdev") && is_vhost_user_netdev(option.value);
			continue;
		}
		if (!is_named(&option, "net"))
			continue;
		/* One option can have the values of several cards. */
		if (option.value != at)
			n += is_vhost_user_net(option.value);
		for (; at < end && *at != '-'; at += strlen(at) + 1)
			n += is_vhost_user_net(at);
	}
	return n;
}
