// The four benchmark cases for csg-htsim, beside b1.toml .. b4.toml:  htsim-bench CASE SECONDS
//
// A program of ours for the library of github.com/Broadcom/csg-htsim, of which nothing is copied:
// it is compiled against a checkout's headers and linked with its libhtsim.a. `HTSIM=PATH make
// bench` does both. Prints one JSON object with what passed the bottleneck.
//
// What differs from the other two simulators:
// - csg-htsim has no RED. `Red` below is ns-2's arithmetic on top of its FIFO queue.
// - Its smallest retransmission timeout is 250 ms, fixed in its code; theirs is 200 ms.
// - A SYN is sent, but has no size and no option; timers are scanned every 10 ms.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <vector>

#include "cbr.h"
#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

namespace {

struct Case {
    const char* name;
    int flows;
    int segment;           // bytes of payload
    double access_bps;     // of every host's link
    double rate_bps;       // of the bottleneck
    double delay_s;        // of the bottleneck
    double near_s, step_s; // delay of the first sender's link, and what the last one's has more
    double far_s;          // delay of the receivers' links
    double min_th, max_th; // packets
    int limit;             // packets
};

const Case CASES[] = {
    {"B1", 100, 1000, 100e6, 10e6, 0.040, 0.002, 0.008, 0.001, 20, 60, 120},
    {"B2", 100, 1460, 10e9, 1e9, 0.020, 0.0001, 0, 0.0001, 833, 2500, 6667},
    {"B3", 1000, 1460, 10e9, 1e9, 0.020, 0.0001, 0, 0.0001, 833, 2500, 6667},
    {"B4", 1, 1460, 10e9, 1e9, 0.020, 0.0001, 0, 0.0001, 833, 2500, 6667},
};

const int HEADER = 40;
const int LIMIT = 100000;  // packets, of every queue except the bottleneck's
const double W_Q = 0.002;
const double MAX_P = 0.1;

// RED with ns-2's arithmetic (gentle, wait), in front of the library's FIFO. The library counts the
// packet that is being sent; ns-2 does not, and neither does `waiting`.
class Red : public Queue {
public:
    Red(const Case& c, EventList& events, int wire)
        : Queue(linkspeed_bps(c.rate_bps), mem_b(c.limit + 1) * 1500, events, nullptr),
          c_(c), packets_per_s_(c.rate_bps / (8.0 * wire)) {}

    void receivePacket(Packet& packet) override {
        average();
        if (waiting() >= c_.limit || signals()) {
            ++drops;
            packet.free();
            return;
        }
        Queue::receivePacket(packet);
    }

    long departures = 0;
    long drops = 0;

protected:
    void completeService() override {
        Queue::completeService();
        ++departures;
        if (_queuesize == 0) idle_since_ = eventlist().now();
    }

private:
    int waiting() { return _enqueued.empty() ? 0 : int(_enqueued.size()) - 1; }

    // Busy: avg <- (1 - w_q) avg + w_q q. Idle: as if the packets that the link could have sent
    // meanwhile had arrived at an empty queue.
    void average() {
        double keep = 1.0 - W_Q;
        if (_queuesize == 0) {
            double idle = timeAsSec(eventlist().now() - idle_since_);
            avg_ *= std::pow(keep, 1.0 + std::floor(idle * packets_per_s_));
        } else {
            avg_ = keep * avg_ + W_Q * waiting();
        }
    }

    // Whether the arriving packet is dropped early. The first one beyond min_th never is.
    bool signals() {
        if (avg_ < c_.min_th || waiting() <= 1) {
            between_ = false;
            return false;
        }
        if (!between_) {
            between_ = true;
            count_ = 0;
            return false;
        }
        if (avg_ >= 2.0 * c_.max_th) return true;
        ++count_;
        double p = spread(p_b());
        if (drand() >= p) return false;
        count_ = 0;
        return true;
    }

    double p_b() {
        if (avg_ >= c_.max_th) return MAX_P + (1.0 - MAX_P) * (avg_ - c_.max_th) / c_.max_th;
        return MAX_P * (avg_ - c_.min_th) / (c_.max_th - c_.min_th);
    }

