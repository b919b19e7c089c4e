// SPDX-License-Identifier: MIT
#include "machine.h"
#include "tessera_mmu.h"
#include "tessera_paging.h"
#include "tessera_pipeline.h"
#include "tessera_strict.h"
#include "tessera_surface.h"

#define VRAM_BYTES ((VRAM_PAGES + HIDDEN_PAGES) * (size_t)PAGE)
#define RAM_BYTES (RAM_PAGES * (size_t)PAGE)

static struct machine *of(TesseraState *s)
{
	return container_of(s, struct machine, s);
}

static void broken(struct machine *m, const char *rule)
{
	if (!m->wrong)
		m->wrong = rule;
}

/* Scatters the numbers below @n in pairs, which stay together. */
static uint64_t pair(uint64_t i, uint64_t step, uint64_t n)
{
	return i / 2 * step % (n / 2) * 2 + i % 2;
}

/* ---- TesseraHostOps ------------------------------------------------------ */

static void map_init(TesseraMaster *t)
{
	t->map = NULL;
}

static void map_fini(TesseraMaster *t)
{
	if (of(t->s)->entered)
		broken(of(t->s), "guest RAM is entered at the end");
}

static void ram_enter(TesseraMaster *t)
{
	of(t->s)->entered++;
}

static void ram_leave(TesseraMaster *t)
{
	if (!of(t->s)->entered--)
		broken(of(t->s), "guest RAM was left once too often");
}

/* A run has two pages at most, so that callers have to join runs. */
static bool ram_find(TesseraMaster *t, uint64_t addr, TesseraRun *run)
{
	struct machine *m = of(t->s);
	uint64_t at = addr - RAM_BASE;

	if (!m->entered)
		broken(m, "guest RAM was looked up outside of enter and leave");
	if (addr < RAM_BASE || at >= RAM_BYTES)
		return false;
	run->ram = m;
	run->ram_offset = at;
	run->ptr = m->ram[at / PAGE] + at % PAGE;
	run->len = MIN(run->len, 2 * PAGE - at % (2 * PAGE));
	return true;
}

static void ram_written(TesseraMaster *t, const TesseraRun *run, uint64_t bytes)
{
	struct machine *m = of(t->s);

	if (!m->entered)
		broken(m, "guest RAM was marked outside of enter and leave");
	if (run->ram != m || bytes > run->len)
		broken(m, "a run was marked that ram_find() did not return");
	for (uint64_t at = run->ram_offset; at < run->ram_offset + bytes; at++)
		m->ram_written[at / PAGE] = true;
}

static uint32_t ram_begin_uncached(TesseraMaster *t, uint64_t addr, uint64_t len, bool write,
				   TesseraRun *run)
{
	of(t->s)->uncached++;
	return tessera_ram_begin(t, addr, len, write, true, run);
}

static void vram_written(TesseraState *s, uint64_t offset, uint64_t len)
{
	struct machine *m = of(s);

	if (!len || offset + len > VRAM_BYTES) {
		broken(m, "bytes were marked that are not in VRAM");
		return;
	}
	for (uint64_t i = offset / PAGE; i <= (offset + len - 1) / PAGE; i++)
		m->vram_written[i] = true;
}

static bool vram_discard(TesseraState *s, uint64_t offset, uint64_t len)
{
	return false;
}

static bool vram_shown(TesseraState *s, uint64_t offset, uint64_t len)
{
	return of(s)->aperture_shows;
}

static void poison_later(TesseraState *s)
{
	of(s)->poison_calls++;
}

static bool range_show(TesseraState *s, uint32_t index, uint64_t at)
{
	struct machine *m = of(s);
	uint64_t bytes = tessera_range_bytes(&s->ranges[index]);

	for (uint32_t i = 0; i < TSR_MAX_SWIZZLE_RANGES; i++)
		if (at < m->shown[i].at + m->shown[i].bytes && m->shown[i].at < at + bytes)
			broken(m, "a range was shown where another one still is");
	if (m->no_memory)
		return false;
	m->shown[index].at = at;
	m->shown[index].bytes = bytes;
	return true;
}

static void range_hide(TesseraState *s, uint32_t index)
{
	of(s)->shown[index].bytes = 0;
}

static void error(TesseraState *s, const TesseraErrorRecord *rec, bool first)
{
	struct machine *m = of(s);

	if (first != !m->errors[rec->type])
		broken(m, "error() was told wrongly whether this is the first");
	m->errors[rec->type]++;
}

