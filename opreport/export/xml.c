// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * XML as OProfile's opreport -X prints it: binaries (or processes, their threads and modules) with
 * their symbols, then the table of symbols, then the addresses within these.  doc/vmopreport.xsd is
 * the schema: OProfile's version 3.0 with additions.  OProfile's has no domains and no weights.
 *
 * A class is an event, or an event on a CPU.  Counts have the name of their class.  Names are
 * escaped as everywhere (libutil/escape.h): XML has no form for control characters.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "libutil/markup.h"
#include "opreport/output/output.h"

#define NO_COLUMN SIZE_MAX
#define EVENTS_MAX 256

/* The columns of a sheet that the document has elements or attributes for. */
enum name {
	NAME_SESSION,
	NAME_DOMAIN,
	NAME_LIFE,
	NAME_TASK,
	NAME_PID,
	NAME_TID,
	NAME_CGROUP,
	NAME_MODE,
	NAME_CERTAINTY,
	NAME_VCPU,
	NAME_CPU,
	NAME_IMAGE,
	NAME_SYMBOL,
	NAME_ADDRESS,
	N_NAMES,
};

static const char *const names[N_NAMES] = {"session", "domain", "life",	  "task",      "pid",
					   "tid",     "cgroup", "mode",	  "certainty", "vcpu",
					   "cpu",     "image",	"symbol", "address"};

/* A row, with what it is sorted by. */
struct row {
	size_t number;
	uint32_t symbol; /* id in the table of symbols */
	const char *texts[N_NAMES];
	uint64_t numbers[N_NAMES]; /* pid, tid, cpu, vcpu: + 1, or 0 */
};

struct event {
	size_t samples, weight; /* columns; weight may be NO_COLUMN */
	const char *name, *unit;
	uint64_t period;
};

struct class_sum {
	uint64_t samples, weight_events;
};

struct document {
	const struct vmop_sheet *sheet;
	FILE *out;
	size_t columns[N_NAMES];
	const char *machine, *session;
	size_t n_events;
	struct event events[EVENTS_MAX];
	struct vmop_value *values;
	struct row *rows; /* n_rows, then sorted */
	uint64_t *cpus;	  /* n_cpus: ascending, + 1 */
	size_t n_cpus;
	struct class_sum *sums; /* by class; zeros between the calls of put_sums */
	uint32_t n_symbols;
	bool has_details;
	uint64_t n_details; /* of the symbols printed up to now */
	bool lacks_memory;
};

/* ---- text ---------------------------------------------------------------------------- */

/* Print the text as an attribute's value. */
static void put_text(struct document *document, const char *text)
{
	_cleanup_free_ char *escaped = vmop_escape(text, VMOP_CHARSET_UTF8);
	document->lacks_memory |= !escaped;
	vmop_markup_print(escaped ? escaped : "", document->out);
}

static void put_attribute(struct document *document, const char *name, const char *text)
{
	fprintf(document->out, " %s=\"", name);
	put_text(document, text);
	fputc('"', document->out);
}

static bool is_text(const struct vmop_fact *fact, const char *name)
{
	return fact->type == VMOP_VALUE_TEXT && !strcmp(fact->name, name) && fact->value.text;
}

/* Take a fact of an event. */
static void take_event_fact(struct document *document, const struct vmop_fact *fact)
{
	struct event *event = &document->events[fact->item];
	if (is_text(fact, "name"))
		event->name = fact->value.text;
	else if (is_text(fact, "unit"))
		event->unit = fact->value.text;
	else if (!strcmp(fact->name, "period"))
		event->period = fact->value.number;
}

/* Find the facts that the head needs. */
static void find_facts(struct document *document)
{
	document->machine = document->session = "";
	for (size_t i = 0; i < document->sheet->n_facts; i++) {
		const struct vmop_fact *fact = &document->sheet->facts[i];
		if (!fact->name)
			continue;
		if (!fact->list && is_text(fact, "machine"))
			document->machine = fact->value.text;
		else if (!fact->list || fact->item >= EVENTS_MAX)
			continue;
		else if (!strcmp(fact->list, "sessions") && !fact->item && is_text(fact, "name"))
			document->session = fact->value.text;
		else if (!strcmp(fact->list, "events"))
			take_event_fact(document, fact);
	}
}