    // ns-2's `wait_`: no drop before count p = 1, and for certain at 2.
    double spread(double p) {
        double sum = count_ * p;
        if (sum < 1.0) return 0.0;
        return sum < 2.0 ? p / (2.0 - sum) : 1.0;
    }

    const Case& c_;
    double packets_per_s_;
    double avg_ = 0.0;
    bool between_ = false;
    long count_ = 0;
    simtime_picosec idle_since_ = 0;
};

Queue* fifo(double bps, EventList& events) {
    return new Queue(linkspeed_bps(bps), mem_b(LIMIT) * 1500, events, nullptr);
}

Pipe* wire(double seconds, EventList& events) { return new Pipe(timeFromSec(seconds), events); }

// Both directions of the dumbbell; hosts get links of their own.
struct Dumbbell {
    const Case& c;
    EventList& events;
    Red red;
    Pipe forth;
    Queue* reverse;
    Pipe back;

    Dumbbell(const Case& c, EventList& events, int size)
        : c(c), events(events), red(c, events, size), forth(timeFromSec(c.delay_s), events),
          reverse(fifo(c.rate_bps, events)), back(timeFromSec(c.delay_s), events) {}

    // A route without its last stop.
    route_t* route(PacketSink* queue, PacketSink* pipe, double first_s, double last_s) {
        auto* r = new route_t();
        r->push_back(fifo(c.access_bps, events));
        r->push_back(wire(first_s, events));
        r->push_back(queue);
        r->push_back(pipe);
        r->push_back(fifo(c.access_bps, events));
        r->push_back(wire(last_s, events));
        return r;
    }
};

}  // namespace

int main(int argc, char** argv) {
    const Case* found = nullptr;
    for (const Case& c : CASES)
        if (argc == 3 && std::strcmp(argv[1], c.name) == 0) found = &c;
    if (!found) {
        std::cerr << "usage: htsim-bench B1|B2|B3|B4 SECONDS\n";
        return 2;
    }
    const Case& c = *found;
    const bool datagrams = std::strcmp(c.name, "B4") == 0;
    const int size = c.segment + HEADER;
    Packet::set_packet_size(size);  // before anything asks for it
    srand(1);

    EventList& events = EventList::getTheEventList();
    events.setEndtime(timeFromSec(std::atof(argv[2])));
    Dumbbell net(c, events, size);
    TcpRtxTimerScanner timers(timeFromMs(10.0), events);
    std::vector<TcpSink*> sinks;
    CbrSink* heard = nullptr;

    for (int i = 0; i < c.flows; ++i) {
        double near = c.near_s + (c.flows > 1 ? c.step_s * i / (c.flows - 1.0) : 0.0);
        simtime_picosec start = timeFromSec(double(i) / c.flows);
        route_t* out = net.route(&net.red, &net.forth, near, c.far_s);
        if (datagrams) {
            auto* source = new CbrSrc(events, linkspeed_bps(1.1e9));
            heard = new CbrSink();
            out->push_back(heard);
            source->connect(*out, *heard, start);
            continue;
        }
        auto* source = new TcpSrc(nullptr, nullptr, events);
        auto* sink = new TcpSink();
        source->set_cwnd(2 * size);
        source->set_ssthresh(0xffffffff);
        source->_maxcwnd = 700 * size;
        route_t* in = net.route(net.reverse, &net.back, c.far_s, near);
        out->push_back(sink);
        in->push_back(source);
        source->connect(*out, *in, *sink, start);
        timers.registerTcp(*source);
        sinks.push_back(sink);
    }

    while (events.doNextEvent()) {
    }

    double bytes = heard ? double(heard->_cumulative_ack) : 0.0;
    for (TcpSink* sink : sinks) bytes += double(sink->_cumulative_ack);
    std::cout << "{\"case\": \"" << c.name << "\", \"goodput_wire_bps\": "
              << bytes * 8.0 / std::atof(argv[2]) << ", \"packets\": " << net.red.departures
              << ", \"drops\": " << net.red.drops << "}" << std::endl;
    return 0;
}
