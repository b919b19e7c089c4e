/*
 * Tessera virtual GPU: segments
 *
 * Properties become a list of segments in the order of their numbers, and the
 * list becomes the segment table. GPU addresses are in the order of the list.
 * In VRAM, the segments that the CPU sees come first, so that BAR 2 shows them
 * in one piece. Runs under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "tessera_segments.h"

#define MAX_SEGMENT_BYTES   (16 * GiB)
/* Limit for the sum of all segments: BAR 2 can be four times as large. */
#define MAX_ALL_BYTES       (256 * GiB)

static const struct {
    const char *kind;           /* in the property */
    const char *name;           /* of the first segment of that kind */
    uint32_t flags;
} kinds[TESSERA_SEGMENT_KINDS] = {
    [TESSERA_VISIBLE] = { "vram", "vram", TSR_SEGF_CPU_VISIBLE },
    [TESSERA_INVISIBLE] = { "vram-hidden", "vram-hidden-from-cpu", 0 },
    [TESSERA_READ_ONLY] = { "agp-ro", "agp-ro",
                            TSR_SEGF_APERTURE | TSR_SEGF_GPU_READ_ONLY },
    [TESSERA_GART] = { "gart", "gart",
                       TSR_SEGF_APERTURE | TSR_SEGF_CPU_CACHED },
    [TESSERA_UMA] = { "uma", "uma", TSR_SEGF_UMA },
};

/* ---- Configuration ------------------------------------------------------- */

static bool is_aperture(const TesseraSegmentConfig *seg)
{
    return kinds[seg->kind].flags & TSR_SEGF_APERTURE;
}

/* A page table names the system pages of the segment. */
static bool shows_pages(const TesseraSegmentConfig *seg)
{
    return kinds[seg->kind].flags & (TSR_SEGF_APERTURE | TSR_SEGF_UMA);
}

static void add(TesseraConfig *c, TesseraSegmentKind kind, uint64_t size,
                uint64_t commit)
{
    c->segments[c->num_segments++] = (TesseraSegmentConfig) {
        .kind = kind,
        .size = size,
        .commit = commit ?: size,
    };
}

bool tessera_check_size(const char *name, uint64_t size, uint64_t min,
                        uint64_t max, uint64_t unit, Error **errp)
{
    if (size < min || size > max || size % unit) {
        error_setg(errp, "tessera: %s must be a multiple of %" PRIu64
                   " from %" PRIu64 " to %" PRIu64, name, unit, min, max);
        return false;
    }
    return true;
}

static bool check_segment(const TesseraConfig *c,
                          const TesseraSegmentConfig *seg, Error **errp)
{
    const char *kind = kinds[seg->kind].kind;
    g_autofree char *size = g_strdup_printf("the size of %s", kind);
    g_autofree char *commit = g_strdup_printf("the commit limit of %s", kind);

    if (!is_aperture(seg) && seg->commit != seg->size) {
        error_setg(errp, "tessera: only apertures have a commit limit");
        return false;
    }
    /* CPUs use such memory through their caches, past the device. */
    if (seg->kind == TESSERA_UMA && !c->io_coherent) {
        error_setg(errp, "tessera: a uma segment needs io-coherent=on");
        return false;
    }
    if (!shows_pages(seg)) {
        return tessera_check_size(size, seg->size, c->page_size,
                                  MAX_SEGMENT_BYTES, c->page_size, errp);
    }
    return tessera_check_size(size, seg->size, TSR_PAGE_SIZE,
                              MAX_SEGMENT_BYTES, TSR_PAGE_SIZE, errp) &&
           tessera_check_size(commit, seg->commit, TSR_PAGE_SIZE, seg->size,
                              TSR_PAGE_SIZE, errp);
}