static const TesseraHostOps ops = {
	.map_init = map_init,
	.map_fini = map_fini,
	.ram_enter = ram_enter,
	.ram_leave = ram_leave,
	.ram_find = ram_find,
	.ram_written = ram_written,
	.ram_begin_uncached = ram_begin_uncached,
	.vram_written = vram_written,
	.vram_discard = vram_discard,
	.vram_shown = vram_shown,
	.poison_later = poison_later,
	.range_show = range_show,
	.range_hide = range_hide,
	.error = error,
};

/* ---- Memory -------------------------------------------------------------- */

uint64_t machine_base(enum place place)
{
	static const uint64_t base[PLACES] = { VRAM_BASE, APERTURE_BASE, VM_BASE };

	return base[place];
}

static bool vm_is_ram(uint64_t page)
{
	return page % 3 == 0;
}

/* Neighbours are apart, except for pairs of pages in VRAM. */
static uint64_t vm_vram_page(uint64_t page)
{
	return VM_VRAM_FIRST + (page ^ 6) % VM_PAGES;
}

static uint8_t *ram_byte(struct machine *m, uint64_t bus)
{
	return m->ram[(bus - RAM_BASE) / PAGE] + bus % PAGE;
}

/* The byte at an address of a place, of hidden VRAM or of the bus. */
uint8_t *machine_byte(struct machine *m, uint64_t addr)
{
	uint64_t page;

	if (addr >= HIDDEN_BASE)
		return m->s.vram_ptr + VRAM_PAGES * PAGE + (addr - HIDDEN_BASE);
	if (addr >= APERTURE_BASE) {
		page = (addr - APERTURE_BASE) / PAGE;
		return ram_byte(m, (m->ptes[page] & TSR_APTE_ADDR_MASK) + addr % PAGE);
	}
	if (addr >= VRAM_BASE)
		return m->s.vram_ptr + (addr - VRAM_BASE);
	if (addr < VM_BASE)
		return ram_byte(m, addr);
	page = (addr - VM_BASE) / PAGE;
	return vm_is_ram(page) ? m->ram[RAM_OF_VM + page] + addr % PAGE
			       : m->s.vram_ptr + vm_vram_page(page) * PAGE + addr % PAGE;
}

static void put_entry(struct machine *m, uint64_t table, uint32_t index, uint64_t entry)
{
	stq_he_p(m->s.vram_ptr + table * PAGE + index * 8, entry);
}

/* Tables of four levels, of which the last has a page for each of VM_PAGES. */
static uint64_t set_up_tables(struct machine *m)
{
	const uint64_t dir = TSR_PTE_VALID | TSR_PTE_VRAM, leaf = TSR_PTE_VALID | TSR_PTE_WRITE;
	uint32_t level;

	for (level = 3; level; level--)
		put_entry(m, TABLES_FIRST + level, (VM_BASE >> (12 + 9 * level)) % TSR_PT_ENTRIES,
			  (VRAM_BASE + (TABLES_FIRST + level - 1) * PAGE) | dir);
	for (uint64_t i = 0; i < VM_PAGES; i++)
		put_entry(m, TABLES_FIRST, (VM_BASE / PAGE + i) % TSR_PT_ENTRIES,
			  vm_is_ram(i)
				  ? (RAM_BASE + (RAM_OF_VM + i) * PAGE) | leaf
				  : (VRAM_BASE + vm_vram_page(i) * PAGE) | leaf | TSR_PTE_VRAM);
	return (VRAM_BASE + (TABLES_FIRST + 3) * PAGE) | dir;
}

/* Map the aperture with MAP_APERTURE, in an order of its own. */
static void set_up_aperture(struct machine *m)
{
	const uint64_t list = RAM_BASE + RAM_OF_LISTS * PAGE;
	uint32_t p[6] = {
		TSR_PKT_HEADER(TSR_OP_MAP_APERTURE, 0, 6), 2, 0, APERTURE_PAGES, list, 0
	};

	for (uint64_t i = 0; i < APERTURE_PAGES; i++)
		stq_he_p(machine_byte(m, list + i * 8),
			 (RAM_BASE + (pair(i, 37, APERTURE_PAGES)) * PAGE) | TSR_APTE_VALID |
				 TSR_APTE_WRITE);
	if (machine_run(m, tessera_paging_map, p, false))
		broken(m, "the aperture could not be mapped");
}

