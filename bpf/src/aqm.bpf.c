// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
//
// A discipline at a device's egress: it decides on a virtual queue (aqm.h), and passes, marks or drops. The parameters
// are constants of the loaded program, so that the verifier leaves out what this discipline does not do; another set of
// them is another program on the same link, with the same state.

#include "types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#include "aqm.h"

// The kernel's names and values, as far as they are used; field offsets are those of the running kernel.
enum { BPF_MAP_TYPE_ARRAY = 2, BPF_HDR_START_NET = 1 };
enum { TCX_NEXT = -1, TCX_DROP = 2, IP4 = 0x0800, IP6 = 0x86dd };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct __sk_buff {
    __u32 protocol, gso_segs, wire_len;
};
struct sk_buff {
    __u16 network_header;
    unsigned char *head, *data;
};
#pragma clang attribute pop

struct bpf_spin_lock {
    __u32 val;
};

extern void *bpf_cast_to_kern_ctx(void *) __ksym;

char _license[] SEC("license") = "Dual MIT/GPL";

/// What the scenario says, as words and as text: `show` reads it back from the program that runs.
const volatile __u64 words[sizeof(struct params) / 8] = {};
const volatile char scenario[65536] = {};

struct virtual_queue {
    struct bpf_spin_lock lock;
    struct state state;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct virtual_queue);
} queue SEC(".maps");

struct ring {
    struct slot slots[SLOTS];
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct ring);
} ring SEC(".maps");

/// The ECN field's byte, or the two that have it, and the DSCP; 0 for what is not IP.
static __always_inline int read_ip(struct __sk_buff *skb, __u8 ip[2], struct arrival *a) {
    __u16 protocol = bpf_ntohs(skb->protocol);
    __u8 class;
    if ((protocol != IP4 && protocol != IP6) || bpf_skb_load_bytes_relative(skb, 0, ip, 2, BPF_HDR_START_NET))
        return 0;
    class = protocol == IP4 ? ip[1] : ip[0] << 4 | ip[1] >> 4;
    a->ecn = class & 3;
    a->dscp = class >> 2;
    return protocol;
}

/// Writes the incipient level: the other of the two capable codepoints.
static __always_inline void mark_incipient(struct __sk_buff *skb, int protocol, __u8 ip[2], __u8 ecn) {
    struct sk_buff *k = bpf_cast_to_kern_ctx(skb);
    __u32 at = (__u32)((__u64)k->head - (__u64)k->data) + k->network_header;
    __u16 old, new;
    __builtin_memcpy(&old, ip, 2);
    ip[1] = protocol == IP4 ? (ip[1] & ~3) | ecn : (ip[1] & ~0x30) | ecn << 4;
    __builtin_memcpy(&new, ip, 2);
    bpf_skb_store_bytes(skb, at + 1, ip + 1, 1, 0);
    if (protocol == IP4)
        bpf_l3_csum_replace(skb, at + 10, old, new, 2);
}

SEC("tcx/egress")
int egress(struct __sk_buff *skb) {
    P *p = (P *)words;
    __u32 none = 0;
    __u8 ip[2] = {};
    struct arrival a = {
        .now = bpf_ktime_get_ns(),
        .bytes = skb->wire_len,
        .pkts = skb->gso_segs ? skb->gso_segs : 1,
        .random = {bpf_get_prandom_u32()},
    };
    if (p->kind == MECN || p->kind == AMECN || p->kind == PI2)
        a.random[1] = bpf_get_prandom_u32();
    if (p->kind == PI2)
        a.random[2] = bpf_get_prandom_u32();
    int protocol = read_ip(skb, ip, &a);
    struct virtual_queue *v = bpf_map_lookup_elem(&queue, &none);
    struct ring *r = bpf_map_lookup_elem(&ring, &none);
    if (!v || !r)
        return TCX_NEXT;

    // One lock a device, as a qdisc has.
    bpf_spin_lock(&v->lock);
    enum verdict verdict = arrive(p, &v->state, r->slots, &a);
    bpf_spin_unlock(&v->lock);

    if (verdict >= DROP_EARLY)
        return TCX_DROP;
    if (verdict == MARK_CE)
        bpf_skb_ecn_set_ce(skb);
    else if (verdict == MARK_INCIPIENT && a.ecn != CE_ && a.ecn != p->incipient)
        mark_incipient(skb, protocol, ip, p->incipient);
    return TCX_NEXT;
}
