// SPDX-License-Identifier: GPL-2.0-or-later
/* Access to errors for the library's users: the codes of libutil/error.h are not part of the ABI.
 */
#include "config.h"

#include "libutil/error.h"
#include "libvmop/vmop.h"

const char *vmop_version(void)
{
	return PACKAGE_VERSION;
}

const char *vmop_error_text(const struct vmop_error *error)
{
	return error ? error->message : "no error";
}

int vmop_error_number(const struct vmop_error *error)
{
	return error ? error->os_errno : 0;
}

int vmop_error_kind(const struct vmop_error *error)
{
	if (!error)
		return 0;
	switch (error->code) {
	case VMOP_ERROR_NO_MEMORY:
		return VMOP_KIND_NO_MEMORY;
	case VMOP_ERROR_USAGE:
		return VMOP_KIND_USAGE;
	case VMOP_ERROR_OS:
		return VMOP_KIND_SYSTEM_CALL;
	case VMOP_ERROR_LIMIT:
		return VMOP_KIND_LIMIT;
	default:
		return VMOP_KIND_IMPOSSIBLE;
	}
}
