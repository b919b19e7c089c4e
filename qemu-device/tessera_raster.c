/*
 * Tessera virtual GPU: DRAW
 *
 * An exact rasteriser: 24.8 fixed point vertices, integer edge functions and
 * the top-left rule. Attributes are interpolated with one exact division for
 * each span and one for each triangle. From pixel to pixel, the remainders are
 * carried along. It works on pieces of scanlines, and can be interrupted after
 * each. Called from render engine threads by the command decoder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qemu/int128.h"
#include "tessera_raster.h"
#include "tessera_microcode.h"
#include "tessera_pixel.h"
#include "tessera_strict.h"
#include "tessera_texture.h"

#define SUBPIXEL        256
#define CENTRE          128
#define SCANLINES_PER_CHECK 16

typedef struct Vertex {
    int32_t x, y, u, v;
    uint32_t color;
} Vertex;

/* E(x, y) = e0 + dx * x + dy * y at pixel centres; inside where E >= 0. */
typedef struct Edge {
    int64_t e0;                 /* at the centre of pixel (0, 0) */
    int64_t dx, dy;             /* per pixel */
    int64_t bias;               /* -1 if the boundary is outside */
} Edge;

typedef struct Triangle {
    Vertex vtx[3];
    Edge edge[3];               /* edge[i] is opposite vtx[i] */
    int64_t area;               /* twice the area, in 1/65536 pixel */
    int32_t x0, y0, x1, y1;     /* bounding box, exclusive end */
    bool flat;                  /* one colour */
    TesseraWalker step[6];      /* steps of each attribute, no values */
} Triangle;

typedef struct DrawJob {
    TesseraSurface target;
    TesseraView view;
    TesseraTexture tex;
    TesseraSurface vertices;
    TesseraView vview;
    bool textured;
    const TesseraMicrocode *mc;
    const TesseraBlend *blend;
    uint32_t color;
    int32_t sx0, sy0, sx1, sy1; /* scissor, clipped to the target */
    uint32_t work;              /* pixels since the last check of requests */
    Triangle tri;
} DrawJob;

/* ---- Set-up -------------------------------------------------------------- */

static uint32_t check_defined(TesseraEngine *e, uint32_t mask)
{
    if (e->s->cfg.strict && (mask & ~e->state_defined)) {
        return tessera_fault(&e->m, TSR_ERR_STRICT_STATE, TESSERA_NO_SLOT,
                             ctz32(mask & ~e->state_defined));
    }
    return TSR_ERR_NONE;
}

static uint32_t draw_target(TesseraEngine *e, DrawJob *d)
{
    uint32_t slot = e->state[TSR_STATE_TARGET_SLOT];
    uint32_t min = e->state[TSR_STATE_SCISSOR_MIN];
    uint32_t max = e->state[TSR_STATE_SCISSOR_MAX];
    uint32_t err = tessera_surface_get(e, slot, TSR_SURF_WRITE, &d->target);

    if (err) {
        return err;
    }
    if (!d->target.pitch || !tessera_pixel_format_ok(d->target.format)) {
        return tessera_fault(&e->m, TSR_ERR_SURFACE, slot, d->target.base);
    }
    d->sx0 = min & 0xffff;
    d->sy0 = min >> 16;
    d->sx1 = MIN(max & 0xffff, d->target.width);
    d->sy1 = MIN(max >> 16, d->target.height);
    if (d->sx0 >= d->sx1 || d->sy0 >= d->sy1) {
        d->sx0 = d->sx1 = d->sy0 = d->sy1 = 0;
        return TSR_ERR_NONE;
    }
    return tessera_surface_view(e, &d->target, d->sx0, d->sy0,
                                d->sx1 - d->sx0, d->sy1 - d->sy0, true,
                                &d->view);
}

static uint32_t draw_texture(TesseraEngine *e, DrawJob *d)
{
    uint32_t err = tessera_texture_init(e, &d->tex,
                                        e->state[TSR_STATE_TEXTURE_SLOT],
                                        e->state[TSR_STATE_SAMPLER]);

    return err ? err : tessera_texture_rect(e, &d->tex, 0, 0,
                                            d->tex.surf.width,
                                            d->tex.surf.height);
}