static void set_up_ram(struct machine *m)
{
	m->ram_block = g_malloc0(RAM_BYTES);
	for (uint64_t i = 0; i < RAM_PAGES; i++)
		m->ram[i] = m->ram_block + pair(i, 211, RAM_PAGES) * PAGE;
}

struct machine *machine_new(bool strict)
{
	struct machine *m = g_new0(struct machine, 1);
	TesseraState *s = &m->s;

	set_up_ram(m);
	s->ops = &ops;
	s->cfg.strict = strict;
	s->cfg.num_slots = 8;
	s->cfg.swizzle_ranges = 2;
	s->caps = TSR_CAP_VM;
	s->vram_ptr = g_malloc0(VRAM_BYTES);
	s->vram_bytes = VRAM_BYTES;
	s->num_vram_pages = VRAM_PAGES + HIDDEN_PAGES;
	s->page_state = g_malloc(s->num_vram_pages);
	memset(s->page_state, TESSERA_PAGE_VALID, s->num_vram_pages);
	s->segs[0] = (TesseraSegment){
		.id = 1,
		.flags = TSR_SEGF_SWIZZLE_RANGES,
		.base = VRAM_BASE,
		.size = VRAM_PAGES * PAGE,
	};
	s->segs[1] = (TesseraSegment){
		.id = 2,
		.base = APERTURE_BASE,
		.size = APERTURE_PAGES * PAGE,
		.ptes = m->ptes,
		.num_pages = APERTURE_PAGES,
	};
	s->num_segs = 2;
	s->hidden = (TesseraSegment){
		.base = HIDDEN_BASE,
		.size = HIDDEN_PAGES * PAGE,
		.vram_offset = VRAM_PAGES * PAGE,
	};
	tessera_errors_init(s);
	tessera_master_init(&s->cpu, s, TESSERA_NO_ENGINE);
	s->num_engines = 1;
	m->e = &s->engines[0];
	m->e->s = s;
	tessera_pipeline_init(m->e);
	m->before = g_malloc(VRAM_BYTES + RAM_BYTES);
	set_up_aperture(m);
	set_up_tables(m);
	return m;
}

void machine_free(struct machine *m)
{
	tessera_pipeline_fini(m->e);
	tessera_master_fini(&m->s.cpu);
	tessera_errors_fini(&m->s);
	g_free(m->s.vram_ptr);
	g_free(m->s.page_state);
	g_free(m->ram_block);
	g_free(m->before);
	g_free(m);
}

/* Use virtual addresses in slots, or GPU addresses. Unbinds all slots. */
void machine_use(struct machine *m, enum place place)
{
	tessera_slots_set_vm(m->e, 7, place == IN_VM ? set_up_tables(m) : 0);
	tessera_mmu_forget(&m->e->m);
}

/* ---- Packets ------------------------------------------------------------- */

static void check_marks(struct machine *m)
{
	for (size_t i = 0; i < VRAM_PAGES + HIDDEN_PAGES; i++)
		if (!m->vram_written[i] &&
		    memcmp(m->before + i * PAGE, m->s.vram_ptr + i * PAGE, PAGE))
			broken(m, "a page of VRAM was written and not marked");
	for (size_t i = 0; i < RAM_PAGES; i++)
		if (!m->ram_written[i] &&
		    memcmp(m->before + VRAM_BYTES + i * PAGE, m->ram[i], PAGE))
			broken(m, "a page of guest RAM was written and not marked");
}

/*
 * Run a packet to its end, and check that what it wrote is marked. With
 * @interrupt a request is pending all the time, so the packet returns at each
 * point where it can be interrupted, and is called again.
 */
uint32_t machine_run(struct machine *m, packet_fn *fn, const uint32_t *p, bool interrupt)
{
	TesseraEngine *e = m->e;
	uint32_t err;

	memset(m->vram_written, 0, sizeof(m->vram_written));
	memset(m->ram_written, 0, sizeof(m->ram_written));
	memcpy(m->before, m->s.vram_ptr, VRAM_BYTES);
	for (size_t i = 0; i < RAM_PAGES; i++)
		memcpy(m->before + VRAM_BYTES + i * PAGE, m->ram[i], PAGE);
	memset(e->progress, 0, sizeof(e->progress));
	e->m.attention = interrupt;
	while ((err = fn(e, p)) == TESSERA_RETRY)
		m->interrupted++;
	e->m.attention = false;
	tessera_access_flush(&e->m);
	if (m->entered)
		broken(m, "guest RAM is entered behind a packet");
	check_marks(m);
	return err;
}
