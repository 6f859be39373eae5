// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
//
// Disciplines that decide at arrival, in fixed point, on a virtual queue. The same text is compiled for the kernel
// (aqm.bpf.c) and for a host's tests: there are neither helpers nor maps in it. Each function is the fixed-point form of
// the part of the crate penstock-aqm that is named beside it, in that part's symbols.
//
// Q32 is a number times 2^32, Q48 one times 2^48. A length is in the queue's unit, packets or bytes, as Q32. A time is
// in nanoseconds, unless it says otherwise.

enum kind { RED, ARED, MECN, AMECN, RARED, NRED, RED_AT, WRED, STEP, PI, PI2, PIE, AVQ };
enum spacing { UNIFORM, WAIT, GEOMETRIC, DRAWN };
enum sizes { IGNORED, SCALE_B, SCALE_A };
enum gentle { LINEAR, GENTLE, FROZEN };
enum measure { LENGTH, SOJOURN, PHANTOM };
enum climb { BERNOULLI, RAMP, ONCE };
enum verdict { PASS, MARK_INCIPIENT, MARK_CE, DROP_EARLY, DROP_FORCED, DROP_OVERFLOW };
enum ecn { NOT_ECT, ECT1, ECT0, CE_ };

/// What the scenario says. python/penstock/kernel/words.py computes each, with its error.
#define PARAMS(X)                                                                                                      \
    X(generation) X(kind) X(in_bytes) X(mean_packet)                                                                   \
    /* The virtual queue: ns a byte times 2^24, room, whether what is in transmission takes some of it. */             \
    X(byte_ns) X(limit) X(limit_bytes) X(count_in_service)                                                             \
    X(ecn) X(mark_p) X(mark_forced) X(incipient)                                                                       \
    /* The average: octaves of decay a ns times 2^58, when nothing is left, ns of a whole packet time or 0. */         \
    X(w_q) X(idle_rate) X(idle_max) X(idle_step)                                                                       \
    X(gate) X(sizes) X(first_passes) X(early_min_queue)                                                                \
    X(min_th) X(max_th) X(max_p) X(gentle) X(mid_th) X(p2_max) X(gentle_above) X(mark_severe)                          \
    /* Adapters. */                                                                                                    \
    X(adapts) X(interval) X(at_arrivals) X(low_at) X(high_at) X(alpha) X(beta) X(p_low) X(p_high)                      \
    X(middle) X(ratio) X(deadband)                                                                                     \
    X(slope_th) X(climb) X(max_p_climb) X(instantaneous) X(round_trip)                                                 \
    X(buffer) X(n_0) X(n_min) X(n_max) X(n_step)                                                              \
    X(min_lo) X(min_hi) X(max_lo) X(max_hi) X(region_a) X(hold) X(reset) X(min_step) X(max_step)                       \
    /* Controllers: gains as Q48 for a second of delay or a packet; delays in seconds, Q32. */                         \
    X(target) X(period) X(first_period) X(gain_a) X(gain_b) X(coupling) X(scalable_ect0)                               \
    X(max_burst) X(min_backlog) X(derandomize) X(high_delay) X(decay) X(timestamps)                                    \
    X(measure) X(threshold) X(slope) X(slope_end) X(pmax) X(recur) X(few) X(not_capable_drops) X(phantom_rate)         \
    /* AVQ: bytes a ns as Q48, that a second, and 1/s a ns times 2^64. */                                              \
    X(capacity) X(raise) X(lower) X(virtual_buffer)                                                                    \
    /* WRED: the colour of each DSCP, 2 bits each. */                                                                  \
    X(dscp_0) X(dscp_1)                                                                                                \
    COLOUR(X, 0) COLOUR(X, 1) COLOUR(X, 2) COLOUR(X, 3)
#define COLOUR(X, i) X(min_th_##i) X(max_th_##i) X(max_p_##i) X(marks_##i) X(ecn_min_th_##i) X(ecn_max_th_##i) X(ecn_max_p_##i)

/// What it has seen. python/penstock/kernel/state.py says what of it is shown, under which name.
#define STATE(X)                                                                                                       \
    X(generation) X(begun) X(now)                                                                                      \
    /* The virtual queue: when what has arrived will have left, with a fraction; the ring of what may still wait. */   \
    X(busy_until) X(busy_fraction) X(head) X(tail) X(probe) X(pkts) X(bytes) X(queue_pkts) X(queue_bytes)                       \
    X(avg) X(p) X(p2) X(inside_0) X(count_0) X(count_bytes_0) X(inside_1) X(count_1) X(count_bytes_1)                  \
    X(min_th) X(max_th) X(max_p) X(p2_max) X(next)                                                                     \
    X(last) X(last_at) X(again_at) X(climb_pkts) X(climb_marks) X(n) X(status) X(region) X(held)                       \
    X(old) X(accu) X(burst) X(phantom) X(phantom_at) X(spread) X(c_tilde) X(vq)                                        \
    X(inside_c1) X(count_c1) X(count_bytes_c1) X(inside_c2) X(count_c2) X(count_bytes_c2)                              \
    X(inside_c3) X(count_c3) X(count_bytes_c3)                                                                         \
    /* Counters. */                                                                                                    \
    X(arrivals) X(arrived_bytes) X(departures) X(delay_ns) X(marks_incipient) X(marks_ce)                              \
    X(drops_early) X(drops_forced) X(drops_overflow) X(large) X(late_updates)

