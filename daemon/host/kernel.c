// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/kernel.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/host/kernel-cache.h"
#include "libsym/symtab.h"
#include "libutil/cleanup.h"
#include "libutil/dirs/run-dir.h"
#include "libutil/error.h"
#include "libutil/io.h"
#include "libutil/log.h"
#include "libutil/procfs.h"

/* The length of the last program of a list: kallsyms has no lengths. */
#define GENERATED_MAX_BYTES (64 * 1024)
#define MODULES_TEXT_MAX_BYTES (4u << 20)
/* Text of x86-64's vsyscall page: arch/x86/include/uapi/asm/vsyscall.h. */
#define VSYSCALL_START 0xffffffffff600000ull
#define VSYSCALL_BYTES 4096
#define KERNEL_NAME "[kernel]"

/* Symbols without samples of their own, from which readers learn the range of idle functions. */
static const char *const idle_limits[] = {"__cpuidle_text_start", "__cpuidle_text_end", NULL};

/* Read the build-id in a file of ELF notes in /sys. */
static void read_notes(const struct vmop_kernel *kernel, struct vmop_image *image,
		       const char *folder, const char *file)
{
	char notes[4096];
	struct vmop_build_id id;
	ssize_t n = vmop_procfs_read(kernel->root, notes, sizeof(notes), "%s/%s", folder, file);
	if (n > 0 && vmop_build_id_in_notes(notes, (size_t)n, &id))
		vmop_images_identified(kernel->images, image, &id);
}

/* Put text [start, end) of image into the map, and take over the reference. */
static void put_text(struct vmop_kernel *kernel, struct vmop_image *image, uint64_t start,
		     uint64_t end)
{
	struct vmop_text_piece piece = {.start = start, .end = end, .image = image};
	vmop_text_map_put(&kernel->text, kernel->images, &piece);
}

/* Lines of /proc/modules: NAME SIZE REFERENCES DEPENDENTS STATE ADDRESS. */
static void read_modules(struct vmop_kernel *kernel, char *text)
{
	char *rest = text, *line;
	while ((line = strsep(&rest, "\n"))) {
		char name[64], bracketed[sizeof(name) + 2], folder[128];
		uint64_t size, base, end;
		if (sscanf(line, "%63s %" SCNu64 " %*s %*s %*s 0x%" SCNx64, name, &size, &base) !=
			    3 ||
		    !base || __builtin_add_overflow(base, size, &end))
			continue;
		snprintf(bracketed, sizeof(bracketed), "[%s]", name);
		const struct vmop_image *there = vmop_text_map_find(&kernel->text, base);
		if (there && there->base == base && !strcmp(there->name, bracketed))
			continue;
		struct vmop_image *image =
			vmop_images_named(kernel->images, VMOP_DOMAIN_ID_HOST, VMOP_IMAGE_MODULE,
					  bracketed, base, size);
		snprintf(folder, sizeof(folder), "/sys/module/%s", name);
		read_notes(kernel, image, folder, "notes/.note.gnu.build-id");
		/*
		 * The size counts all parts of the module, which are apart since Linux 6.4. So the
		 * range is cut where the next module begins.
		 */
		size_t next = vmop_text_map_first_after(&kernel->text, base);
		if (next < kernel->text.n && kernel->text.at[next].start < end)
			end = kernel->text.at[next].start;
		if (end > base)
			put_text(kernel, image, base, end);
		else
			vmop_image_unref(kernel->images, image);
	}
}

static void keep_symbols(struct vmop_image *image, const struct vmop_symbol *symbols, size_t n)
{
	if (image->symbols || image->is_stored)
		return;
	vmop_image_copy_symbols(image, symbols, n, image->base);
}

/* Return a reference to the image of the kernel with the text [text, end). */
static struct vmop_image *kernel_image(struct vmop_kernel *kernel, uint64_t text, uint64_t end)
{
	struct vmop_image *image =
		vmop_images_named(kernel->images, VMOP_DOMAIN_ID_HOST, VMOP_IMAGE_KERNEL,
				  KERNEL_NAME, text, end - text);
	if (!image->id.number)
		read_notes(kernel, image, "/sys/kernel", "notes");
	return image;
}