/* KIND:SIZE or KIND:SIZE:COMMIT */
static bool parse_one(TesseraConfig *c, const char *text, Error **errp)
{
    g_auto(GStrv) part = g_strsplit(text, ":", 4);
    uint64_t size = 0, commit = 0;
    unsigned int kind = 0, n = g_strv_length(part);

    while (kind < TESSERA_SEGMENT_KINDS && n &&
           strcmp(part[0], kinds[kind].kind)) {
        kind++;
    }
    if (n < 2 || n > 3 || kind == TESSERA_SEGMENT_KINDS ||
        qemu_strtosz(part[1], NULL, &size) ||
        (n == 3 && (qemu_strtosz(part[2], NULL, &commit) || !commit))) {
        error_setg(errp, "tessera: segments has '%s', not vram, vram-hidden, "
                   "agp-ro, gart or uma with :SIZE or :SIZE:COMMIT", text);
        return false;
    }
    add(c, kind, size, commit);
    return true;
}

static bool parse_list(TesseraConfig *c, Error **errp)
{
    g_auto(GStrv) list = g_strsplit(c->segment_list, "/", -1);

    if (g_strv_length(list) > TSR_MAX_SEGMENTS) {
        error_setg(errp, "tessera: segments has more than %u",
                   TSR_MAX_SEGMENTS);
        return false;
    }
    for (char **text = list; *text; text++) {
        if (!parse_one(c, *text, errp)) {
            return false;
        }
    }
    return true;
}

/* A segment of size 0 is left out. Its number is not used then. */
static void use_sizes(TesseraConfig *c)
{
    add(c, TESSERA_VISIBLE, c->vram_size, 0);
    add(c, TESSERA_INVISIBLE, c->vram_hidden_size, 0);
    add(c, TESSERA_READ_ONLY, c->agp_ro_size, c->agp_ro_commit);
    add(c, TESSERA_GART, c->gart_size, c->gart_commit);
}

static bool may_be_missing(const TesseraConfig *c, unsigned int i)
{
    TesseraSegmentKind kind = c->segments[i].kind;

    return !c->segment_list && !c->segments[i].size &&
           (kind == TESSERA_INVISIBLE || kind == TESSERA_READ_ONLY);
}

bool tessera_segments_configure(TesseraConfig *c, Error **errp)
{
    uint64_t all = 0;

    c->num_segments = 0;
    if (!c->segment_list) {
        use_sizes(c);
    } else if (!parse_list(c, errp)) {
        return false;
    }
    for (unsigned int i = 0; i < c->num_segments; i++) {
        if (!may_be_missing(c, i) &&
            !check_segment(c, &c->segments[i], errp)) {
            return false;
        }
        all += c->segments[i].size;
    }
    if (!tessera_segments_visible_bytes(c)) {
        error_setg(errp, "tessera: segments needs a vram, for BAR 2 to show");
        return false;
    }
    if (all > MAX_ALL_BYTES) {
        error_setg(errp, "tessera: all segments together exceed %" PRIu64
                   " bytes", MAX_ALL_BYTES);
        return false;
    }
    return true;
}

uint64_t tessera_segments_visible_bytes(const TesseraConfig *c)
{
    uint64_t bytes = 0;

    for (unsigned int i = 0; i < c->num_segments; i++) {
        if (c->segments[i].kind == TESSERA_VISIBLE) {
            bytes += c->segments[i].size;
        }
    }
    return bytes;
}

/* ---- The table ----------------------------------------------------------- */

static uint32_t segment_flags(const TesseraConfig *c, TesseraSegmentKind kind)
{
    uint32_t flags = kinds[kind].flags;

    if (kind == TESSERA_VISIBLE) {
        flags |= (c->swizzle_ranges ? TSR_SEGF_SWIZZLE_RANGES : 0) |
                 (c->vram_preserved ? TSR_SEGF_PRESERVED_STANDBY : 0);
    } else if (kind == TESSERA_INVISIBLE) {
        flags |= c->host_aperture_size ? TSR_SEGF_HOST_APERTURE : 0;
    } else {
        flags |= c->io_coherent ? TSR_SEGF_CACHE_COHERENT : 0;
    }
    return flags;
}