#define FIELD(name) __u64 name;
struct params {
    PARAMS(FIELD)
};
struct state {
    STATE(FIELD)
};
typedef const volatile struct params P;

/// A packet in the virtual queue: when its transmission starts, when it came, and what had come before it.
struct slot {
    __u64 start, arrived, pkts, bytes;
};
enum { SLOTS = 16384, STEPS = 15, UPDATES = 128 };

struct arrival {
    __u64 now;
    __u32 bytes, pkts;
    __u8 ecn, dscp;
    __u32 random[3];
};

#define ALWAYS static inline __attribute__((always_inline))
#define ONE (1ULL << 32)

// Arithmetic

/// a·b / 2^32.
ALWAYS __u64 mul(__u64 a, __u64 b) {
    __u64 ah = a >> 32, al = (__u32)a, bh = b >> 32, bl = (__u32)b;
    return ((ah * bh) << 32) + ah * bl + al * bh + (al * bl >> 32);
}

// The verifier follows both ways of each branch, and in a loop all ways of all rounds. So what is used in loops has no
// branches. Numbers are below 2^63.

/// 1 where a < b, else 0.
ALWAYS __u64 below(__u64 a, __u64 b) { return (a - b) >> 63; }
ALWAYS __u64 least(__u64 a, __u64 b) { return b ^ ((a ^ b) & -below(a, b)); }
ALWAYS __u64 most(__u64 a, __u64 b) { return a ^ ((a ^ b) & -below(a, b)); }
/// a - b, at least 0.
ALWAYS __u64 less(__u64 a, __u64 b) { return (a - b) & (below(a, b) - 1); }

ALWAYS __s64 smul(__s64 a, __u64 b) {
    __s64 sign = a >> 63;
    return ((__s64)mul((a ^ sign) - sign, b) ^ sign) - sign;
}

/// a / b as Q32, to 31 bits; b is above 0.
ALWAYS __u64 ratio(__u64 a, __u64 b) {
    __u64 whole = a / b, rest = a - whole * b;
    int by;
    for (int bits = 16; bits; bits >>= 1) {
        by = bits & -below(0, b >> (32 + bits));
        rest >>= by;
        b >>= by;
    }
    by = b >> 32;
    return (whole << 32) + ((rest >> by) << 32) / (b >> by);
}

/// 2^-x, where x is Q58: to 2^-30.
ALWAYS __u64 exp2_neg(__u64 x) {
    __u32 whole = x >> 58;
    __u64 f = x << 6 >> 32, y, e = ONE;
    int half = f >> 31;
    if (half)
        f -= ONE / 2;
    y = mul(f, 2977044472ULL); // ln 2
    // e^-y, y below 0.35: Taylor's eight terms, from the last.
    e = ONE - mul(y, e) / 8;
    e = ONE - mul(y, e) / 7;
    e = ONE - mul(y, e) / 6;
    e = ONE - mul(y, e) / 5;
    e = ONE - mul(y, e) / 4;
    e = ONE - mul(y, e) / 3;
    e = ONE - mul(y, e) / 2;
    e = ONE - mul(y, e);
    if (half)
        e = mul(e, 3037000500ULL); // 2^-1/2
    return e >> (whole & 63);
}

/// -log2 x of 0 < x <= 1, both Q32: by squares, to 2^-28.
ALWAYS __u64 log2_neg(__u64 x) {
    __u64 y = 0, bit = ONE;
    for (int bits = 16; bits; bits >>= 1) {
        int by = bits & -below(x >> (32 - bits), 1);
        x <<= by;
        y += by * ONE;
    }
    if (!(x >> 32)) // in [1/2, 1): doubled
        x <<= 1, y += ONE;
    // x in [1, 2) is 2^f: y is the whole part less f.
    for (int i = 0; i < 30; i++) {
        __u64 over;
        bit >>= 1;
        x = mul(x, x);
        over = x >> 33;
        x >>= over;
        y -= over * bit;
    }
    return y;
}

/// Seconds as Q32.
ALWAYS __u64 seconds(__u64 ns) { return mul(ns, 18446744074ULL); }

/// A coin that falls with probability p.
ALWAYS int coin(__u64 p, __u32 random) { return random < p; }

// The virtual queue: penstock_queue::Link with a FIFO

/// The verifier follows each way to an index for itself, as long as it knows the ways apart: what comes from memory has
/// come by one.
ALWAYS __u64 unknown(struct state *s, __u64 index) {
    *(volatile __u64 *)&s->probe = index;
    return *(volatile __u64 *)&s->probe;
}