/* ---- rows ---------------------------------------------------------------------------- */

static size_t find_column(const struct vmop_sheet *sheet, const char *name)
{
	for (size_t c = 0; c < sheet->n_columns; c++)
		if (!strcmp(sheet->columns[c].name, name))
			return c;
	return NO_COLUMN;
}

/* Find the columns of samples and weights: "samples", or "samples:EVENT" for each event. */
static void find_events(struct document *document)
{
	const struct vmop_sheet *sheet = document->sheet;
	for (size_t c = 0; c < sheet->n_columns && document->n_events < EVENTS_MAX; c++) {
		const char *name = sheet->columns[c].name;
		_cleanup_free_ char *weight = NULL;
		if (strncmp(name, "samples", 7) != 0 || (name[7] && name[7] != ':'))
			continue;
		if (asprintf(&weight, "weight%s", name + 7) < 0)
			weight = NULL;
		document->events[document->n_events++] =
			(struct event){.samples = c,
				       .weight = weight ? find_column(sheet, weight) : NO_COLUMN,
				       .name = "",
				       .unit = ""};
	}
}

static bool is_number(enum name name)
{
	return name == NAME_PID || name == NAME_TID || name == NAME_CPU || name == NAME_VCPU ||
	       name == NAME_ADDRESS;
}

static void read_row(struct document *document, size_t number, struct row *ret)
{
	struct vmop_value *values = document->values;
	*ret = (struct row){.number = number};
	vmop_sheet_values(document->sheet, number, VMOP_NO_DETAIL, values);
	for (enum name name = 0; name < N_NAMES; name++) {
		size_t column = document->columns[name];
		ret->texts[name] = "";
		if (column == NO_COLUMN || values[column].is_empty)
			continue;
		if (is_number(name))
			ret->numbers[name] = values[column].number + 1;
		else
			ret->texts[name] = values[column].text;
	}
}

/* Compare by the names of the list, in its order. */
static int compare_by(const struct row *x, const struct row *y, const enum name *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		enum name name = list[i];
		int order = is_number(name) ? (x->numbers[name] > y->numbers[name]) -
						      (x->numbers[name] < y->numbers[name])
					    : strcmp(x->texts[name], y->texts[name]);
		if (order)
			return order;
	}
	return 0;
}

#define COMPARE_BY(x, y, list) compare_by((x), (y), (list), sizeof(list) / sizeof(*(list)))

/* The same symbol, and the same place in the document. */
static const enum name symbol_names[] = {NAME_DOMAIN, NAME_IMAGE, NAME_SYMBOL, NAME_ADDRESS};
static const enum name process_names[] = {NAME_DOMAIN, NAME_PID, NAME_TASK};
static const enum name thread_names[] = {NAME_DOMAIN, NAME_PID, NAME_TASK, NAME_TID};
static const enum name binary_names[] = {NAME_DOMAIN, NAME_PID, NAME_TASK, NAME_TID, NAME_IMAGE};
static const enum name other_names[] = {NAME_SESSION, NAME_LIFE,      NAME_CGROUP,
					NAME_MODE,    NAME_CERTAINTY, NAME_VCPU};

static int compare_symbols(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = COMPARE_BY(x, y, symbol_names);
	return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* Rows of one symbol that differ only by their CPU are neighbours. */
static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = COMPARE_BY(x, y, binary_names);
	if (!order)
		order = (x->symbol > y->symbol) - (x->symbol < y->symbol);
	if (!order)
		order = COMPARE_BY(x, y, other_names);
	return order ? order : (x->number > y->number) - (x->number < y->number);
}

