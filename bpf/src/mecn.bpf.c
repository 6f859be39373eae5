// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
//
// Multi-level ECN for the kernel's TCP. A. Durresi, M. Sridharan, R. Jain, "Adaptive multi-level explicit congestion
// notification", 2007, table 3: an incipient mark takes beta1 of the window, a moderate one beta2, a loss beta3.
//
// The router turns ECT(0) into ECT(1), incipient, or into CE, moderate. CE is echoed by the kernel, as ECE (RFC 3168).
// ECT(1) is echoed here: each ECT(1) packet that arrives is one AE bit, on the next packet back that has none yet. AE
// is the reserved bit before CWR, unused where AccECN is not negotiated. So the numbers agree exactly, with delayed
// ACKs too, as long as no ACK is lost.
//
// All is one object, because the sender's tc program and the congestion control share `senders`.

#include "types.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_endian.h>

// The kernel's names and values, as far as they are used; field offsets are those of the running kernel.
enum { BPF_MAP_TYPE_LRU_HASH = 9, BPF_MAP_TYPE_SK_STORAGE = 24 };
enum { BPF_F_NO_PREALLOC = 1, BPF_NOEXIST = 1, BPF_SK_STORAGE_GET_F_CREATE = 1 };
enum { BPF_HDR_START_NET = 1, BPF_F_CURRENT_NETNS = -1 };
enum { TCX_NEXT = -1, IP4 = 0x0800, IP6 = 0x86dd, TCP = 6 };
enum { ECT_1 = 1, CE = 3 };
enum { SYN = 0x02, RST = 0x04, ACK = 0x10, AE = 0x01 }; // AE in the header's byte 12, the others in byte 13
enum { CA_ACK_ECE = 4, CA_DISORDER = 1, CA_RECOVERY = 3, CONG_NON_RESTRICTED = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct __sk_buff {
    __u32 protocol, gso_segs;
};
struct sk_buff {
    __u16 network_header;
    unsigned char *head, *data;
};
struct sock {};
struct tcp_sock {
    __u32 snd_una, snd_nxt, snd_cwnd, snd_ssthresh, undo_marker;
    __u64 tcp_mstamp;
};
#pragma clang attribute pop

struct bpf_sock;
struct bpf_sock_tuple {
    union {
        struct {
            __be32 saddr, daddr;
            __be16 sport, dport;
        } ipv4;
        struct {
            __be32 saddr[4], daddr[4];
            __be16 sport, dport;
        } ipv6;
    };
};

struct tcp_congestion_ops {
    __u32 (*ssthresh)(struct sock *sk);
    void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
    void (*set_state)(struct sock *sk, __u8 state);
    void (*in_ack_event)(struct sock *sk, __u32 flags);
    __u32 (*undo_cwnd)(struct sock *sk);
    char name[16];
    __u32 flags;
    void (*init)(struct sock *sk);
};

extern void *bpf_cast_to_kern_ctx(void *) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

char _license[] SEC("license") = "Dual MIT/GPL";

/// What a window is cut for; of two in one window the greater counts.
enum level { NONE, INCIPIENT, MODERATE, LOSS, LEVELS };

/// What is left of the window, in 1/65536, by level.
const volatile __u32 keep[LEVELS] = {65536, 65536, 65536, 65536};

struct counters {
    __u64 ect1_received, ce_received, ae_sent, ae_received;
    __u64 cuts[LEVELS]; // by level
    __u64 deepened;     // cuts of a window that a lesser one had cut before
    __u64 before[LEVELS], after[LEVELS]; // sums of the windows before and after the cuts, in packets
};
struct counters count;

static __always_inline void add(__u64 *counter, __u64 n) { __sync_fetch_and_add(counter, n); }

// Packets

struct flow {
    __be32 from[4], to[4]; // IPv4: mapped, ::ffff:a.b.c.d
    __be16 sport, dport;
};

struct packet {
    struct flow flow;
    __u32 tcp; // where TCP's header begins, from IP's
    __u32 segments;
    __u8 ecn;
    __u8 bits[2]; // bytes 12 and 13 of TCP's header: data offset and AE; flags
};

/// False for what is not TCP right behind its IP header, and for fragments.
static __always_inline int parse(struct __sk_buff *skb, struct packet *p) {
    __u8 ip[40];
    __builtin_memset(p, 0, sizeof(*p));
    switch (bpf_ntohs(skb->protocol)) {
    case IP4:
        if (bpf_skb_load_bytes_relative(skb, 0, ip, 20, BPF_HDR_START_NET) || ip[9] != TCP || ip[6] & 0x3f || ip[7])
            return 0;
        p->ecn = ip[1] & 3;
        p->tcp = (ip[0] & 15) * 4;
        p->flow.from[2] = p->flow.to[2] = bpf_htonl(0xffff);
        __builtin_memcpy(&p->flow.from[3], ip + 12, 4);
        __builtin_memcpy(&p->flow.to[3], ip + 16, 4);
        break;
    case IP6:
        if (bpf_skb_load_bytes_relative(skb, 0, ip, 40, BPF_HDR_START_NET) || ip[6] != TCP)
            return 0;
        p->ecn = ip[1] >> 4 & 3;
        p->tcp = 40;
        __builtin_memcpy(p->flow.from, ip + 8, 16);
        __builtin_memcpy(p->flow.to, ip + 24, 16);
        break;
    default:
        return 0;
    }
    // GRO merges only packets with the same ECN field and the same TCP flags.
    p->segments = skb->gso_segs ? skb->gso_segs : 1;
    return !bpf_skb_load_bytes_relative(skb, p->tcp, &p->flow.sport, 4, BPF_HDR_START_NET) &&
           !bpf_skb_load_bytes_relative(skb, p->tcp + 12, p->bits, 2, BPF_HDR_START_NET);
}

/// Turns AE over and mends the checksum. The device may have a link-layer header (veth) or none (TUN).
static __always_inline int flip_ae(struct __sk_buff *skb, struct packet *p) {
    struct sk_buff *k = bpf_cast_to_kern_ctx(skb);
    __u32 tcp = (__u32)((__u64)k->head - (__u64)k->data) + k->network_header + p->tcp;
    __u16 old, new;
    __builtin_memcpy(&old, p->bits, 2);
    p->bits[0] ^= AE;
    __builtin_memcpy(&new, p->bits, 2);
    return bpf_skb_store_bytes(skb, tcp + 12, p->bits, 1, 0) || bpf_l4_csum_replace(skb, tcp + 16, old, new, 2);
}

// The receiver's host

/// ECT(1) packets not echoed yet, by flow in the data's direction.
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 65536);
    __type(key, struct flow);
    __type(value, __u32);
} pending SEC(".maps");