/// The first packet whose transmission starts after t.
ALWAYS __u64 waiting(struct state *s, const struct slot *ring, __u64 t) {
    __u64 low = s->tail, high = s->head;
    for (int i = 0; i < STEPS; i++) {
        if (low >= high)
            break;
        __u64 middle = (low + high) >> 1;
        if (ring[unknown(s, middle) & (SLOTS - 1)].start > t)
            high = middle;
        else
            low = middle + 1;
    }
    return unknown(s, low);
}

struct queue {
    __u64 first, pkts, bytes;
    int idle;
};

ALWAYS struct queue queue_at(struct state *s, const struct slot *ring, __u64 t) {
    struct queue q = {.first = waiting(s, ring, t), .idle = t >= s->busy_until};
    if (q.first < s->head) {
        q.pkts = s->pkts - ring[q.first & (SLOTS - 1)].pkts;
        q.bytes = s->bytes - ring[q.first & (SLOTS - 1)].bytes;
    }
    return q;
}

/// The length in the queue's unit, Q32.
ALWAYS __u64 length(P *p, const struct queue *q) { return (p->in_bytes ? q->bytes : q->pkts) << 32; }

ALWAYS int room(P *p, const struct state *s, const struct queue *q, const struct arrival *a) {
    __u64 there = p->limit_bytes ? q->bytes + a->bytes : q->pkts + a->pkts;
    if (s->head - s->tail >= SLOTS)
        return 0;
    if (q->idle)
        return 1;
    if (p->count_in_service && !p->limit_bytes)
        there++;
    return there <= p->limit;
}

ALWAYS void enqueue(P *p, struct state *s, struct slot *ring, const struct arrival *a) {
    __u64 start = a->now, fraction = 0;
    if (s->busy_until > start) {
        start = s->busy_until;
        fraction = s->busy_fraction;
    }
    struct slot *slot = &ring[s->head & (SLOTS - 1)];
    slot->start = start;
    slot->arrived = a->now;
    slot->pkts = s->pkts;
    slot->bytes = s->bytes;
    s->head++;
    s->pkts += a->pkts;
    s->bytes += a->bytes;
    s->departures += a->pkts;
    s->delay_ns += (start - a->now) * a->pkts;
    fraction += a->bytes * p->byte_ns;
    s->busy_until = start + (fraction >> 24);
    s->busy_fraction = fraction & 0xffffff;
}

// Signals: parts/signal.rs

ALWAYS enum verdict at_level(P *p, enum verdict mark, const struct arrival *a, __u64 p_b) {
    return p->ecn && a->ecn != NOT_ECT && p_b <= p->mark_p ? mark : DROP_EARLY;
}

ALWAYS enum verdict forced(P *p, const struct arrival *a) {
    return p->ecn && p->mark_forced && a->ecn != NOT_ECT ? MARK_CE : DROP_FORCED;
}

// The average: parts/estimator.rs

ALWAYS __u64 average(P *p, __u64 avg, __u64 q, __u64 idle, int is_idle) {
    if (is_idle) {
        if (p->idle_step)
            idle -= idle % p->idle_step;
        avg = idle >= p->idle_max ? 0 : mul(avg, exp2_neg(idle * p->idle_rate));
        if (!p->idle_step)
            return avg;
    }
    return q >= avg ? avg + mul(q - avg, p->w_q) : avg - mul(avg - q, p->w_q);
}

// The gate: parts/gate.rs

/// With DRAWN `inside` is one more than R.
struct gate {
    __u64 *inside, *count, *bytes;
};

ALWAYS void leave(struct gate g) {
    *g.count = -1;
    *g.bytes = 0;
    *g.inside = 0;
}

ALWAYS void restart(P *p, struct gate g) {
    *g.count = 0;
    *g.bytes = 0;
    if (p->gate == DRAWN)
        *g.inside = 0;
}

ALWAYS void count(P *p, struct gate g, const struct arrival *a) {
    if (p->gate != DRAWN)
        *g.inside = 1;
    *g.count += 1;
    *g.bytes += a->bytes;
}

ALWAYS __u64 p_a(P *p, __u64 p_b, __u64 n) {
    __u64 due = n >= ONE / 2 ? 2 * ONE : n * p_b, rest;
    if (p->gate == GEOMETRIC)
        return p_b;
    if (p->gate == WAIT) {
        if (due < ONE)
            return 0;
        rest = less(2 * ONE, due);
    } else {
        rest = less(ONE, due);
    }
    return p_b >= rest ? ONE : (p_b << 32) / rest;
}

ALWAYS __u64 scaled(P *p, __u64 chance, const struct arrival *a) {
    return least(chance * a->bytes / p->mean_packet, ONE);
}

/// decide() with DRAWN.
ALWAYS int reaches(P *p, struct gate g, __u64 p_b, const struct arrival *a, __u32 random) {
    int first = !*g.inside;
    __u64 n, drawn = *g.inside - 1;
    count(p, g, a);
    n = p->sizes == SCALE_A ? *g.bytes / p->mean_packet : *g.count;
    if (p->sizes == SCALE_B)
        p_b = scaled(p, p_b, a);
    if (!first && n < ONE / 2 && n * p_b < drawn)
        return 0;
    *g.inside = 1 + (__u64)random;
    *g.count = *g.bytes = 0;
    return !first;
}