/* Names are distinct: vram, vram-2, vram-3. */
static void name_segment(TesseraSegment *seg, TesseraSegmentKind kind,
                         unsigned int count)
{
    if (count == 1) {
        pstrcpy(seg->name, sizeof(seg->name), kinds[kind].name);
    } else {
        snprintf(seg->name, sizeof(seg->name), "%s-%u", kinds[kind].name,
                 count);
    }
}

static void build_table(TesseraState *s)
{
    const TesseraConfig *c = &s->cfg;
    unsigned int count[TESSERA_SEGMENT_KINDS] = { 0 };
    uint64_t next = TSR_SEG_FIRST_BASE;

    for (unsigned int i = 0; i < c->num_segments; i++) {
        const TesseraSegmentConfig *want = &c->segments[i];
        TesseraSegment *seg = &s->segs[s->num_segs];

        if (!want->size) {
            continue;
        }
        *seg = (TesseraSegment) {
            .id = i + 1,
            .flags = segment_flags(c, want->kind),
            .base = next,
            .size = want->size,
            .commit = want->commit,
            .page_size = shows_pages(want) ? TSR_PAGE_SIZE : c->page_size,
        };
        name_segment(seg, want->kind, ++count[want->kind]);
        if (shows_pages(want)) {
            seg->num_pages = want->size >> TSR_PAGE_SHIFT;
            seg->ptes = g_new0(uint64_t, seg->num_pages);
        }
        next = ROUND_UP(next + want->size, TSR_SEG_BASE_ALIGN);
        s->num_segs++;
    }
    s->hidden = (TesseraSegment) { .base = next, .size = c->firmware_size };
}

static void place_in_vram(TesseraState *s, uint32_t visible)
{
    for (unsigned int i = 0; i < s->num_segs; i++) {
        TesseraSegment *seg = &s->segs[i];

        if (seg->ptes || (seg->flags & TSR_SEGF_CPU_VISIBLE) != visible) {
            continue;
        }
        seg->vram_offset = s->vram_bytes;
        seg->cpu_offset = visible ? seg->vram_offset : 0;
        s->vram_bytes += seg->size;
    }
}

/* Report wrong descriptors on demand, to test the driver's probe. */
static void spoil_descriptors(TesseraState *s)
{
    const char *fault = s->cfg.descriptor_fault;
    uint32_t last = s->num_descs - 1;

    if (!fault || !strcmp(fault, "none")) {
        return;
    }
    if (!strcmp(fault, "overlap")) {
        s->descs[last].base = s->descs[0].base + s->descs[0].page_size;
    } else if (!strcmp(fault, "coherent-memory")) {
        s->descs[0].flags |= TSR_SEGF_CACHE_COHERENT;
    } else if (!strcmp(fault, "id-zero")) {
        s->descs[last].id = 0;
    } else if (!strcmp(fault, "duplicate-id")) {
        s->descs[last].id = s->descs[0].id;
    } else if (!strcmp(fault, "too-many")) {
        s->num_descs = TSR_MAX_SEGMENTS + 1;
    } else {
        s->descs[0].flags |= TSR_SEGF_HOST_APERTURE;
    }
}

void tessera_segments_build(TesseraState *s)
{
    build_table(s);
    place_in_vram(s, TSR_SEGF_CPU_VISIBLE);
    s->visible_bytes = s->vram_bytes;
    place_in_vram(s, 0);
    s->memory_bytes = s->vram_bytes;
    s->hidden.vram_offset = s->vram_bytes;
    s->vram_bytes += s->hidden.size;
    memcpy(s->descs, s->segs, sizeof(s->segs));
    s->num_descs = s->num_segs;
    spoil_descriptors(s);
}

void tessera_segments_free(TesseraState *s)
{
    for (unsigned int i = 0; i < s->num_segs; i++) {
        g_free(s->segs[i].ptes);
        s->segs[i].ptes = NULL;
    }
    s->num_segs = 0;
}