SEC("tcx/ingress")
int data_in(struct __sk_buff *skb) {
    struct packet p;
    if (!parse(skb, &p))
        return TCX_NEXT;
    if (p.bits[1] & SYN)
        bpf_map_delete_elem(&pending, &p.flow); // the ports are used again
    if (p.ecn == CE)
        add(&count.ce_received, p.segments);
    if (p.ecn != ECT_1)
        return TCX_NEXT;
    add(&count.ect1_received, p.segments);
    __u32 none = 0, *waiting = bpf_map_lookup_elem(&pending, &p.flow);
    if (!waiting) {
        bpf_map_update_elem(&pending, &p.flow, &none, BPF_NOEXIST);
        waiting = bpf_map_lookup_elem(&pending, &p.flow);
    }
    if (waiting)
        __sync_fetch_and_add(waiting, p.segments);
    return TCX_NEXT;
}

SEC("tcx/egress")
int ack_out(struct __sk_buff *skb) {
    struct packet p;
    if (!parse(skb, &p) || (p.bits[1] & (ACK | SYN | RST)) != ACK || p.bits[0] & AE)
        return TCX_NEXT;
    struct flow data = {.sport = p.flow.dport, .dport = p.flow.sport};
    __builtin_memcpy(data.from, p.flow.to, 16);
    __builtin_memcpy(data.to, p.flow.from, 16);
    __u32 *waiting = bpf_map_lookup_elem(&pending, &data);
    if (!waiting)
        return TCX_NEXT;
    __u32 n = *(volatile __u32 *)waiting;
    // Where another CPU comes between, the next ACK takes it.
    if (n < p.segments || __sync_val_compare_and_swap(waiting, n, n - p.segments) != n)
        return TCX_NEXT;
    if (!flip_ae(skb, &p))
        add(&count.ae_sent, p.segments);
    return TCX_NEXT;
}

// The sender's host

struct sender {
    __u64 ece_at, ae_at; // tcp_mstamp of the latest ACK with ECE, and of the latest that brought AE
    __u32 ae, ae_taken;  // AE bits received, and how many of them the congestion control has seen
    __u32 before;        // the window before the first cut of this window of data
    __u32 cut_end;       // while `level` is not NONE: snd_nxt at the cut
    __u8 level, state;
    __u8 unused[6];
};

struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct sender);
} senders SEC(".maps");

SEC("tcx/ingress")
int ack_in(struct __sk_buff *skb) {
    struct packet p;
    if (!parse(skb, &p) || p.bits[1] & SYN || !(p.bits[0] & AE))
        return TCX_NEXT;
    add(&count.ae_received, p.segments);
    struct bpf_sock_tuple t = {};
    __u32 size;
    if (bpf_ntohs(skb->protocol) == IP4) {
        size = sizeof(t.ipv4);
        t.ipv4.saddr = p.flow.from[3];
        t.ipv4.daddr = p.flow.to[3];
        t.ipv4.sport = p.flow.sport;
        t.ipv4.dport = p.flow.dport;
    } else {
        size = sizeof(t.ipv6);
        __builtin_memcpy(t.ipv6.saddr, p.flow.from, 16);
        __builtin_memcpy(t.ipv6.daddr, p.flow.to, 16);
        t.ipv6.sport = p.flow.sport;
        t.ipv6.dport = p.flow.dport;
    }
    struct bpf_sock *sk = bpf_sk_lookup_tcp(skb, &t, size, BPF_F_CURRENT_NETNS, 0);
    if (sk) {
        struct sender *s = bpf_sk_storage_get(&senders, sk, 0, 0);
        if (s)
            __sync_fetch_and_add(&s->ae, p.segments);
        bpf_sk_release(sk);
    }
    flip_ae(skb, &p); // TCP never sees the bit
    return TCX_NEXT;
}