ALWAYS int decide(P *p, struct gate g, __u64 p_b, const struct arrival *a, __u32 random) {
    __u64 chance;
    if (p->gate == DRAWN)
        return reaches(p, g, p_b, a, random);
    if (!*g.inside && p->first_passes) {
        *g.inside = 1;
        *g.count = 1;
        *g.bytes = a->bytes;
        return 0;
    }
    count(p, g, a);
    if (p->sizes == SCALE_B) {
        chance = p_a(p, scaled(p, p_b, a), *g.count);
    } else if (p->sizes == SCALE_A) {
        chance = p_a(p, p_b, *g.bytes / p->mean_packet);
        if (chance < ONE)
            chance = scaled(p, chance, a);
    } else {
        chance = p_a(p, p_b, *g.count);
    }
    if (!coin(chance, random))
        return 0;
    restart(p, g);
    return 1;
}

// Profiles: parts/profile.rs, family/mecn.rs, family/nred.rs

enum at { BELOW, ON, LEVELS, SEVERE, BEYOND };
struct point {
    enum at at;
    __u64 p1, p2;
};

ALWAYS __u64 ramp(__u64 avg, __u64 from, __u64 to, __u64 p) { return mul(p, least(ratio(avg - from, to - from), ONE)); }

/// From p at max_th to 1 at 2·max_th.
ALWAYS __u64 gentle_part(__u64 avg, __u64 max_th, __u64 p) {
    return least(p + mul(ONE - p, ratio(avg - max_th, max_th)), ONE);
}

ALWAYS struct point straight(enum gentle gentle, __u64 avg, __u64 min_th, __u64 max_th, __u64 max_p, __u64 frozen) {
    struct point x = {BELOW, 0, 0};
    if (avg < min_th)
        return x;
    x.at = ON;
    if (avg < max_th)
        x.p1 = ramp(avg, min_th, max_th, max_p);
    else if (gentle != LINEAR && avg < 2 * max_th)
        x.p1 = gentle_part(avg, max_th, gentle == FROZEN ? frozen : max_p);
    else
        x.at = BEYOND, x.p1 = x.p2 = ONE;
    return x;
}

ALWAYS struct point two_levels(P *p, const struct state *s) {
    struct point x = {BELOW, 0, 0};
    if (s->avg < s->min_th)
        return x;
    if (s->avg < s->max_th) {
        x.at = ON;
        x.p1 = ramp(s->avg, s->min_th, s->max_th, s->max_p);
        if (s->avg >= p->mid_th) {
            x.at = LEVELS;
            x.p2 = ramp(s->avg, p->mid_th, s->max_th, s->p2_max);
        }
    } else if (p->gentle_above && s->avg < 2 * s->max_th) {
        x.at = SEVERE;
        x.p2 = gentle_part(s->avg, s->max_th, most(s->max_p, s->p2_max));
    } else {
        x.at = BEYOND;
        x.p1 = x.p2 = ONE;
    }
    return x;
}

/// x^n, x in [0, 1].
ALWAYS __u64 power(__u64 x, __u64 n) {
    __u64 y = ONE, octaves;
    if (!(__u32)n && n <= 8 * ONE) {
        for (int i = 0; i < 8; i++)
            y = mul(y, ONE ^ ((ONE ^ x) & -below(i, n >> 32)));
        return y;
    }
    if (!x)
        return 0;
    octaves = mul(n, log2_neg(x));
    return octaves >> 37 ? 0 : exp2_neg(octaves << 26);
}

ALWAYS struct point power_law(P *p, const struct state *s) {
    struct point x = {BELOW, 0, 0};
    __u64 whole = p->buffer - s->min_th;
    if (s->avg < s->min_th)
        return x;
    if (s->avg >= p->buffer) {
        x.at = BEYOND;
        x.p1 = x.p2 = ONE;
        return x;
    }
    x.at = ON;
    x.p1 = power(ratio(s->avg - s->min_th, whole), s->n);
    return x;
}

// Adapters

ALWAYS __u64 part(const struct state *s, __u64 f) { return s->min_th + mul(s->max_th - s->min_th, f); }

/// family/ared.rs, Fig. 2; whether anything changed.
ALWAYS int floyd(P *p, struct state *s) {
    int strict = p->at_arrivals != 0;
    if (s->avg > part(s, p->high_at) && (strict ? s->max_p < p->p_high : s->max_p <= p->p_high))
        s->max_p = least(s->max_p + least(p->alpha, s->max_p / 4), ONE);
    else if (s->avg < part(s, p->low_at) && (strict ? s->max_p > p->p_low : s->max_p >= p->p_low))
        s->max_p = mul(s->max_p, p->beta);
    else
        return 0;
    return 1;
}

ALWAYS void second(P *p, struct state *s) {
    if (p->ratio)
        s->p2_max = least(mul(p->ratio, s->max_p), ONE);
}

