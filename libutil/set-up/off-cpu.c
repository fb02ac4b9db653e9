// SPDX-License-Identifier: GPL-2.0-or-later
/* The set-up's keys of blocked threads in guests. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libutil/cleanup.h"
#include "libutil/parse.h"
#include "libutil/setup-key.h"

static const struct {
	const char *word;
	unsigned state;
} states[] = {
	{"D", VMOP_OFF_CPU_UNINTERRUPTIBLE}, {"S", VMOP_OFF_CPU_SLEEPING},
	{"K", VMOP_OFF_CPU_KERNEL_SLEEPING}, {"I", VMOP_OFF_CPU_IDLE},
	{"T", VMOP_OFF_CPU_STOPPED},	     {"R", VMOP_OFF_CPU_READY},
};
#define N_STATES (sizeof(states) / sizeof(states[0]))

struct vmop_error *vmop_setup_set_off_cpu(struct vmop_setup *setup, const char *key,
					  const char *value)
{
	uint64_t hz = 0;
	size_t digits = strspn(value, "0123456789");
	_cleanup_free_ char *number = strndup(value, digits);
	if (!number)
		return &vmop_error_no_memory;
	bool is_good = strcmp(value, "off") == 0 ||
		       (vmop_parse_u64(number, 10, &hz) && hz <= VMOP_OFF_CPU_MAX_HZ &&
			(!value[digits] || strcmp(value + digits, "Hz") == 0));
	if (!is_good)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is neither 'off' nor a rate between 1 and %uHz",
				      key, value, VMOP_OFF_CPU_MAX_HZ);
	setup->off_cpu.hz = (unsigned)hz;
	return NULL;
}

struct vmop_error *vmop_setup_set_off_cpu_states(struct vmop_setup *setup, const char *key,
						 const char *value)
{
	unsigned found = 0;
	_cleanup_free_ char *copy = strdup(value);
	if (!copy)
		return &vmop_error_no_memory;
	char *save = NULL;
	char *word = strtok_r(copy, ", \t", &save);
	bool is_good = word != NULL;
	for (; word && is_good; word = strtok_r(NULL, ", \t", &save)) {
		size_t i = 0;
		while (i < N_STATES && strcasecmp(word, states[i].word) != 0)
			i++;
		is_good = i < N_STATES;
		if (is_good)
			found |= states[i].state;
	}
	if (!is_good)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is not a list of D, S (asleep), K (kernel threads "
				      "asleep), I (idle kernel threads), T (stopped), R (ready)",
				      key, value);
	setup->off_cpu.states = found;
	return NULL;
}

void vmop_setup_put_off_cpu(FILE *out, const char *key, const struct vmop_setup *setup)
{
	if (setup->off_cpu.hz)
		fprintf(out, "%s = %uHz\n", key, setup->off_cpu.hz);
}

void vmop_setup_put_off_cpu_states(FILE *out, const char *key, const struct vmop_setup *setup)
{
	const char *separator = "";
	if (setup->off_cpu.states == VMOP_OFF_CPU_DEFAULT_STATES)
		return;
	fprintf(out, "%s = ", key);
	for (size_t i = 0; i < N_STATES; i++) {
		if (!(setup->off_cpu.states & states[i].state))
			continue;
		fprintf(out, "%s%s", separator, states[i].word);
		separator = ",";
	}
	fputc('\n', out);
}