static uint32_t draw_decode(TesseraEngine *e, DrawJob *d, const uint32_t *p)
{
    uint32_t need = 1u << TSR_STATE_TARGET_SLOT |
                    1u << TSR_STATE_SCISSOR_MIN |
                    1u << TSR_STATE_SCISSOR_MAX |
                    1u << TSR_STATE_BLEND | 1u << TSR_STATE_COLOR;
    uint32_t err;

    d->textured = ((p[0] & TSR_PKT_FLAGS_MASK) >> TSR_PKT_FLAGS_SHIFT) &
                  TSR_DRAW_TEXTURED;
    if (d->textured) {
        need |= 1u << TSR_STATE_TEXTURE_SLOT | 1u << TSR_STATE_SAMPLER;
    }
    if (p[3] % 3 || p[3] > TSR_DRAW_MAX_VERTICES || p[2] % 4) {
        return TSR_ERR_PACKET;
    }
    err = check_defined(e, need);
    if (!err) {
        err = tessera_surface_get(e, p[1], TSR_SURF_READ, &d->vertices);
    }
    if (!err) {
        err = tessera_buffer_view(e, &d->vertices, p[2],
                                  (uint64_t)p[3] * TSR_VERTEX_BYTES, false,
                                  &d->vview);
    }
    if (!err) {
        err = draw_target(e, d);
    }
    if (!err && d->textured) {
        err = draw_texture(e, d);
    }
    d->blend = tessera_microcode_blend(d->mc, e->state[TSR_STATE_BLEND]);
    d->color = e->state[TSR_STATE_COLOR];
    return err;
}

/* ---- Triangles ----------------------------------------------------------- */

/*
 * The product has 62 bits, so nothing overflows. Refuse results out of range.
 */
static bool transform(const TesseraMicrocode *mc, unsigned int axis,
                      int32_t in, int32_t *out)
{
    int64_t v = ((int64_t)in * mc->scale[axis] >> 16) + mc->bias[axis];

    *out = v;
    return v >= -TSR_VERTEX_COORD_MAX && v <= TSR_VERTEX_COORD_MAX;
}

static bool vertex_decode(const TesseraMicrocode *mc, Vertex *v,
                          const uint8_t *p)
{
    int32_t x = ldl_le_p(p + mc->fetch[TESSERA_FETCH_X]);
    int32_t y = ldl_le_p(p + mc->fetch[TESSERA_FETCH_Y]);

    v->u = ldl_le_p(p + mc->fetch[TESSERA_FETCH_U]);
    v->v = ldl_le_p(p + mc->fetch[TESSERA_FETCH_V]);
    v->color = ldl_le_p(p + mc->fetch[TESSERA_FETCH_COLOR]);
    return !ldl_le_p(p + TSR_VERTEX_PAD) && transform(mc, 0, x, &v->x) &&
           transform(mc, 1, y, &v->y);
}

static void edge_setup(Edge *edge, const Vertex *a, const Vertex *b)
{
    int64_t dx = (int64_t)b->x - a->x, dy = (int64_t)b->y - a->y;

    edge->e0 = dx * (CENTRE - (int64_t)a->y) - dy * (CENTRE - (int64_t)a->x);
    edge->dx = -dy * SUBPIXEL;
    edge->dy = dx * SUBPIXEL;
    /* y grows downwards: left edges go up, top edges go right. */
    edge->bias = dy < 0 || (dy == 0 && dx > 0) ? 0 : -1;
}

static int32_t floor_pixel(int32_t v)
{
    return v >> 8;
}

/* Returns false if no pixel can be visible. */
static bool triangle_setup(DrawJob *d)
{
    Triangle *t = &d->tri;
    Vertex *v = t->vtx;

    t->area = ((int64_t)v[1].x - v[0].x) * ((int64_t)v[2].y - v[0].y) -
              ((int64_t)v[1].y - v[0].y) * ((int64_t)v[2].x - v[0].x);
    if (!t->area) {
        return false;
    }
    if (t->area < 0) {
        Vertex swap = v[1];

        v[1] = v[2];
        v[2] = swap;
        t->area = -t->area;
    }
    edge_setup(&t->edge[0], &v[1], &v[2]);
    edge_setup(&t->edge[1], &v[2], &v[0]);
    edge_setup(&t->edge[2], &v[0], &v[1]);
    t->x0 = MAX(d->sx0, floor_pixel(MIN(MIN(v[0].x, v[1].x), v[2].x)));
    t->y0 = MAX(d->sy0, floor_pixel(MIN(MIN(v[0].y, v[1].y), v[2].y)));
    t->x1 = MIN(d->sx1, floor_pixel(MAX(MAX(v[0].x, v[1].x), v[2].x)) + 1);
    t->y1 = MIN(d->sy1, floor_pixel(MAX(MAX(v[0].y, v[1].y), v[2].y)) + 1);
    return t->x0 < t->x1 && t->y0 < t->y1;
}

