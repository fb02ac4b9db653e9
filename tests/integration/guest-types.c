// SPDX-License-Identifier: GPL-2.0-or-later
/* Types with the names of kernel types, for guest-profile.sh. */
#include <stddef.h>
#include <stdio.h>

struct list_head {
	struct list_head *next, *prev;
};
typedef struct {
	int counter;
} atomic_t;
struct maple_tree {
	unsigned int ma_flags;
	void *ma_root;
};
struct mm_struct {
	struct {
		atomic_t count;
		struct maple_tree mm_mt;
		void *pgd;
		int map_count;
	};
	unsigned long start_brk;
};
struct task_struct {
	long state;
	struct list_head tasks;
	struct mm_struct *mm;
	int pid, tgid;
	char comm[16];
};
struct file {
	union {
		const long f_path;
		long __f_path;
	};
};
struct dentry {
	struct {
		union {
			struct {
				unsigned int hash, len;
			};
			unsigned long hash_len;
		};
		const char *name;
	} d_name;
};
enum maple_type { maple_dense, maple_leaf_64, maple_range_64, maple_arange_64 };
struct page {
	unsigned long flags, index[7];
};

/* Offsets of one byte and of two, none of them signed. */
struct rq {
	char before[200];
	int cpu;
	char more[40000];
	void *curr;
};

struct task_struct task;
struct rq rq;
struct mm_struct mm;
struct file file;
struct dentry dentry;
struct page page;
enum maple_type maple;

/* Print the compiler's offsets. */
int main(void)
{
	printf("task_struct.tasks = %zu\n", offsetof(struct task_struct, tasks));
	printf("task_struct.pid = %zu\n", offsetof(struct task_struct, pid));
	printf("task_struct.comm = %zu\n", offsetof(struct task_struct, comm));
	printf("rq.cpu = %zu\n", offsetof(struct rq, cpu));
	printf("rq.curr = %zu\n", offsetof(struct rq, curr));
	printf("mm_struct.pgd = %zu\n", offsetof(struct mm_struct, pgd));
	printf("mm_struct.mm_mt.ma_root = %zu\n", offsetof(struct mm_struct, mm_mt.ma_root));
	printf("file.f_path = %zu\n", offsetof(struct file, f_path));
	printf("dentry.d_name.name = %zu\n", offsetof(struct dentry, d_name.name));
	printf("maple_type.maple_arange_64 = %d\n", maple_arange_64);
	printf("sizeof.page = %zu\n", sizeof(struct page));
	return (int)maple;
}
