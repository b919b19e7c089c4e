/*
 * Tessera virtual GPU: DRAW
 *
 * An exact rasteriser: 24.8 fixed point vertices, integer edge functions,
 * top-left rule, attributes interpolated with one exact division per span and
 * carried remainders after it. Work goes by pieces of scanlines, and can be
 * left after each. Called from render engine threads by the command decoder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/int128.h"
#include "tessera_raster.h"
#include "tessera_pixel.h"
#include "tessera_strict.h"

#define SUBPIXEL        256
#define CENTRE          128
#define SCANLINES_PER_CHECK 16
#define PIXELS_PER_CHECK 1024

typedef struct Vertex {
    int32_t x, y, u, v;
    uint32_t color;
} Vertex;

/* E(x, y) = e0 + dx * x + dy * y at pixel centres; inside where E >= 0. */
typedef struct Edge {
    int64_t e0;                 /* at the centre of pixel (0, 0) */
    int64_t dx, dy;             /* per pixel */
    int64_t bias;               /* 0, or -1 where the boundary is not ours */
} Edge;

typedef struct Triangle {
    Vertex vtx[3];
    Edge edge[3];               /* edge[i] is opposite vtx[i] */
    int64_t area;               /* twice the area, in 1/65536 pixel */
    int32_t x0, y0, x1, y1;     /* pixels to look at, exclusive end */
} Triangle;

typedef struct DrawJob {
    TesseraSurface target;
    TesseraView view;
    TesseraTexture tex;
    TesseraSurface vertices;
    TesseraView vview;
    bool textured;
    uint32_t blend;
    uint32_t color;
    int32_t sx0, sy0, sx1, sy1; /* scissor, clipped to the target */
    Triangle tri;
} DrawJob;

/* ---- Set-up ------------------------------------------------------------ */

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
    d->blend = e->state[TSR_STATE_BLEND];
    d->color = e->state[TSR_STATE_COLOR];
    return err;
}

/* ---- Triangles --------------------------------------------------------- */