static int64_t div_floor(int64_t a, int64_t b)
{
    int64_t q = a / b;

    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* The pixels of scanline @y inside all edges: [first, end). */
static bool span_find(const Triangle *t, int32_t y, int32_t *first,
                      int32_t *end)
{
    int64_t lo = t->x0, hi = t->x1 - 1;

    for (unsigned int i = 0; i < 3; i++) {
        const Edge *edge = &t->edge[i];
        int64_t e = edge->e0 + edge->dy * y + edge->bias;

        if (edge->dx > 0) {
            lo = MAX(lo, -div_floor(e, edge->dx));
        } else if (edge->dx < 0) {
            hi = MIN(hi, div_floor(e, -edge->dx));
        } else if (e < 0) {
            return false;
        }
    }
    *first = lo;
    *end = hi + 1;
    return lo <= hi;
}

/* ---- Attributes ---------------------------------------------------------- */

enum { ATTR_U = 4, ATTR_V, ATTRS };     /* the first four are the colour */

static Int128 product(int64_t a, int64_t b)
{
    uint64_t lo, hi;

    muls64(&lo, &hi, a, b);
    return int128_make128(lo, hi);
}

static int64_t attribute(const Vertex *v, unsigned int i)
{
    return i == ATTR_U ? v->u : i == ATTR_V ? v->v
           : (int64_t)((v->color >> (8 * i)) & 0xff);
}

/* The value at a pixel: floor((w0 a0 + w1 a1 + w2 a2 + round) / area). */
static void walker_place(TesseraWalker *w, const Triangle *t,
                         const int64_t weight[3], unsigned int i)
{
    Int128 n = int128_makes64(i < ATTR_U ? t->area / 2 : 0);

    for (unsigned int k = 0; k < 3; k++) {
        n = int128_add(n, product(weight[k], attribute(&t->vtx[k], i)));
    }
    *w = t->step[i];
    w->value = tessera_walker_split(n, t->area, &w->fraction);
}

/* Compute the steps from pixel to pixel, which hold for the whole triangle. */
static void steps_set_up(const DrawJob *d, Triangle *t)
{
    const Vertex *v = t->vtx;

    t->flat = v[0].color == v[1].color && v[0].color == v[2].color;
    for (unsigned int i = t->flat ? ATTR_U : 0;
         i < (d->textured ? ATTRS : ATTR_U); i++) {
        TesseraWalker *w = &t->step[i];
        Int128 n = int128_zero();

        for (unsigned int k = 0; k < 3; k++) {
            n = int128_add(n, product(t->edge[k].dx, attribute(&v[k], i)));
        }
        w->step = tessera_walker_split(n, t->area, &w->step_fraction);
    }
}

typedef struct Walkers {
    TesseraWalker attr[ATTRS];
} Walkers;

static void walkers_init(Walkers *w, const DrawJob *d, int32_t x, int32_t y)
{
    const Triangle *t = &d->tri;
    int64_t weight[3];
    unsigned int i;

    for (i = 0; i < 3; i++) {
        weight[i] = t->edge[i].e0 + t->edge[i].dx * x + t->edge[i].dy * y;
    }
    for (i = t->flat ? ATTR_U : 0; i < (d->textured ? ATTRS : ATTR_U); i++) {
        walker_place(&w->attr[i], t, weight, i);
    }
    if (d->textured) {
        tessera_texture_begin(&d->tex, &w->attr[ATTR_U], &w->attr[ATTR_V]);
    }
}

static inline uint32_t walkers_color(Walkers *w)
{
    uint32_t argb = 0;

    for (unsigned int c = 0; c < 4; c++) {
        argb |= (uint32_t)(w->attr[c].value & 0xff) << (8 * c);
        tessera_walker_next(&w->attr[c]);
    }
    return argb;
}

static void fragments(DrawJob *d, Walkers *w, uint32_t *frags, uint32_t n)
{
    const Triangle *t = &d->tri;
    uint32_t i, flat = t->vtx[0].color;

    if (d->textured) {
        tessera_texture_span(&d->tex, &w->attr[ATTR_U], &w->attr[ATTR_V],
                             n, frags);
        if (t->flat) {
            tessera_pixels_mul(frags, n, flat);
        } else {
            for (i = 0; i < n; i++) {
                frags[i] = tessera_pixel_mul(frags[i],
                                             walkers_color(w));
            }
        }
        tessera_pixels_mul(frags, n, d->color);
    } else if (t->flat) {
        flat = tessera_pixel_mul(flat, d->color);
        for (i = 0; i < n; i++) {
            frags[i] = flat;
        }
    } else {
        for (i = 0; i < n; i++) {
            frags[i] = walkers_color(w);
        }
        tessera_pixels_mul(frags, n, d->color);
    }
}

/* Whether enough work was done to check for requests again. */
static bool draw_due(DrawJob *d)
{
    if (d->textured) {
        d->work += tessera_texture_work(&d->tex);
    }
    if (d->work < TESSERA_WORK_PER_CHECK) {
        return false;
    }
    d->work = 0;
    return true;
}

/*
 * Draw one scanline in pieces. The high half of progress[1] counts finished
 * scanlines of the triangle, the low half finished pixels of the next one.
 */
static uint32_t draw_span(TesseraEngine *e, DrawJob *d, int32_t y)
{
    uint32_t *frags = e->frags, err = TSR_ERR_NONE;
    int32_t first, end, x;
    Walkers w;

    if (!span_find(&d->tri, y, &first, &end)) {
        return TSR_ERR_NONE;
    }
    x = first + (int64_t)MIN((uint32_t)e->progress[1], end - first);
    walkers_init(&w, d, x, y);
    while (x < end && !err) {
        int32_t n = d->textured ? tessera_texture_piece(&d->tex, end - x)
                                : MIN(end - x, TESSERA_PIECE_PIXELS);

        fragments(d, &w, frags, n);
        if (d->textured && d->tex.err) {
            return d->tex.err;
        }
        err = tessera_pixel_row(&d->view, &d->target, x, y, n, frags,
                                d->blend);
        if (!err) {
            x += n;
            e->progress[1] += n;
            d->work += n;
            err = x < end && draw_due(d) ? tessera_leave(&e->m)
                                         : TSR_ERR_NONE;
        }
    }
    return err;
}

static uint32_t draw_scanlines(TesseraEngine *e, DrawJob *d)
{
    uint32_t rows = d->tri.y1 - d->tri.y0, err = TSR_ERR_NONE;

    while (e->progress[1] >> 32 < rows && !err) {
        uint64_t row = e->progress[1] >> 32;

        err = draw_span(e, d, d->tri.y0 + row);
        if (!err) {
            e->progress[1] = ++row << 32;
            if (row < rows &&
                (row % SCANLINES_PER_CHECK == 0 || draw_due(d))) {
                err = tessera_leave(&e->m);
            }
        }
    }
    return err;
}

static uint32_t draw_triangle(TesseraEngine *e, DrawJob *d, uint32_t index)
{
    uint8_t raw[3 * TSR_VERTEX_BYTES];
    uint32_t err;

    err = tessera_view_rw(&d->vview, (uint64_t)index * sizeof(raw), raw,
                          sizeof(raw), false);
    if (err) {
        return err;
    }
    for (unsigned int i = 0; i < 3; i++) {
        if (!vertex_decode(d->mc, &d->tri.vtx[i],
                           raw + i * TSR_VERTEX_BYTES)) {
            return tessera_fault(&e->m, TSR_ERR_PACKET, d->vertices.slot,
                                 d->vview.base + index * sizeof(raw));
        }
    }
    if (!triangle_setup(d)) {
        return TSR_ERR_NONE;
    }
    steps_set_up(d, &d->tri);
    return draw_scanlines(e, d);
}

/* progress[0]: finished triangles. */
uint32_t tessera_raster_draw(TesseraEngine *e, const uint32_t *p)
{
    DrawJob *d = e->scratch;
    uint32_t err;

    QEMU_BUILD_BUG_ON(sizeof(DrawJob) > TESSERA_SCRATCH_BYTES);
    err = tessera_microcode_get(e, &d->mc);
    if (!err) {
        err = draw_decode(e, d, p);
    }
    d->work = 0;
    while (!err && e->progress[0] < p[3] / 3) {
        err = draw_triangle(e, d, e->progress[0]);
        if (!err) {
            e->progress[1] = 0;
            if (++e->progress[0] < p[3] / 3) {
                err = tessera_leave(&e->m);
            }
        }
    }
    return err;
}