/// family/amecn.rs, Fig. 3. max_p is between its limits before, too, so that where nothing is due nothing changes.
ALWAYS void levels(P *p, struct state *s) {
    __u64 target = part(s, p->middle), from = target, to = target, up, down, raised, lowered, off;
    if (p->deadband) {
        from = part(s, p->low_at);
        to = part(s, p->high_at);
    }
    up = below(to, s->avg) & ~below(p->p_high, s->max_p);
    down = below(s->avg, from) & ~below(s->max_p, p->p_low);
    raised = mul(mul(ratio(less(s->avg, target), target), p->alpha), s->max_p);
    off = mul(ratio(less(target, s->avg), target - s->min_th), 730144440ULL); // 0.17
    lowered = mul(s->max_p, most(less(ONE, off), p->beta));
    s->max_p = (s->max_p & (down - 1)) + (lowered & -down) + (raised & -up);
    s->max_p = most(least(s->max_p, p->p_high), p->p_low);
    second(p, s);
}

ALWAYS void exponent(P *p, struct state *s, int up) {
    s->n = up ? least(s->n + p->n_step, p->n_max) : most(less(s->n, p->n_step), p->n_min);
}

enum { ST_BETWEEN, ST_BELOW, ST_ABOVE };

/// family/nred.rs: the exponent moves where the average enters a region.
ALWAYS void crossed(P *p, struct state *s) {
    __u64 now;
    if (s->avg < s->min_th)
        now = ST_BELOW;
    else if (s->avg > s->max_th)
        now = ST_ABOVE;
    else if (s->avg > s->min_th && s->avg < s->max_th)
        now = ST_BETWEEN;
    else
        return;
    if (now != s->status && now != ST_BETWEEN)
        exponent(p, s, now == ST_BELOW);
    s->status = now;
}

enum { RG_B, RG_A, RG_C };

/// family/red_at.rs, Fig. 6.
ALWAYS void regions(P *p, struct state *s) {
    __u64 region = s->avg < p->region_a ? RG_A : s->avg > p->max_lo ? RG_C : RG_B;
    s->held = region == s->region ? s->held + 1 : 1;
    s->region = region;
    if (s->held <= p->hold)
        return;
    s->held = 0;
    if (region == RG_A) {
        s->min_th = least(s->min_th + p->min_step, p->min_hi);
        s->max_th = least(s->max_th + p->max_step, p->max_hi);
    } else if (region == RG_C) {
        s->min_th = most(less(s->min_th, p->min_step), p->min_lo);
        s->max_th = most(less(s->max_th, p->max_step), p->max_lo);
    } else if (p->reset) {
        s->min_th = p->min_th;
        s->max_th = p->max_th;
    }
    s->min_th = least(s->min_th, mul(s->max_th, 4290672329ULL)); // 0.999
}

/// family/rared.rs, Fig. 1: whether the average climbs.
ALWAYS int climbs(P *p, struct state *s, const struct arrival *a, __u64 q) {
    __u64 new = p->instantaneous ? q : s->avg, rise = less(new, s->last), elapsed = a->now - s->last_at;
    s->last = new;
    s->last_at = a->now;
    if (!(s->avg > s->min_th && elapsed && rise > mul(p->slope_th, seconds(least(elapsed, ONE)))))
        return 0;
    return p->climb != ONCE || (q > s->max_th && a->now >= s->again_at);
}

// RED's family: parts/compose.rs

ALWAYS enum verdict family(P *p, struct state *s, const struct queue *q, const struct arrival *a, __u64 idle) {
    struct gate first = {&s->inside_0, &s->count_0, &s->count_bytes_0};
    struct gate other = {&s->inside_1, &s->count_1, &s->count_bytes_1};
    __u64 len = length(p, q);
    struct point at = {BELOW, 0, 0};
    int climbing = 0;

    s->avg = average(p, s->avg, len, idle, q->idle);
    if (p->adapts && p->at_arrivals && a->now > s->next) {
        if (p->kind == AMECN) {
            levels(p, s);
            s->next = a->now + p->interval;
        } else if (floyd(p, s)) {
            s->next = a->now + p->interval;
        }
    }
    if (p->kind == NRED)
        crossed(p, s);
    if (p->kind == RED_AT)
        regions(p, s);
    if (len >= p->early_min_queue) {
        if (p->kind == MECN || p->kind == AMECN)
            at = two_levels(p, s);
        else if (p->kind == NRED)
            at = power_law(p, s);
        else
            at = straight(p->gentle, s->avg, s->min_th, s->max_th, s->max_p, p->max_p);
    }
    if (p->kind == RARED)
        climbing = climbs(p, s, a, len);
    s->p = at.p1;
    s->p2 = at.p2;
    if (at.at == BELOW) {
        leave(first);
        leave(other);
        return PASS;
    }
    if (at.at == BEYOND) {
        restart(p, first);
        restart(p, other);
        return forced(p, a);
    }
    if (p->kind == RARED && climbing) {
        enum verdict verdict = PASS;
        int signalled;
        if (p->climb == RAMP) {
            at = straight(p->gentle, s->avg, s->min_th, s->max_th, p->max_p_climb, p->max_p);
            s->p = at.p1;
            signalled = decide(p, first, at.p1, a, a->random[0]);
        } else {
            s->p = p->max_p_climb;
            count(p, first, a);
            signalled = coin(s->p, a->random[0]);
            if (signalled)
                restart(p, first);
        }
        if (signalled) {
            verdict = at_level(p, MARK_CE, a, s->p);
            if (p->climb == ONCE)
                s->again_at = a->now + p->round_trip;
        }
        s->climb_pkts += a->pkts;
        s->climb_marks += verdict == MARK_CE ? a->pkts : 0;
        return verdict;
    }
    if (at.at == SEVERE) {
        count(p, first, a);
        if (!decide(p, other, at.p2, a, a->random[0]))
            return PASS;
        return p->mark_severe ? at_level(p, MARK_CE, a, at.p2) : DROP_EARLY;
    }
    if (at.at == LEVELS && decide(p, other, at.p2, a, a->random[1])) {
        // Where the moderate coin falls, the incipient count goes on all the same.
        count(p, first, a);
        return at_level(p, MARK_CE, a, at.p2);
    }
    if (!decide(p, first, at.p1, a, a->random[0]))
        return PASS;
    return at_level(p, p->kind == MECN || p->kind == AMECN ? MARK_INCIPIENT : MARK_CE, a, at.p1);
}

