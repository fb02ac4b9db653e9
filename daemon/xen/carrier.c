// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/carrier.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "libutil/cleanup.h"

/*
 * The time that the agent's side leaves dom0 to unmap the pages, and the thread at the other end of
 * the pair to end: the kernel keeps pages that are still mapped until the next ones are granted.
 */
#define UNMAP_NS (100 * VMOP_NS_PER_MS)

struct vmop_carrier {
	struct vmop_worker worker;
	struct vmop_carrier_options options;
	bool is_over;		/* protected by the lock */
	struct vmop_error *err; /* likewise */
};

static void hang_up(struct vmop_carrier_options *options)
{
	if (options->fd >= 0)
		close(options->fd);
	options->fd = -1;
}

static void release(struct vmop_carrier_options *options)
{
	hang_up(options);
	if (!options->granted.memory)
		return;
	if (options->side == VMOP_WINDOW_AGENT)
		options->grants->unshare(&options->granted);
	else
		options->grants->unmap(&options->granted);
	options->granted.memory = NULL;
}

static struct vmop_error *carry(struct vmop_carrier *carrier)
{
	struct vmop_carrier_options *options = &carrier->options;
	struct vmop_error *err =
		options->side == VMOP_WINDOW_HOST
			? options->grants->map(options->domain, options->refs, &options->granted)
			: NULL;
	if (err)
		return err;
	struct vmop_window window;
	vmop_window_begin(&window, options->granted.memory, options->side, options->fd,
			  &carrier->worker);
	return vmop_window_carry(&window);
}

static void carrier_run(struct vmop_worker *worker)
{
	const struct timespec pause = {.tv_nsec = UNMAP_NS};
	struct vmop_carrier *carrier = (struct vmop_carrier *)worker;
	struct vmop_error *err = carry(carrier);
	hang_up(&carrier->options);
	if (carrier->options.side == VMOP_WINDOW_AGENT)
		nanosleep(&pause, NULL);
	release(&carrier->options);
	pthread_mutex_lock(&worker->lock);
	carrier->is_over = true;
	carrier->err = err;
	pthread_mutex_unlock(&worker->lock);
}

static void carrier_destroy(struct vmop_worker *worker)
{
	struct vmop_carrier *carrier = (struct vmop_carrier *)worker;
	release(&carrier->options);
	vmop_error_destroy(carrier->err);
	free(carrier);
}

static const struct vmop_worker_ops ops = {"vmop-window", carrier_run, carrier_destroy};

struct vmop_error *vmop_carrier_begin(const struct vmop_carrier_options *options,
				      struct vmop_carrier **ret)
{
	struct vmop_carrier_options owned = *options;
	struct vmop_carrier *carrier = calloc(1, sizeof(*carrier));
	if (!carrier) {
		release(&owned);
		return &vmop_error_no_memory;
	}
	carrier->options = owned;
	struct vmop_error *err = vmop_worker_begin(&carrier->worker, &ops);
	if (err)
		carrier_destroy(&carrier->worker);
	else
		*ret = carrier;
	return err;
}

void vmop_carrier_end(struct vmop_carrier *carrier)
{
	if (carrier)
		vmop_worker_end(&carrier->worker);
}

bool vmop_carrier_has_ended(struct vmop_carrier *carrier, struct vmop_error **ret_err)
{
	pthread_mutex_lock(&carrier->worker.lock);
	bool is_over = carrier->is_over;
	*ret_err = vmop_steal(&carrier->err);
	pthread_mutex_unlock(&carrier->worker.lock);
	return is_over;
}
