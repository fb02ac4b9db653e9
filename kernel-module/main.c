// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmop.ko: Xen's samples (xenoprof) of dom0, of its passive domains, or of an active domU, each
 * with its task, for vmopd. This file implements the device /dev/vmop, whose interface is in
 * vmop/xen-device.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <xen/xen.h>

#include "session.h"

static DEFINE_MUTEX(session_lock);
static unsigned long is_open;

static int vmop_open(struct inode *inode, struct file *file)
{
	/*
	 * The samples cover everything: check the permission of perf_event_open(), besides the
	 * file's mode.
	 */
	if (!perfmon_capable())
		return -EPERM;
	if (test_and_set_bit_lock(0, &is_open))
		return -EBUSY;
	return nonseekable_open(inode, file);
}

static int vmop_release(struct inode *inode, struct file *file)
{
	mutex_lock(&session_lock);
	vmop_session_close();
	mutex_unlock(&session_lock);
	clear_bit_unlock(0, &is_open);
	return 0;
}

static long run_command(unsigned int command, void *arg)
{
	struct vmop_xendev_init *init = arg;
	struct vmop_xendev_prepare *prepare = arg;
	struct vmop_xendev_step_result *step = arg;

	/* All steps begin with the same fields. */
	if (step->abi != VMOP_XENDEV_ABI)
		return -EPROTONOSUPPORT;
	if (command == VMOP_XENDEV_STATS) {
		vmop_session_stats(arg);
		return 0;
	}
	step->failed_op = VMOP_XENDEV_STEP_NONE;
	switch (command) {
	case VMOP_XENDEV_INIT:
		return vmop_session_init(init);
	case VMOP_XENDEV_PREPARE:
		return vmop_session_prepare(prepare);
	case VMOP_XENDEV_START:
		return vmop_session_start(&step->failed_op);
	case VMOP_XENDEV_STOP:
		return vmop_session_stop(&step->failed_op);
	default:
		return vmop_session_release(&step->failed_op);
	}
}

static bool is_known(unsigned int command)
{
	switch (command) {
	case VMOP_XENDEV_INIT:
	case VMOP_XENDEV_PREPARE:
	case VMOP_XENDEV_START:
	case VMOP_XENDEV_STOP:
	case VMOP_XENDEV_RELEASE:
	case VMOP_XENDEV_STATS:
		return true;
	}
	return false;
}

static long vmop_ioctl(struct file *file, unsigned int command, unsigned long user)
{
	void *arg;
	long ret;

	/* The command encodes the size of its argument. */
	if (!is_known(command))
		return -ENOTTY;
	arg = memdup_user((void __user *)user, _IOC_SIZE(command));
	if (IS_ERR(arg))
		return PTR_ERR(arg);
	/* Do not touch user memory under the lock: mmap() takes the locks in the other order. */
	mutex_lock(&session_lock);
	ret = run_command(command, arg);
	mutex_unlock(&session_lock);
	/* Copy the result also after a failure: it names the failed step. */
	if (copy_to_user((void __user *)user, arg, _IOC_SIZE(command)) && !ret)
		ret = -EFAULT;
	kfree(arg);
	return ret;
}

static int vmop_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct vmop_rings *rings = vmop_session_rings();

	return rings ? vmop_rings_mmap(rings, vma) : -ENODATA;
}

static __poll_t vmop_poll(struct file *file, poll_table *table)
{
	struct vmop_rings *rings = vmop_session_rings();

	return rings ? vmop_rings_poll(rings, file, table) : 0;
}

static const struct file_operations vmop_operations = {
	.owner = THIS_MODULE,
	.open = vmop_open,
	.release = vmop_release,
	.unlocked_ioctl = vmop_ioctl,
	.mmap = vmop_mmap,
	.poll = vmop_poll,
};

static struct miscdevice vmop_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = VMOP_XENDEV_NAME,
	.fops = &vmop_operations,
	.mode = 0600,
};

static int __init vmop_init(void)
{
	int ret;

	/* Xen offers the hypercall only to PV domains. */
	if (!xen_pv_domain()) {
		pr_info("this kernel does not run as a PV domain of Xen\n");
		return -ENODEV;
	}
	vmop_session_module_init();
	ret = misc_register(&vmop_device);
	if (ret)
		vmop_session_module_exit();
	return ret;
}

static void __exit vmop_exit(void)
{
	misc_deregister(&vmop_device);
	vmop_session_module_exit();
}

module_init(vmop_init);
module_exit(vmop_exit);
MODULE_DESCRIPTION("Xen's profiling samples (xenoprof) with their tasks, for vmopd");
MODULE_LICENSE("GPL");