// Congestion control: Reno's growth, table 3's cuts

static __always_inline int after(__u32 a, __u32 b) { return (__s32)(a - b) > 0; }

static __always_inline struct sender *sender(struct sock *sk) { return bpf_sk_storage_get(&senders, sk, 0, 0); }

/// Ends the window of data that the last cut belongs to.
static __always_inline void leave_window(struct sender *s, struct tcp_sock *tp) {
    if (s->level != NONE && after(tp->snd_una, s->cut_end))
        s->level = NONE;
}

/// The new window. In a window that a lesser level has cut, what this one would have left at first, at most `cap`.
static __always_inline __u32 cut(struct sender *s, struct tcp_sock *tp, enum level level, __u32 cap) {
    if (s->level == NONE)
        s->before = tp->snd_cwnd;
    else
        add(&count.deepened, 1);
    s->level = level;
    s->cut_end = tp->snd_nxt;
    __u32 left = (__u64)s->before * keep[level] >> 16;
    if (left > cap)
        left = cap;
    if (left < 2)
        left = 2;
    add(&count.cuts[level], 1);
    add(&count.before[level], s->before);
    add(&count.after[level], left);
    return left;
}

SEC("struct_ops")
void BPF_PROG(mecn_init, struct sock *sk) {
    struct sender *s = bpf_sk_storage_get(&senders, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
    if (s) { // left over where the control was changed away and back
        s->ae_taken = s->ae;
        s->level = NONE;
        s->state = 0;
    }
}

/// Before the window grows and before the kernel answers ECE or a loss.
SEC("struct_ops")
void BPF_PROG(mecn_in_ack_event, struct sock *sk, __u32 flags) {
    struct tcp_sock *tp = (struct tcp_sock *)sk;
    struct sender *s = sender(sk);
    if (!s)
        return;
    if (flags & CA_ACK_ECE)
        s->ece_at = tp->tcp_mstamp;
    leave_window(s, tp);
    __u32 ae = s->ae;
    if (ae == s->ae_taken)
        return;
    s->ae_taken = ae;
    s->ae_at = tp->tcp_mstamp;
    if (s->level != NONE || s->state > CA_DISORDER || flags & CA_ACK_ECE)
        return;
    __u32 left = cut(s, tp, INCIPIENT, tp->snd_cwnd);
    tp->snd_cwnd = left;
    tp->snd_ssthresh = left;
}

/// The kernel asks on entering CWR (ECE, and packets that its own device dropped), Recovery and Loss: once a window.
SEC("struct_ops")
__u32 BPF_PROG(mecn_ssthresh, struct sock *sk) {
    struct tcp_sock *tp = (struct tcp_sock *)sk;
    struct sender *s = sender(sk);
    if (!s)
        return tp->snd_cwnd > 4 ? tp->snd_cwnd / 2 : 2;
    leave_window(s, tp);
    // Recovery has set undo_marker by now, CWR has cleared it; a timeout is not in an ACK's microsecond.
    int ece = !tp->undo_marker && s->ece_at == tp->tcp_mstamp;
    if (ece && s->level < MODERATE)
        return cut(s, tp, MODERATE, tp->snd_cwnd);
    if (!ece && s->level < LOSS)
        return cut(s, tp, LOSS, tp->snd_cwnd);
    return tp->snd_ssthresh;
}

/// A loss found while a moderate mark is being answered: here the kernel does not ask for a new ssthresh.
SEC("struct_ops")
void BPF_PROG(mecn_set_state, struct sock *sk, __u8 state) {
    struct tcp_sock *tp = (struct tcp_sock *)sk;
    struct sender *s = sender(sk);
    if (!s)
        return;
    leave_window(s, tp);
    if (state >= CA_RECOVERY && s->level == MODERATE)
        tp->snd_ssthresh = cut(s, tp, LOSS, tp->snd_ssthresh);
    s->state = state;
}

SEC("struct_ops")
void BPF_PROG(mecn_cong_avoid, struct sock *sk, __u32 ack, __u32 acked) {
    struct tcp_sock *tp = (struct tcp_sock *)sk;
    struct sender *s = sender(sk);
    if (!s || s->ae_at != tp->tcp_mstamp) // a mark's ACK does not grow the window
        tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(mecn_undo_cwnd, struct sock *sk) { return tcp_reno_undo_cwnd(sk); }

SEC(".struct_ops.link")
struct tcp_congestion_ops mecn = {
    .init = (void *)mecn_init,
    .in_ack_event = (void *)mecn_in_ack_event,
    .ssthresh = (void *)mecn_ssthresh,
    .set_state = (void *)mecn_set_state,
    .cong_avoid = (void *)mecn_cong_avoid,
    .undo_cwnd = (void *)mecn_undo_cwnd,
    .flags = CONG_NON_RESTRICTED, // so that a network namespace may make it its default
    .name = "penstock_mecn",
};
