// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/demangle.h"

#include <stddef.h>

#include "config.h"

#ifdef HAVE_IBERTY

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"

/* libiberty rejects C++ names beyond 1 KiB. Rust names can be longer. */
#define MAX_MANGLED_BYTES 4096
#define MAX_OUTPUT_BYTES 65536
#define MAX_PIECES 262144 /* calls of append(); some add nothing */

struct output {
	char *text;
	size_t len_bytes, capacity, pieces;
	bool no_memory;
	bool rust; /* a Rust name, whose suffix libiberty's printer has handled */
	jmp_buf enough;
};

/*
 * A name of 200 bytes can expand to 2^60 (each substitution doubles the one before), and
 * libiberty's printer has no way to stop early: leave it by longjmp. That leaks nothing: its memory
 * is on the stack (in Rust's case except for one identifier).
 */
static void append(const char *text, size_t len_bytes, void *arg)
{
	struct output *output = arg;
	if (++output->pieces > MAX_PIECES || len_bytes >= MAX_OUTPUT_BYTES - output->len_bytes)
		longjmp(output->enough, 1);
	if (len_bytes == 0)
		return; /* text may be NULL */
	if (!vmop_array_reserve(output->text, output->capacity,
				output->len_bytes + len_bytes + 1)) {
		output->no_memory = true;
		longjmp(output->enough, 1);
	}
	memcpy(output->text + output->len_bytes, text, len_bytes);
	output->len_bytes += len_bytes;
	output->text[output->len_bytes] = '\0';
}

static bool print(const char *mangled, int options, struct output *output)
{
	if (setjmp(output->enough))
		return false;
	/* Try Rust first, like c++filt: legacy Rust names are valid C++ names. */
	output->rust = rust_demangle_callback(mangled, options, append, output);
	if (output->rust)
		return true;
	output->len_bytes = 0;
	return mangled[0] == '_' && mangled[1] == 'Z' &&
	       cplus_demangle_v3_callback(mangled, options, append, output);
}

/* Append a clone's suffix as " [clone ...]". libiberty does this only if it prints parameters. */
static bool append_clone(const char *mangled, struct output *output)
{
	const char *clone = strchr(mangled, '.');
	if (!clone || output->rust)
		return true;
	if (setjmp(output->enough))
		return false;
	append(" [clone ", 8, output);
	append(clone, strlen(clone), output);
	append("]", 1, output);
	return true;
}

/* Append "@plt" or a version, which is not part of the mangled name. */
static bool append_mark(const char *mark, struct output *output)
{
	if (setjmp(output->enough))
		return false;
	append(mark, strlen(mark), output);
	return true;
}

static bool is_of_mangled(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '$';
}

/* Return whether name is mangled. libiberty ignores any suffix if it prints no parameters. */
static bool is_mangled(const char *name)
{
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return false;
	while (is_of_mangled(*name))
		name++;
	return *name == '\0';
}

bool vmop_demangle_name(const char *name, bool with_parameters, size_t *work_left, char **ret)
{
	int options = DMGL_ANSI | (with_parameters ? DMGL_PARAMS : 0);
	struct output output = {0};
	char mangled[MAX_MANGLED_BYTES];

	*ret = NULL;
	size_t len = strcspn(name, "@");
	if (name[0] != '_' || len >= sizeof(mangled) || *work_left == 0)
		return true;
	memcpy(mangled, name, len);
	mangled[len] = '\0';
	if (!is_mangled(mangled))
		return true;
	bool done = print(mangled, options, &output) && output.len_bytes > 0;
	if (done && !with_parameters)
		done = append_clone(mangled, &output);
	size_t work = output.pieces + output.len_bytes;
	*work_left -= work < *work_left ? work : *work_left;
	if (done)
		done = append_mark(name + len, &output);
	if (done)
		*ret = output.text;
	else
		free(output.text);
	return !output.no_memory;
}

#else

bool vmop_demangle_name(const char *mangled, bool with_parameters, size_t *work_left, char **ret)
{
	(void)work_left;
	(void)mangled;
	(void)with_parameters;
	*ret = NULL;
	return true;
}

#endif