static struct vmop_error *read_rows(struct document *document)
{
	size_t n = document->sheet->n_rows;
	document->rows = calloc(n + 1, sizeof(*document->rows));
	if (!document->rows)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n; i++) {
		read_row(document, i, &document->rows[i]);
		document->has_details |= vmop_sheet_n_details(document->sheet, i) > 0;
	}
	qsort(document->rows, n, sizeof(*document->rows), compare_symbols);
	for (size_t i = 0; i < n; i++) {
		if (!i || COMPARE_BY(&document->rows[i - 1], &document->rows[i], symbol_names))
			document->n_symbols++;
		document->rows[i].symbol = document->n_symbols - 1;
	}
	return NULL;
}

static int compare_cpus(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Find the different CPUs of all rows. */
static struct vmop_error *find_cpus(struct document *document)
{
	size_t n = document->sheet->n_rows;
	document->cpus = calloc(n + 1, sizeof(*document->cpus));
	if (!document->cpus)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n; i++)
		document->cpus[i] = document->rows[i].numbers[NAME_CPU];
	qsort(document->cpus, n, sizeof(*document->cpus), compare_cpus);
	for (size_t i = 0; i < n; i++)
		if (!document->n_cpus || document->cpus[document->n_cpus - 1] != document->cpus[i])
			document->cpus[document->n_cpus++] = document->cpus[i];
	return NULL;
}

/* ---- classes and counts ----------------------------------------------------------------- */

/* Return whether counts have classes: there are several events, or CPUs. */
static bool has_classes(const struct document *document)
{
	return document->n_events > 1 || document->columns[NAME_CPU] != NO_COLUMN;
}

static void put_classes(struct document *document)
{
	FILE *out = document->out;
	if (!has_classes(document))
		return;
	fputs("<classes>\n", out);
	for (size_t cpu = 0; cpu < document->n_cpus; cpu++)
		for (size_t e = 0; e < document->n_events; e++) {
			fprintf(out, "<class name=\"c%zu\"", cpu * document->n_events + e);
			if (document->cpus[cpu])
				fprintf(out, " cpu=\"%" PRIu64 "\"", document->cpus[cpu] - 1);
			fprintf(out, " event=\"%zu\"/>\n", e);
		}
	fputs("</classes>\n", out);
}

static size_t class_of(const struct document *document, uint64_t cpu, size_t event)
{
	const uint64_t *found = bsearch(&cpu, document->cpus, document->n_cpus,
					sizeof(*document->cpus), compare_cpus);
	return (size_t)(found - document->cpus) * document->n_events + event;
}

static void put_count(struct document *document, uint64_t cpu, size_t event, uint64_t samples,
		      uint64_t weight_events)
{
	fputs("<count", document->out);
	if (has_classes(document))
		fprintf(document->out, " class=\"c%zu\"", class_of(document, cpu, event));
	fprintf(document->out, " weight=\"%" PRIu64 "\">%" PRIu64 "</count>", weight_events,
		samples);
}

/* Read the counts of a row or detail from document->values. */
static void read_counts(const struct document *document, size_t event, uint64_t *ret_samples,
			uint64_t *ret_weight)
{
	const struct vmop_value *samples = &document->values[document->events[event].samples];
	size_t weight = document->events[event].weight;
	*ret_samples = samples->is_empty ? 0 : samples->number;
	*ret_weight = weight == NO_COLUMN || document->values[weight].is_empty
			      ? 0
			      : document->values[weight].number;
}

static void put_counts_of(struct document *document, const struct row *row, size_t detail)
{
	vmop_sheet_values(document->sheet, row->number, detail, document->values);
	for (size_t e = 0; e < document->n_events; e++) {
		uint64_t samples, weight;
		read_counts(document, e, &samples, &weight);
		if (samples)
			put_count(document, row->numbers[NAME_CPU], e, samples, weight);
	}
}