ALWAYS void family_overflows(P *p, struct state *s) {
    restart(p, (struct gate){&s->inside_0, &s->count_0, &s->count_bytes_0});
    restart(p, (struct gate){&s->inside_1, &s->count_1, &s->count_bytes_1});
}

ALWAYS void family_ticks(P *p, struct state *s) {
    if (p->kind == AMECN)
        levels(p, s);
    else
        floyd(p, s);
}

// WRED with one average: family/wred.rs

#define OF_COLOUR(i)                                                                                                   \
    case i:                                                                                                            \
        if (p->marks_##i && p->ecn && a->ecn != NOT_ECT)                                                               \
            at = straight(LINEAR, s->avg, p->ecn_min_th_##i, p->ecn_max_th_##i, p->ecn_max_p_##i, 0), marks = 1;       \
        else                                                                                                           \
            at = straight(p->gentle, s->avg, p->min_th_##i, p->max_th_##i, p->max_p_##i, p->max_p);                    \
        break

ALWAYS struct gate colours_gate(P *p, struct state *s, const struct arrival *a, __u32 *colour) {
    *colour = (a->dscp & 32 ? p->dscp_1 : p->dscp_0) >> (2 * (a->dscp & 31)) & 3;
    switch (*colour) {
    case 1:
        return (struct gate){&s->inside_c1, &s->count_c1, &s->count_bytes_c1};
    case 2:
        return (struct gate){&s->inside_c2, &s->count_c2, &s->count_bytes_c2};
    case 3:
        return (struct gate){&s->inside_c3, &s->count_c3, &s->count_bytes_c3};
    }
    return (struct gate){&s->inside_0, &s->count_0, &s->count_bytes_0};
}

ALWAYS enum verdict wred(P *p, struct state *s, const struct queue *q, const struct arrival *a, __u64 idle) {
    __u32 colour;
    struct gate gate = colours_gate(p, s, a, &colour);
    struct point at = {BELOW, 0, 0};
    __u64 len = length(p, q);
    int marks = 0;
    s->avg = average(p, s->avg, len, idle, q->idle);
    if (len >= p->early_min_queue) {
        switch (colour) {
            OF_COLOUR(0);
            OF_COLOUR(1);
            OF_COLOUR(2);
            OF_COLOUR(3);
        }
    }
    s->p = at.p1;
    if (at.at == BELOW) {
        leave(gate);
        return PASS;
    }
    if (at.at == BEYOND) {
        restart(p, gate);
        return marks ? MARK_CE : forced(p, a);
    }
    if (!decide(p, gate, at.p1, a, a->random[0]))
        return PASS;
    return marks ? MARK_CE : at_level(p, MARK_CE, a, at.p1);
}

// alone/step.rs

/// A phantom's length is in bytes times 2^16.
ALWAYS enum verdict step(P *p, struct state *s, const struct queue *q, const struct arrival *a) {
    __u64 start = most(a->now, s->busy_until), x;
    if (p->measure == SOJOURN) {
        x = seconds(start - a->now);
    } else if (p->measure == PHANTOM) {
        // The packet leaves at `start`, as nothing that waits is dropped.
        __u64 drained = mul(p->phantom_rate, least(start - s->phantom_at, ONE));
        s->phantom = less(s->phantom, drained) + ((__u64)a->bytes << 16);
        s->phantom_at = start;
        x = s->phantom << 16;
    } else {
        x = length(p, q);
    }
    if (x <= p->threshold || q->pkts < p->few)
        return PASS;
    if (p->slope && x < p->slope_end) {
        __u64 chance = ramp(x, p->threshold, p->slope_end, p->pmax);
        if (p->recur) {
            s->spread += chance;
            if (s->spread <= ONE)
                return PASS;
            s->spread -= ONE;
        } else if (!coin(chance, a->random[0])) {
            return PASS;
        }
    }
    if (p->ecn && a->ecn != NOT_ECT)
        return MARK_CE;
    return p->not_capable_drops ? DROP_EARLY : PASS;
}

// Controllers; s->p is Q48 here

#define UNIT (1ULL << 48)
#define TENTH 28147497671066ULL
#define FIFTIETH 5629499534213LL

ALWAYS __u64 bounded(__s64 p) { return least(p & ~(p >> 63), UNIT); }

/// p <- p + a (now - target) + b (now - old)
ALWAYS __s64 pi_step(P *p, const struct state *s, __u64 now) {
    return smul((__s64)(now - p->target), p->gain_a) + smul((__s64)(now - s->old), p->gain_b);
}

/// alone/pi.rs; its b·(q_old - q_ref) is a·(q - q_ref) with a - b, and b·(q - q_old).
ALWAYS void pi_ticks(P *p, struct state *s, const struct queue *q) {
    __u64 now = p->in_bytes ? ratio(q->bytes, p->mean_packet) : q->pkts << 32;
    s->p = bounded(s->p + pi_step(p, s, now));
    s->old = now;
}

ALWAYS enum verdict pi(P *p, struct state *s, const struct arrival *a) {
    return coin(s->p >> 16, a->random[0]) ? at_level(p, MARK_CE, a, s->p >> 16) : PASS;
}

/// alone/pi2.rs: the delay of the packet at the head.
ALWAYS void pi2_ticks(P *p, struct state *s, const struct queue *q, const struct slot *ring, __u64 t) {
    __u64 now = q->pkts ? seconds(least(t - ring[q->first & (SLOTS - 1)].arrived, 60 * 1000000000ULL)) : 0;
    s->p = bounded(s->p + pi_step(p, s, now));
    s->old = now;
}

ALWAYS enum verdict pi2(P *p, struct state *s, const struct arrival *a) {
    __u64 chance = s->p >> 16, p_c = mul(chance, chance);
    if (!chance)
        return PASS;
    // max(u1, u2) < p' with p'².
    int classic = coin(chance, a->random[0]) && coin(chance, a->random[1]);
    if (a->ecn == NOT_ECT || (a->ecn == ECT0 && !p->scalable_ect0))
        return classic ? at_level(p, MARK_CE, a, p_c) : PASS;
    if (p_c > p->mark_p && classic)
        return DROP_EARLY;
    return coin(least(mul(p->coupling, chance), ONE), a->random[2]) ? at_level(p, MARK_CE, a, 0) : PASS;
}

/// Section 4.2: small probabilities move in small steps.
ALWAYS __s64 auto_tuned(__s64 step, __u64 p) {
    // Below 1e-6, 1e-5, … 1e-1, as Q48.
    int fifth = below(p, 281474977ULL) + below(p, 2814749767ULL) + below(p, 28147497671ULL) +
                below(p, 281474976711ULL) + below(p, 2814749767107ULL);
    return step >> (2 * fifth + below(p, TENTH));
}

/// alone/pie.rs, section 4.2; the departure rate is known.
ALWAYS void pie_ticks(P *p, struct state *s, const struct queue *q, const struct slot *ring) {
    __u64 now, old = s->old;
    __s64 step;
    if (p->timestamps) {
        // What the last one to leave has waited; 0 if it left nothing behind.
        const struct slot *left = &ring[(q->first - 1) & (SLOTS - 1)];
        now = q->pkts && q->first ? seconds(least(left->start - left->arrived, 60 * 1000000000ULL)) : 0;
    } else {
        now = seconds(q->bytes * p->byte_ns >> 24);
    }
    step = auto_tuned(pi_step(p, s, now), s->p);
    if (s->p >= TENTH && step > FIFTIETH)
        step = FIFTIETH;
    if (now > p->high_delay)
        step += FIFTIETH;
    s->p += step;
    if (!now && !old && (__s64)s->p > 0)
        s->p = mul(s->p, p->decay);
    s->p = bounded(s->p);
    if (!s->p && now < p->target / 2 && old < p->target / 2)
        s->burst = p->max_burst;
    else
        s->burst = less(s->burst, p->period);
    s->old = now;
}

/// Sections 4.1 and 5.4.
ALWAYS enum verdict pie(P *p, struct state *s, const struct queue *q, const struct arrival *a) {
    __u64 chance = s->p >> 16;
    if (s->burst || (s->old < p->target / 2 && chance < 858993459ULL) || q->bytes < p->min_backlog) // 0.2
        return PASS;
    if (p->derandomize) {
        s->accu = chance ? s->accu + chance : 0;
        if (s->accu < 3650722202ULL) // 0.85
            return PASS;
        if (s->accu >= 36507222016ULL) { // 8.5
            s->accu = 0;
            return at_level(p, MARK_CE, a, chance);
        }
    }
    if (!coin(chance, a->random[0]))
        return PASS;
    s->accu = 0;
    return at_level(p, MARK_CE, a, chance);
}

/// alone/avq.rs; the virtual queue's bytes are times 2^16.
ALWAYS enum verdict avq(P *p, struct state *s, const struct arrival *a) {
    __u64 gap = least(a->now - s->last_at, 2 * ONE), size = (__u64)a->bytes << 16;
    s->last_at = a->now;
    s->vq = less(s->vq, mul(s->c_tilde, gap));
    int overflows = s->vq + size > p->virtual_buffer << 16;
    if (!overflows)
        s->vq += size;
    s->c_tilde = less(least(s->c_tilde + mul(p->raise, seconds(gap)), p->capacity), p->lower * a->bytes >> 16);
    return overflows ? at_level(p, MARK_CE, a, ONE) : PASS;
}

// All of it

/// A new set of parameters begins; what was learned stays.
ALWAYS void begin(P *p, struct state *s, __u64 now) {
    if (!s->generation) {
        s->begun = now;
        s->count_0 = s->count_1 = s->count_c1 = s->count_c2 = s->count_c3 = -1;
        s->c_tilde = p->capacity;
        s->burst = p->max_burst;
        s->next = now + p->first_period;
        s->last_at = s->phantom_at = now;
    }
    s->generation = p->generation;
    s->c_tilde = least(s->c_tilde, p->capacity);
    s->min_th = p->min_th;
    s->max_th = p->max_th;
    s->max_p = p->max_p;
    s->p2_max = p->p2_max;
    s->n = p->n_0;
    s->status = s->region = s->held = 0;
    if (p->kind == AMECN) {
        s->max_p = most(least(s->max_p, p->p_high), p->p_low);
        second(p, s);
    }
    if (p->interval)
        s->next = now + p->interval;
}

/// The updates that were due since the last arrival, each with the queue of its time.
ALWAYS void updates(P *p, struct state *s, const struct slot *ring, __u64 now) {
    __u64 every = p->interval ? p->interval : p->period;
    if (!every || p->at_arrivals)
        return;
    for (int i = 0; i < UPDATES; i++) {
        if (s->next > now)
            return;
        if (p->kind == PI || p->kind == PI2 || p->kind == PIE) {
            struct queue q = queue_at(s, ring, s->next);
            if (p->kind == PI)
                pi_ticks(p, s, &q);
            else if (p->kind == PI2)
                pi2_ticks(p, s, &q, ring, s->next);
            else
                pie_ticks(p, s, &q, ring);
        } else {
            family_ticks(p, s);
        }
        s->next += every;
    }
    if (s->next <= now) {
        s->late_updates += (now - s->next) / every + 1;
        s->next += ((now - s->next) / every + 1) * every;
    }
}

/// What the discipline says of a packet that finds q.
ALWAYS enum verdict judge(P *p, struct state *s, struct slot *ring, struct arrival *a, struct queue *q) {
    __u64 idle;
    a->now = most(a->now, s->now); // another CPU may have been first
    s->now = a->now;
    if (s->generation != p->generation)
        begin(p, s, a->now);
    updates(p, s, ring, a->now);
    *q = queue_at(s, ring, a->now);
    s->tail = q->first;
    idle = less(a->now, s->busy_until);
    switch (p->kind) {
    case STEP:
        return step(p, s, q, a);
    case PI:
        return pi(p, s, a);
    case PI2:
        return pi2(p, s, a);
    case PIE:
        return pie(p, s, q, a);
    case AVQ:
        return avq(p, s, a);
    case WRED:
        return wred(p, s, q, a, idle);
    default:
        return family(p, s, q, a, idle);
    }
}

/// What becomes of a packet.
ALWAYS enum verdict arrive(P *p, struct state *s, struct slot *ring, struct arrival *a) {
    struct queue q;
    enum verdict verdict = judge(p, s, ring, a, &q);
    if (verdict < DROP_EARLY && !room(p, s, &q, a)) {
        verdict = DROP_OVERFLOW;
        if (p->kind == WRED) {
            __u32 colour;
            restart(p, colours_gate(p, s, a, &colour));
        } else {
            family_overflows(p, s);
        }
    }
    if (verdict < DROP_EARLY)
        enqueue(p, s, ring, a);
    s->queue_pkts = q.pkts;
    s->queue_bytes = q.bytes;
    s->arrivals += a->pkts;
    s->arrived_bytes += a->bytes;
    s->large += a->pkts > 1;
    switch (verdict) {
    case PASS:
        break;
    case MARK_INCIPIENT:
        s->marks_incipient += a->pkts;
        break;
    case MARK_CE:
        s->marks_ce += a->pkts;
        break;
    case DROP_EARLY:
        s->drops_early += a->pkts;
        break;
    case DROP_FORCED:
        s->drops_forced += a->pkts;
        break;
    case DROP_OVERFLOW:
        s->drops_overflow += a->pkts;
        break;
    }
    return verdict;
}