static void kernel_symbols(struct vmop_kernel *kernel, const struct vmop_symbol *symbols, size_t n)
{
	uint64_t text = 0, stext = 0, end = 0;
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(symbols[i].name, "_text"))
			text = symbols[i].offset;
		else if (!strcmp(symbols[i].name, "_stext"))
			stext = symbols[i].offset;
		else if (!strcmp(symbols[i].name, "_etext"))
			end = symbols[i].offset;
	}
	if (!text)
		text = stext;
	if (!end && n) /* _etext is no text symbol on some architectures */
		end = symbols[n - 1].offset + 1;
	size_t first = 0;
	while (first < n && symbols[first].offset < text)
		first++;
	if (!text || end <= text)
		return;
	struct vmop_image *image = kernel_image(kernel, text, end);
	keep_symbols(image, symbols + first, n - first);
	put_text(kernel, image, text, end);
}

static void module_symbols(struct vmop_kernel *kernel, const char *module,
			   const struct vmop_symbol *symbols, size_t n)
{
	char bracketed[128];
	snprintf(bracketed, sizeof(bracketed), "[%s]", module);
	for (size_t i = 0; i < n; i++) {
		struct vmop_image *image = vmop_text_map_find(&kernel->text, symbols[i].offset);
		if (!image || strcmp(image->name, bracketed) != 0)
			continue;
		/* Symbols are sorted: the text is one run. Init text, which is freed, is elsewhere.
		 */
		size_t last = i + 1;
		while (last < n && symbols[last].offset - image->base < image->len_bytes)
			last++;
		keep_symbols(image, symbols + i, last - i);
		return;
	}
}

/* Add an image for a program or trampoline, as for a ksymbol record. */
static void put_generated(struct vmop_kernel *kernel, bool is_bpf, const char *name, uint64_t start,
			  uint64_t len_bytes)
{
	uint64_t end;
	if (!len_bytes || __builtin_add_overflow(start, len_bytes, &end))
		return;
	char label[256];
	snprintf(label, sizeof(label), is_bpf ? "[bpf %s]" : "[%s]", name);
	const struct vmop_image *there = vmop_text_map_find(&kernel->text, start);
	if (there && there->base == start && !strcmp(there->name, label))
		return;
	struct vmop_image *image = vmop_images_new(kernel->images, VMOP_DOMAIN_ID_HOST,
						   is_bpf ? VMOP_IMAGE_BPF : VMOP_IMAGE_TRAMPOLINE,
						   label, start, len_bytes);
	struct vmop_symbol symbol = {
		.offset = start, .len_bytes = len_bytes, .name = name, .type = 't'};
	if (image->base == start)
		keep_symbols(image, &symbol, 1);
	put_text(kernel, image, start, end);
}

static struct vmop_error *take_symbols(void *arg, const char *module,
				       const struct vmop_symbol *symbols, size_t n)
{
	struct vmop_kernel *kernel = arg;
	if (!*module) {
		kernel_symbols(kernel, symbols, n);
		return NULL;
	}
	bool is_bpf = !strcmp(module, "bpf");
	if (!is_bpf && strncmp(module, "__builtin__", strlen("__builtin__")) != 0) {
		module_symbols(kernel, module, symbols, n);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t len =
			i + 1 < n ? symbols[i + 1].offset - symbols[i].offset : GENERATED_MAX_BYTES;
		if (len > GENERATED_MAX_BYTES)
			len = GENERATED_MAX_BYTES;
		put_generated(kernel, is_bpf, symbols[i].name, symbols[i].offset, len);
	}
	return NULL;
}

static uint64_t text_hash(const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return hash;
}

/*
 * Read /proc/modules into *ret, NULL on failure. Return a hash of the names and addresses of the
 * modules. Reference counts change all the time and are ignored.
 */
static uint64_t hash_modules(const struct vmop_kernel *kernel, char **ret)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/proc/modules", kernel->root);
	size_t len;
	struct vmop_error *err = vmop_io_read_file(path, MODULES_TEXT_MAX_BYTES, ret, &len);
	if (err) { /* a kernel without modules has no such file */
		vmop_error_destroy(err);
		*ret = NULL;
		return 0;
	}
	uint64_t hash = 0;
	for (const char *line = *ret; *line;) {
		size_t line_len = strcspn(line, "\n");
		const char *address = memmem(line, line_len, " 0x", 3);
		hash += text_hash(line, strcspn(line, " \n"));
		if (address)
			hash += 3 * text_hash(address, (size_t)(line + line_len - address));
		line += line_len + (line[line_len] == '\n');
	}
	return hash;
}