/* Add a row's counts to the sums of its classes. */
static void add_row(struct document *document, const struct row *row)
{
	vmop_sheet_values(document->sheet, row->number, VMOP_NO_DETAIL, document->values);
	for (size_t e = 0; e < document->n_events; e++) {
		uint64_t samples, weight;
		read_counts(document, e, &samples, &weight);
		struct class_sum *sum =
			&document->sums[class_of(document, row->numbers[NAME_CPU], e)];
		sum->samples += samples;
		sum->weight_events += weight;
	}
}

/* Print the sums of the rows [first, end), one for each class that has samples. */
static void put_sums(struct document *document, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		add_row(document, &document->rows[i]);
	for (size_t i = first; i < end; i++) {
		uint64_t cpu = document->rows[i].numbers[NAME_CPU];
		for (size_t e = 0; e < document->n_events; e++) {
			struct class_sum *sum = &document->sums[class_of(document, cpu, e)];
			if (sum->samples)
				put_count(document, cpu, e, sum->samples, sum->weight_events);
			*sum = (struct class_sum){0};
		}
	}
	fputc('\n', document->out);
}

/* ---- binaries and processes --------------------------------------------------------------- */

/* Print the symbol of the rows [first, end), which differ by their CPU only. */
static void put_symbol(struct document *document, size_t first, size_t end)
{
	const struct row *row = &document->rows[first];
	uint64_t n_details = 0;
	fprintf(document->out, "<symbol idref=\"%" PRIu32 "\"", row->symbol);
	for (size_t i = first; i < end; i++)
		n_details += vmop_sheet_n_details(document->sheet, document->rows[i].number);
	if (n_details) {
		fprintf(document->out, " detaillo=\"%" PRIu64 "\" detailhi=\"%" PRIu64 "\"",
			document->n_details, document->n_details + n_details - 1);
		document->n_details += n_details;
	}
	for (size_t i = 0; i < sizeof(other_names) / sizeof(*other_names); i++) {
		enum name name = other_names[i];
		if (*row->texts[name])
			put_attribute(document, names[name], row->texts[name]);
		else if (is_number(name) && row->numbers[name])
			fprintf(document->out, " %s=\"%" PRIu64 "\"", names[name],
				row->numbers[name] - 1);
	}
	fputc('>', document->out);
	for (size_t i = first; i < end; i++)
		put_counts_of(document, &document->rows[i], VMOP_NO_DETAIL);
	fputs("</symbol>\n", document->out);
}

/* Return the end of the rows from first on that are equal in the names of the list. */
static size_t find_end(const struct document *document, size_t first, size_t end,
		       const enum name *list, size_t n)
{
	size_t i = first + 1;
	while (i < end && !compare_by(&document->rows[first], &document->rows[i], list, n))
		i++;
	return i;
}

#define FIND_END(document, first, end, list)                                                       \
	find_end((document), (first), (end), (list), sizeof(list) / sizeof(*(list)))

static void put_symbols(struct document *document, size_t first, size_t end)
{
	const struct row *rows = document->rows;
	for (size_t i = first, next; i < end; i = next) {
		for (next = i + 1; next < end; next++)
			if (rows[next].symbol != rows[i].symbol ||
			    COMPARE_BY(&rows[i], &rows[next], other_names))
				break;
		put_symbol(document, i, next);
	}
}

/* Print the images of the rows [first, end) as elements of that tag: "binary" or "module". */
static void put_images(struct document *document, const char *tag, size_t first, size_t end)
{
	for (size_t i = first, next; i < end; i = next) {
		const struct row *row = &document->rows[i];
		next = FIND_END(document, i, end, binary_names);
		fprintf(document->out, "<%s", tag);
		put_attribute(document, "name", row->texts[NAME_IMAGE]);
		if (*row->texts[NAME_DOMAIN])
			put_attribute(document, "domain", row->texts[NAME_DOMAIN]);
		fputc('>', document->out);
		put_sums(document, i, next);
		put_symbols(document, i, next);
		fprintf(document->out, "</%s>\n", tag);
	}
}

