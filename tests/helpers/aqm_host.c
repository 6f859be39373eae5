// bpf/src/aqm.h for this machine, so that tests can drive it.

typedef unsigned char __u8;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef long long __s64;
#include "aqm.h"

static struct slot ring[SLOTS];

/// Another run begins.
void forget(void) { __builtin_memset(ring, 0, sizeof(ring)); }

/// One arrival. `enters` says whether it does, as in another run; below 0 what is decided here does.
int replay(P *p, struct state *s, __u64 now, __u32 bytes, __u8 ecn, __u8 dscp, const __u32 random[3], int enters) {
    struct arrival a = {now, bytes, 1, ecn, dscp, {random[0], random[1], random[2]}};
    struct queue q;
    int verdict;
    if (enters < 0)
        return arrive(p, s, ring, &a);
    verdict = judge(p, s, ring, &a, &q);
    if (enters)
        enqueue(p, s, ring, &a);
    s->queue_pkts = q.pkts;
    s->queue_bytes = q.bytes;
    return verdict;
}

/// The updates that are due by then.
void catch_up(P *p, struct state *s, __u64 now) { updates(p, s, ring, now); }

__u64 exp2_neg_(__u64 x) { return exp2_neg(x); }
__u64 log2_neg_(__u64 x) { return log2_neg(x); }
__u64 ratio_(__u64 a, __u64 b) { return ratio(a, b); }
__u64 mul_(__u64 a, __u64 b) { return mul(a, b); }