/* Read /proc/modules into *ret. Return true if the modules have changed since the last call. */
static bool modules_changed(struct vmop_kernel *kernel, char **ret)
{
	uint64_t hash = hash_modules(kernel, ret);
	bool changed = *ret && hash != kernel->modules_hash;
	if (changed)
		kernel->modules_hash = hash;
	return changed;
}

static struct vmop_error *read_symbols(struct vmop_kernel *kernel)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/proc/kallsyms", kernel->root);
	return vmop_kallsyms_read(path, take_symbols, kernel);
}

/* ---- symbols of an earlier session ------------------------------------------------- */

/* Give image a copy of the packed symbols. Without memory, it has none. */
static void keep_packed(struct vmop_image *image, const struct vmop_kernel_cache_image *cached)
{
	void *packed = malloc(cached->packed_bytes);
	if (!packed)
		return;
	memcpy(packed, cached->packed, cached->packed_bytes);
	vmop_image_take_packed(image, &packed, cached->packed_bytes);
}

/* Take one image from the cache. Modules are known already. */
static void take_cached(struct vmop_kernel *kernel, const struct vmop_kernel_cache_image *cached)
{
	uint64_t start = cached->base, end;
	if (strcmp(cached->name, KERNEL_NAME) != 0) {
		struct vmop_image *module = vmop_text_map_find(&kernel->text, start);
		if (module && module->base == start && !strcmp(module->name, cached->name))
			keep_packed(module, cached);
		return;
	}
	if (__builtin_add_overflow(start, cached->len_bytes, &end))
		return;
	struct vmop_image *image = kernel_image(kernel, start, end);
	keep_packed(image, cached);
	put_text(kernel, image, start, end);
}

/* Return false if the cache has no kernel. */
static bool read_cache(struct vmop_kernel *kernel, int dir_fd,
		       const struct vmop_kernel_cache_key *key)
{
	_cleanup_(vmop_kernel_cache_deinit) struct vmop_kernel_cache cache;
	struct vmop_kernel_cache_image image;
	if (!vmop_kernel_cache_load(dir_fd, key, &cache))
		return false;
	bool has_kernel = false;
	while (vmop_kernel_cache_next(&cache, &image)) {
		take_cached(kernel, &image);
		has_kernel = has_kernel || !strcmp(image.name, KERNEL_NAME);
	}
	kernel->lacks_generated = has_kernel;
	return has_kernel;
}

/* Pack the symbols of an image, once for this session and the cache. Return false if it has none.
 */
static bool pack(struct vmop_image *image)
{
	void *packed;
	size_t packed_bytes;
	if (!image->symbols ||
	    (image->kind != VMOP_IMAGE_KERNEL && image->kind != VMOP_IMAGE_MODULE))
		return false;
	struct vmop_error *err = vmop_db_pack_symbols(image->symbols, image->n_symbols, idle_limits,
						      &packed, &packed_bytes);
	if (err) {
		vmop_error_destroy(err); /* it is reported when the image is stored */
		return false;
	}
	vmop_image_take_packed(image, &packed, packed_bytes);
	return true;
}

/* Pack the symbols of all images, so that a session stores only those with samples. */
static void pack_all(struct vmop_kernel *kernel)
{
	for (size_t i = 0; i < kernel->text.n; i++)
		if (!kernel->text.at[i].image->packed)
			pack(kernel->text.at[i].image);
}

/* Write the cache, with the key from before the symbols were read. */
static struct vmop_error *write_cache(struct vmop_kernel *kernel, int dir_fd,
				      const struct vmop_kernel_cache_key *key)
{
	_cleanup_free_ char *modules = NULL;
	_cleanup_free_ struct vmop_kernel_cache_image *images =
		calloc(kernel->text.n + 1, sizeof(*images));
	if (!images)
		return &vmop_error_no_memory;
	/* A module that came or went meanwhile would be in the text of /proc/kallsyms or not. */
	if (hash_modules(kernel, &modules) != kernel->modules_hash)
		return NULL;
	size_t n = 0;
	for (size_t i = 0; i < kernel->text.n; i++) {
		struct vmop_image *image = kernel->text.at[i].image;
		if (!image->packed && !pack(image))
			continue;
		images[n++] = (struct vmop_kernel_cache_image){
			.name = image->name,
			.base = image->base,
			.len_bytes = image->len_bytes,
			.packed = image->packed,
			.packed_bytes = image->packed_bytes,
		};
	}
	return vmop_kernel_cache_save(dir_fd, key, images, n);
}