static void put_threads(struct document *document, size_t first, size_t end)
{
	for (size_t i = first, next; i < end; i = next) {
		const struct row *row = &document->rows[i];
		uint64_t tid =
			row->numbers[NAME_TID] ? row->numbers[NAME_TID] : row->numbers[NAME_PID];
		next = FIND_END(document, i, end, thread_names);
		fprintf(document->out, "<thread tid=\"%" PRIu64 "\">", tid ? tid - 1 : 0);
		put_sums(document, i, next);
		put_images(document, "module", i, next);
		fputs("</thread>\n", document->out);
	}
}

static void put_processes(struct document *document)
{
	size_t end = document->sheet->n_rows;
	for (size_t i = 0, next; i < end; i = next) {
		const struct row *row = &document->rows[i];
		uint64_t pid = row->numbers[NAME_PID];
		next = FIND_END(document, i, end, process_names);
		fprintf(document->out, "<process pid=\"%" PRIu64 "\"", pid ? pid - 1 : 0);
		put_attribute(document, "name", row->texts[NAME_TASK]);
		if (*row->texts[NAME_DOMAIN])
			put_attribute(document, "domain", row->texts[NAME_DOMAIN]);
		fputc('>', document->out);
		put_sums(document, i, next);
		put_threads(document, i, next);
		fputs("</process>\n", document->out);
	}
}

/* ---- tables ---------------------------------------------------------------------------- */

/* Print the details in the order of the symbols' elements, to which detaillo and detailhi refer. */
static void put_details(struct document *document)
{
	uint64_t id = 0;
	if (!document->has_details)
		return;
	fputs("<detailtable>\n", document->out);
	for (size_t i = 0; i < document->sheet->n_rows; i++) {
		const struct row *row = &document->rows[i];
		size_t n = vmop_sheet_n_details(document->sheet, row->number);
		if (!n)
			continue;
		fprintf(document->out, "<symboldetails id=\"%" PRIu32 "\">\n", row->symbol);
		for (size_t detail = 0; detail < n; detail++) {
			vmop_sheet_values(document->sheet, row->number, detail, document->values);
			size_t address = document->columns[NAME_ADDRESS];
			fprintf(document->out,
				"<detaildata id=\"%" PRIu64 "\" vmaoffset=\"%016" PRIx64 "\">",
				id++, address == NO_COLUMN ? 0 : document->values[address].number);
			put_counts_of(document, row, detail);
			fputs("</detaildata>\n", document->out);
		}
		fputs("</symboldetails>\n", document->out);
	}
	fputs("</detailtable>\n", document->out);
}

static struct vmop_error *put_symbol_table(struct document *document)
{
	size_t n = document->sheet->n_rows;
	_cleanup_free_ const struct row **first =
		calloc(document->n_symbols + 1, sizeof(const struct row *));
	if (!first)
		return &vmop_error_no_memory;
	for (size_t i = n; i-- > 0;)
		first[document->rows[i].symbol] = &document->rows[i];
	fputs("<symboltable>\n", document->out);
	for (uint32_t id = 0; id < document->n_symbols; id++) {
		fprintf(document->out, "<symboldata id=\"%" PRIu32 "\"", id);
		put_attribute(document, "name", first[id]->texts[NAME_SYMBOL]);
		if (first[id]->numbers[NAME_ADDRESS])
			fprintf(document->out, " startingaddr=\"%016" PRIx64 "\"",
				first[id]->numbers[NAME_ADDRESS] - 1);
		fputs("/>\n", document->out);
	}
	fputs("</symboltable>\n", document->out);
	return NULL;
}

/* ---- the document ------------------------------------------------------------------------ */

/* Return whether text is an xs:NCName of ASCII, as the schema wants a processor to be. */
static bool is_plain_name(const char *text)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	return *text && strchr(first, *text) &&
	       text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
				 "0123456789-.")] == '\0';
}

