// See counters.h.
#include "verifier/engine/counters.h"

#include <algorithm>
#include <array>

namespace rdmaguard::engine {
namespace {

struct Row {
  std::string_view name;
  CounterKind kind;
  std::string_view meaning;
};

constexpr std::array kRows{
    Row{"link_downed", CounterKind::LinkDown, "the link went down"},
    Row{"link_error_recovery", CounterKind::Link, "the link had to recover by training again"},
    Row{"symbol_error", CounterKind::Link, "symbols arrived damaged"},
    Row{"local_link_integrity_errors", CounterKind::Link, "the link's own error limit was passed"},
    Row{"port_rcv_errors", CounterKind::Link, "packets arrived damaged"},
    Row{"port_rcv_remote_physical_errors", CounterKind::Link,
        "packets arrived that an earlier link had damaged"},
    Row{"excessive_buffer_overrun_errors", CounterKind::Link, "receive buffers overran"},
    Row{"rx_icrc_encapsulated", CounterKind::Link, "RoCE packets arrived with a wrong checksum"},
    Row{"port_xmit_discards", CounterKind::Transport, "packets were dropped before sending"},
    Row{"VL15_dropped", CounterKind::Transport, "management packets were dropped"},
    Row{"local_ack_timeout_err", CounterKind::Transport, "no acknowledgement came in time"},
    Row{"packet_seq_err", CounterKind::Transport, "the peer asked for lost packets again"},
    Row{"out_of_sequence", CounterKind::Transport, "packets arrived out of order: some were lost"},
    Row{"implied_nak_seq_err", CounterKind::Transport, "answers arrived out of order"},
    Row{"rnr_nak_retry_err", CounterKind::Transport, "the receiver was never ready"},
    Row{"out_of_buffer", CounterKind::Transport, "no receive buffer was posted in time"},
    Row{"req_transport_retries_exceeded", CounterKind::Transport, "sending was given up"},
    Row{"req_rnr_retries_exceeded", CounterKind::Transport,
        "sending to a receiver that was not ready was given up"},
    Row{"roce_adp_retrans_to", CounterKind::Transport, "adaptive retransmission ran out of time"},
    Row{"retransmitted_pkts", CounterKind::Transport, "packets were sent again"},
    Row{"seq_err_naks_rcvd", CounterKind::Transport, "the peer asked for lost packets again"},
    Row{"to_retransmits", CounterKind::Transport, "packets were sent again after a timeout"},
    Row{"max_retry_exceeded", CounterKind::Transport, "sending was given up"},
    Row{"np_cnp_sent", CounterKind::Congestion, "congestion was seen on arriving packets"},
    Row{"np_ecn_marked_roce_packets", CounterKind::Congestion, "switches marked arriving packets"},
    Row{"rp_cnp_handled", CounterKind::Congestion, "the peer asked to send slower"},
    Row{"port_xmit_wait", CounterKind::Congestion, "sending waited for the next link's credits"},
};

const Row* rowOf(std::string_view name) {
  const auto* row =
      std::find_if(kRows.begin(), kRows.end(), [name](const Row& r) { return r.name == name; });
  return row == kRows.end() ? nullptr : row;
}

}  // namespace

CounterKind counterKind(std::string_view name) noexcept {
  const Row* row = rowOf(name);
  return row ? row->kind : CounterKind::Other;
}

std::string_view counterMeaning(std::string_view name) noexcept {
  const Row* row = rowOf(name);
  return row ? row->meaning : std::string_view();
}

std::vector<CounterChange> counterChanges(std::span<const PortCounter> before,
                                          std::span<const PortCounter> after) {
  std::vector<CounterChange> changes;
  for (const PortCounter& now : after) {
    const auto then = std::find_if(before.begin(), before.end(),
                                   [&now](const PortCounter& c) { return c.source == now.source; });
    if (then != before.end() && now.value > then->value)
      changes.push_back({now.name, then->value, now.value, now.source});
  }
  return changes;
}

}  // namespace rdmaguard::engine