/* Find the kernel and the symbols, in the cache or in /proc/kallsyms. */
static struct vmop_error *find_symbols(struct vmop_kernel *kernel)
{
	struct vmop_kernel_cache_key key;
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir = VMOP_DIR_NONE;
	vmop_error_destroy(vmop_run_dir_open(&dir));
	bool can_cache =
		dir.fd >= 0 && vmop_kernel_cache_key(kernel->root, kernel->modules_hash, &key);
	if (can_cache && read_cache(kernel, dir.fd, &key))
		return NULL;
	struct vmop_error *err = read_symbols(kernel);
	if (!err && can_cache && kernel->text.n)
		vmop_log_and_destroy(VMOP_LOG_INFO, write_cache(kernel, dir.fd, &key));
	else if (!err)
		pack_all(kernel);
	return err;
}

static const struct vmop_symbol *symbol_named(const struct vmop_symbol *symbols, size_t n,
					      const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(symbols[i].name, name))
			return &symbols[i];
	return NULL;
}

/* Whether some well-known functions have the same distance from _text in both symbol tables. */
static bool is_same_kernel(const struct vmop_image *image, const struct vmop_symbol *symbols,
			   size_t n, uint64_t link_base)
{
	static const char *const landmarks[] = {"_etext", "schedule", "vfs_read", "do_exit"};
	for (size_t i = 0; i < sizeof(landmarks) / sizeof(landmarks[0]); i++) {
		const struct vmop_symbol *here =
			symbol_named(image->symbols, image->n_symbols, landmarks[i]);
		const struct vmop_symbol *there = symbol_named(symbols, n, landmarks[i]);
		if (here && there && here->offset != there->offset - link_base)
			return false;
	}
	return true;
}

/* Give the running kernel's image the symbols of a file, whose addresses are those of the linker.
 */
static struct vmop_error *take_from_file(struct vmop_image *image, const struct vmop_symtab *symtab,
					 const char *path)
{
	size_t n, first = 0, last;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	const struct vmop_symbol *text = symbol_named(symbols, n, "_text");
	if (!text)
		text = symbol_named(symbols, n, "_stext");
	if (!text)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "vmlinux %s: no kernel image: it has no symbol _text", path);
	uint64_t link_base = text->offset;
	if (!is_same_kernel(image, symbols, n, link_base))
		return vmop_error_new(VMOP_ERROR_USAGE, "vmlinux %s: not of the kernel that runs",
				      path);
	while (first < n && symbols[first].offset < link_base)
		first++;
	for (last = first; last < n && symbols[last].offset - link_base < image->len_bytes;)
		last++;
	bool is_copied = vmop_image_copy_symbols(image, symbols + first, last - first, link_base);
	return is_copied ? NULL : &vmop_error_no_memory;
}

struct vmop_error *vmop_kernel_use_vmlinux(struct vmop_kernel *kernel, const char *path)
{
	struct vmop_image *image = NULL;
	struct vmop_symtab *symtab = NULL;
	for (size_t i = 0; i < kernel->text.n && !image; i++)
		if (kernel->text.at[i].image->kind == VMOP_IMAGE_KERNEL)
			image = kernel->text.at[i].image;
	if (!image) /* the kernel's address is not known, and a warning was logged */
		return NULL;
	/* Packed symbols can't be compared with those of the file. */
	if (!image->symbols)
		vmop_log_and_destroy(VMOP_LOG_INFO, read_symbols(kernel));
	struct vmop_error *err = vmop_symtab_read_kernel_image(path, &symtab);
	if (err && err != &vmop_error_no_memory)
		err->code = VMOP_ERROR_USAGE;
	if (!err)
		err = take_from_file(image, symtab, path);
	if (!err)
		pack(image);
	vmop_symtab_destroy(symtab);
	if (!err)
		kernel->symbols_from = path;
	return err;
}

/*
 * Describe why the kernel's addresses are hidden, and a remedy (kallsyms_show_value in
 * kernel/ksyms_common.c; Linux before 6.6: kernel/kallsyms.c).
 */