static void put_head(struct document *document)
{
	FILE *out = document->out;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<profile schemaversion=\"3.0\"", out);
	put_attribute(document, "title", "vmopreport " PACKAGE_VERSION);
	fprintf(out, " cputype=\"%s\" processor=\"unknown\" mhz=\"0\"",
		is_plain_name(document->machine) ? document->machine : "unknown");
	if (document->columns[NAME_CPU] != NO_COLUMN)
		fprintf(out, " separatedcpus=\"%zu\"", document->n_cpus);
	fputs(">\n<options", out);
	put_attribute(document, "session", document->session);
	fprintf(out, " details=\"%s\"/>\n<setup>\n", document->has_details ? "true" : "false");
	for (size_t e = 0; e < document->n_events; e++) {
		fprintf(out, "<eventsetup id=\"%zu\"", e);
		put_attribute(document, "eventname", document->events[e].name);
		put_attribute(document, "unit", document->events[e].unit);
		fprintf(out, " setupcount=\"%" PRIu64 "\"/>\n", document->events[e].period);
	}
	fputs("</setup>\n", out);
}

/* Print the losses, which OProfile has in a log.  The facts of one are neighbours. */
static void put_losses(struct document *document)
{
	bool is_open = false;
	fputs("<losses>\n", document->out);
	for (size_t i = 0; i < document->sheet->n_facts; i++) {
		const struct vmop_fact *fact = &document->sheet->facts[i];
		if (!fact->name || !fact->list || strcmp(fact->list, "losses") != 0)
			continue;
		if (is_text(fact, "name")) {
			fputs(is_open ? "/>\n<loss" : "<loss", document->out);
			is_open = true;
		}
		if (is_text(fact, "name") || is_text(fact, "domain") || is_text(fact, "event"))
			put_attribute(document, fact->name, fact->value.text);
		else if (!strcmp(fact->name, "count"))
			fprintf(document->out, " count=\"%" PRIu64 "\"", fact->value.number);
	}
	fputs(is_open ? "/>\n</losses>\n" : "</losses>\n", document->out);
}

static struct vmop_error *put_document(struct document *document)
{
	qsort(document->rows, document->sheet->n_rows, sizeof(*document->rows), compare_rows);
	put_head(document);
	put_losses(document);
	put_classes(document);
	if (document->columns[NAME_TASK] != NO_COLUMN)
		put_processes(document);
	else
		put_images(document, "binary", 0, document->sheet->n_rows);
	struct vmop_error *err = put_symbol_table(document);
	put_details(document);
	fputs("</profile>\n", document->out);
	return err;
}

static struct vmop_error *xml_print(const struct vmop_sheet *sheet,
				    const struct vmop_output_options *options, FILE *out)
{
	(void)options;
	struct document document = {.sheet = sheet, .out = out};
	for (enum name name = 0; name < N_NAMES; name++)
		document.columns[name] = find_column(sheet, names[name]);
	find_events(&document);
	find_facts(&document);
	if (!document.n_events || document.columns[NAME_SYMBOL] == NO_COLUMN ||
	    document.columns[NAME_IMAGE] == NO_COLUMN)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--format=xml prints reports by symbol, no others");
	document.values = calloc(sheet->n_columns, sizeof(*document.values));
	struct vmop_error *err = document.values ? read_rows(&document) : &vmop_error_no_memory;
	if (!err)
		err = find_cpus(&document);
	if (!err) {
		document.sums =
			calloc(document.n_cpus * document.n_events + 1, sizeof(*document.sums));
		err = document.sums ? put_document(&document) : &vmop_error_no_memory;
	}
	free(document.sums);
	free(document.values);
	free(document.rows);
	free(document.cpus);
	return err ? err : document.lacks_memory ? &vmop_error_no_memory : NULL;
}

const struct vmop_output vmop_output_xml = {.name = "xml",

					    .by_symbol = true,
					    .max_values = 4000000,
					    .print = xml_print};