static bool vertex_decode(Vertex *v, const uint8_t *p)
{
    v->x = ldl_le_p(p + TSR_VERTEX_X);
    v->y = ldl_le_p(p + TSR_VERTEX_Y);
    v->u = ldl_le_p(p + TSR_VERTEX_U);
    v->v = ldl_le_p(p + TSR_VERTEX_V);
    v->color = ldl_le_p(p + TSR_VERTEX_COLOR);
    return !ldl_le_p(p + TSR_VERTEX_PAD) &&
           v->x >= -TSR_VERTEX_COORD_MAX && v->x <= TSR_VERTEX_COORD_MAX &&
           v->y >= -TSR_VERTEX_COORD_MAX && v->y <= TSR_VERTEX_COORD_MAX;
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

/* False if nothing of it can show. */
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

/* ---- Attributes -------------------------------------------------------- */

/* floor((w0 a0 + w1 a1 + w2 a2 + round) / area), from pixel to pixel. */
typedef struct Walker {
    int64_t value;
    int64_t rest;               /* 0 .. area - 1 */
    int64_t step;
    int64_t step_rest;
} Walker;

static int64_t split(__int128_t n, int64_t area, int64_t *rest)
{
    __int128_t q = n / area;

    if (q * area > n) {
        q--;
    }
    *rest = n - q * area;
    return q;
}

static void walker_init(Walker *w, const Triangle *t, const int64_t weight[3],
                        const int64_t attr[3], int64_t round)
{
    __int128_t n = round, step = 0;

    for (unsigned int i = 0; i < 3; i++) {
        n += (__int128_t)weight[i] * attr[i];
        step += (__int128_t)t->edge[i].dx * attr[i];
    }
    w->value = split(n, t->area, &w->rest);
    w->step = split(step, t->area, &w->step_rest);
}

static inline void walker_next(Walker *w, int64_t area)
{
    w->value += w->step;
    w->rest += w->step_rest;
    if (w->rest >= area) {
        w->rest -= area;
        w->value++;
    }
}

typedef struct Walkers {
    Walker color[4];
    Walker u, v;
    bool flat;
} Walkers;

static void walkers_init(Walkers *w, const DrawJob *d, int32_t x, int32_t y)
{
    const Triangle *t = &d->tri;
    const Vertex *vtx = t->vtx;
    int64_t weight[3], attr[3];
    unsigned int i, c;

    for (i = 0; i < 3; i++) {
        weight[i] = t->edge[i].e0 + t->edge[i].dx * x + t->edge[i].dy * y;
    }
    w->flat = vtx[0].color == vtx[1].color && vtx[0].color == vtx[2].color;
    for (c = 0; c < 4 && !w->flat; c++) {
        for (i = 0; i < 3; i++) {
            attr[i] = (vtx[i].color >> (8 * c)) & 0xff;
        }
        walker_init(&w->color[c], t, weight, attr, t->area / 2);
    }
    if (d->textured) {
        for (i = 0; i < 3; i++) {
            attr[i] = vtx[i].u;
        }
        walker_init(&w->u, t, weight, attr, 0);
        for (i = 0; i < 3; i++) {
            attr[i] = vtx[i].v;
        }
        walker_init(&w->v, t, weight, attr, 0);
    }
}

static inline uint32_t walkers_color(Walkers *w, const Triangle *t)
{
    uint32_t argb = 0;

    if (w->flat) {
        return t->vtx[0].color;
    }
    for (unsigned int c = 0; c < 4; c++) {
        argb |= (uint32_t)(w->color[c].value & 0xff) << (8 * c);
        walker_next(&w->color[c], t->area);
    }
    return argb;
}

/*
 * One scanline, in pieces. The high half of progress[1] counts the scanlines
 * of the triangle that are done, the low half pixels of the next one.
 */
static uint32_t draw_span(TesseraEngine *e, DrawJob *d, int32_t y)
{
    const Triangle *t = &d->tri;
    uint32_t *frags = e->frags, err = TSR_ERR_NONE;
    int32_t first, end, x, i;
    Walkers w;

    if (!span_find(t, y, &first, &end)) {
        return TSR_ERR_NONE;
    }
    x = first + (int64_t)MIN((uint32_t)e->progress[1], end - first);
    walkers_init(&w, d, x, y);
    while (x < end && !err) {
        int32_t n = MIN(end - x, PIXELS_PER_CHECK);

        for (i = 0; i < n; i++) {
            uint32_t c = walkers_color(&w, t);

            if (d->textured) {
                c = tessera_pixel_mul(tessera_texture_sample(&d->tex,
                                                             w.u.value,
                                                             w.v.value), c);
                walker_next(&w.u, t->area);
                walker_next(&w.v, t->area);
            }
            frags[i] = tessera_pixel_mul(c, d->color);
        }
        if (d->textured && d->tex.err) {
            return d->tex.err;
        }
        err = tessera_pixel_row(&d->view, &d->target, x, y, n, frags,
                                d->blend);
        if (!err) {
            x += n;
            e->progress[1] += n;
            err = x < end ? tessera_leave(&e->m) : TSR_ERR_NONE;
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
            if (row % SCANLINES_PER_CHECK == 0 && row < rows) {
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
        if (!vertex_decode(&d->tri.vtx[i], raw + i * TSR_VERTEX_BYTES)) {
            return tessera_fault(&e->m, TSR_ERR_PACKET, d->vertices.slot,
                                 d->vview.base + index * sizeof(raw));
        }
    }
    return triangle_setup(d) ? draw_scanlines(e, d) : TSR_ERR_NONE;
}

/* progress[0]: triangles done. */
uint32_t tessera_raster_draw(TesseraEngine *e, const uint32_t *p)
{
    DrawJob *d = e->scratch;
    uint32_t err;

    QEMU_BUILD_BUG_ON(sizeof(DrawJob) > TESSERA_SCRATCH_BYTES);
    if (!qatomic_read(&e->s->fw_running)) {
        return TSR_ERR_FIRMWARE;
    }
    err = draw_decode(e, d, p);
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