static void explain_hidden(struct vmop_kernel *kernel)
{
	char level[16] = "";
	const char *reason;
	ssize_t n = vmop_procfs_read(kernel->root, level, sizeof(level),
				     "/proc/sys/kernel/kptr_restrict");
	if (n > 0 && level[0] == '2')
		reason = "sysctl kernel.kptr_restrict is 2, which hides addresses from all users: "
			 "set "
			 "it to 1";
	else
		reason = "/proc/kallsyms shows no addresses: run vmopd as root outside of "
			 "containers, "
			 "or with CAP_SYSLOG";
	snprintf(kernel->hidden_reason, sizeof(kernel->hidden_reason),
		 "none: %s, and start a new session", reason);
	kernel->symbols_from = kernel->hidden_reason;
}

struct vmop_error *vmop_kernel_init(struct vmop_kernel *kernel, const char *root,
				    struct vmop_images *images)
{
	*kernel = (struct vmop_kernel){.root = root, .images = images};
	kernel->vsyscall = vmop_images_named(images, VMOP_DOMAIN_ID_HOST, VMOP_IMAGE_VDSO,
					     "[vsyscall]", VSYSCALL_START, VSYSCALL_BYTES);
	kernel->symbols_from = "the replayed records";
	if (!root)
		return NULL;
	_cleanup_free_ char *modules = NULL;
	if (modules_changed(kernel, &modules))
		read_modules(kernel, modules);
	kernel->symbols_from = "/proc/kallsyms";
	struct vmop_error *err = find_symbols(kernel);
	if (err == &vmop_error_no_memory)
		return err;
	if (err || !kernel->text.n) {
		vmop_log_info("%s", err ? err->message : "/proc/kallsyms has no _text");
		vmop_error_destroy(err);
		explain_hidden(kernel);
		vmop_log_warning("the host kernel's functions stay addresses; its symbols: %s",
				 kernel->symbols_from);
		kernel->whole = vmop_images_named(images, VMOP_DOMAIN_ID_HOST, VMOP_IMAGE_KERNEL,
						  KERNEL_NAME, 0, 0);
	}
	return NULL;
}

void vmop_kernel_deinit(struct vmop_kernel *kernel)
{
	if (!kernel->images)
		return;
	vmop_text_map_deinit(&kernel->text, kernel->images);
	vmop_image_unref(kernel->images, kernel->whole);
	vmop_image_unref(kernel->images, kernel->vsyscall);
}

void vmop_kernel_ksymbol(struct vmop_kernel *kernel, const struct vmop_ksymbol_record *ksymbol)
{
	uint64_t end;
	if (__builtin_add_overflow(ksymbol->start, (uint64_t)ksymbol->len_bytes, &end))
		return;
	if (ksymbol->is_unregistered)
		vmop_text_map_remove(&kernel->text, kernel->images, ksymbol->start, end);
	else
		put_generated(kernel, ksymbol->is_bpf, ksymbol->name ? ksymbol->name : "",
			      ksymbol->start, ksymbol->len_bytes);
}

void vmop_kernel_mmap(struct vmop_kernel *kernel, const struct vmop_mmap_record *mmap)
{
	uint64_t end;
	if (!mmap->len_bytes || __builtin_add_overflow(mmap->start, mmap->len_bytes, &end))
		return;
	const char *path = mmap->path ? mmap->path : "";
	bool is_kernel = !strncmp(path, "[kernel", strlen("[kernel"));
	struct vmop_image *image =
		vmop_images_named(kernel->images, VMOP_DOMAIN_ID_HOST,
				  is_kernel ? VMOP_IMAGE_KERNEL : VMOP_IMAGE_MODULE,
				  is_kernel ? KERNEL_NAME : path, mmap->start, mmap->len_bytes);
	struct vmop_build_id id = {.len_bytes = mmap->build_id_len_bytes};
	if (id.len_bytes && id.len_bytes <= sizeof(id.bytes)) {
		memcpy(id.bytes, mmap->build_id, id.len_bytes);
		vmop_images_identified(kernel->images, image, &id);
	}
	put_text(kernel, image, mmap->start, end);
}

bool vmop_kernel_refresh(struct vmop_kernel *kernel)
{
	_cleanup_free_ char *modules = NULL;
	if (!kernel->root || kernel->whole)
		return false;
	bool has_new_modules = modules_changed(kernel, &modules);
	if (!has_new_modules && !kernel->lacks_generated)
		return false;
	kernel->lacks_generated = false;
	if (has_new_modules)
		read_modules(kernel, modules);
	/* New modules replace the pieces of unloaded ones in the same memory. */
	vmop_log_and_destroy(VMOP_LOG_WARNING, read_symbols(kernel));
	return true;
}
