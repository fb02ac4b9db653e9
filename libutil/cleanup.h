// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ownership helpers: declarations that free their value at the end of the scope.
 * 	_cleanup_(vmop_error_cleanup) struct vmop_error *err = NULL;
 * 	_cleanup_free_ char *path = NULL;
 * 	...
 * 	*ret = vmop_steal(&path);	(the caller owns it now)
 */
#ifndef VMOP_LIBUTIL_CLEANUP_H
#define VMOP_LIBUTIL_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

static inline void vmop_cleanup_free(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

/* For file descriptors; -1 means none. */
static inline void vmop_cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void vmop_cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void vmop_cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#define _cleanup_free_ _cleanup_(vmop_cleanup_free)
#define _cleanup_close_ _cleanup_(vmop_cleanup_close)
#define _cleanup_fclose_ _cleanup_(vmop_cleanup_fclose)
#define _cleanup_closedir_ _cleanup_(vmop_cleanup_closedir)

/* Return the pointer and set it to NULL: ownership moves to the caller. */
#define vmop_steal(pointer_to_pointer)                                                             \
	({                                                                                         \
		__typeof__(*(pointer_to_pointer)) stolen_ = *(pointer_to_pointer);                 \
		*(pointer_to_pointer) = NULL;                                                      \
		stolen_;                                                                           \
	})

/* Return the descriptor and set it to -1: ownership moves to the caller. */
static inline int vmop_steal_fd(int *fd)
{
	int stolen = *fd;
	*fd = -1;
	return stolen;
}

#endif
