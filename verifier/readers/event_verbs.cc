// Events of NCCL's IB transport and of plugins derived from it: failed verbs calls, completions
// in error, asynchronous events. Wordings of NCCL 2.4 to 2.32 (src/misc/ibvwrap.cc, later
// src/os/.../ibvwrap.cc; src/transport/net_ib.cc, later net_ib/*.cc).
#include <algorithm>
#include <array>

#include "verifier/readers/event_pattern.h"

namespace rdmaguard::readers {
namespace {

using engine::Event;
using engine::Phase;

// "NET/IB : mlx5_3:1 Got async ...": mlx5_3. Oldest form: none.
std::string_view deviceBefore(std::string_view text, std::string_view words) {
  std::string_view front = text.substr(0, text.find(words));
  while (!front.empty() && front.back() == ' ') front.remove_suffix(1);
  front.remove_prefix(std::min(front.size(), front.rfind(' ') + 1));
  const auto colon = front.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == front.size()) return {};
  return numberAt(front.substr(colon + 1)) < 0 ? std::string_view{} : front.substr(0, colon);
}

// "[192.0.2.1](http://192.0.2.1/)<35519>" as mail clients make it -> "192.0.2.1<35519>".
std::string withoutLinks(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto link = text.find("](http");
    if (link == std::string_view::npos) break;
    const auto open = text.rfind('[', link);
    const auto close = text.find(')', link);
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    out.append(text.substr(0, open)).append(text.substr(open + 1, link - open - 1));
    text.remove_prefix(close + 1);
  }
  return out.append(text);
}

// ibv_wc_status.
struct Status {
  int number;
  std::string_view id;  // empty: the vendor's number names the event
};
constexpr std::array<Status, 9> kStatuses{{
    {1, "local-length-error"},
    {2, "local-qp-operation-error"},
    {4, "local-protection-error"},
    {5, ""},  // flushed: the queue pair was in error before
    {9, "remote-invalid-request"},
    {10, "remote-access-error"},
    {11, "remote-op-error"},
    {12, ""},  // transport retries exceeded
    {13, ""},  // receiver-not-ready retries exceeded
}};

long statusOf(std::string_view text) {
  // "with error 12", "with status=12", "with status=IBV_WC_RETRY_EXC_ERR(12)"
  const std::string_view with = after(text, "Got completion");
  for (const std::string_view key : {"with error ", "status="}) {
    const std::string_view value = after(with, key);
    if (value.empty()) continue;
    const long plain = numberAt(value);
    if (plain >= 0) return plain;
    return numberAfter(upTo(value, ") "), "(");
  }
  return -1;
}

bool readCompletion(std::string_view raw, Event& e) {
  const std::string text = withoutLinks(raw.substr(0, 2048));
  const long status = statusOf(text);
  long vendor = numberAfter(text, "vendor err");
  if (vendor < 0) vendor = numberAfter(text, "vendor_err");
  if (vendor < 0) return false;
  for (const Status& s : kStatuses)
    if (s.number == status) e.id = s.id;
  if (e.id.empty()) e.id = "vendor-err-" + std::to_string(vendor);
  e.device = std::string(upTo(after(text, " hca "), " ,\r"));
  e.gid = has(text, "localGid") || has(text, "remoteGid");
  if (status >= 0) e.detail = "status " + std::to_string(status) + ", ";
  e.detail += "vendor error " + std::to_string(vendor);
  const std::string_view peer = upTo(after(text, "from peer "), " ");
  if (!peer.empty() && peer != "with") e.detail += ", peer " + std::string(peer);
  // Forks call it "IBX" and the like: who has completions with a vendor's error runs on verbs.
  if (e.network.empty() || e.network.starts_with("IB")) e.network = "IB";
  return true;
}

// ibv_event_type_str's words.
struct AsyncEvent {
  std::string_view words, id;
  Phase phase;
  bool failure;
};
constexpr std::array<AsyncEvent, 16> kAsyncEvents{{
    {"port error", "async-port-error", Phase::Data, true},
    {"local access violation", "async-access-violation", Phase::Data, true},
    {"catastrophic error", "async-fatal-event", Phase::Data, true},
    {"invalid request local work queue error", "async-fatal-event", Phase::Data, true},
    {"CQ error", "async-fatal-event", Phase::Data, true},
    {"path migration failed", "async-path-migration-failed", Phase::Data, true},
    {"communication established", "async-information", Phase::Data, false},
    {"send queue drained", "async-information", Phase::Data, false},
    {"path migration established", "async-information", Phase::Data, false},
    {"last WQE reached", "async-information", Phase::Data, false},
    {"port active", "async-port-active", Phase::Other, false},
    {"LID change", "async-lid-change", Phase::Other, false},
    {"P_Key change", "async-information", Phase::Other, false},
    {"SM change", "async-sm-change", Phase::Other, false},
    {"client reregistration", "async-sm-change", Phase::Other, false},
    {"GID table change", "async-gid-change", Phase::Other, false},
}};

bool readAsync(std::string_view text, Event& e) {
  std::string_view what;
  for (const std::string_view words :
       {"Got async event", "Got async error event", "Got non-fatal async event",
        "async fatal event", "GID table changed"}) {
    if (!has(text, words)) continue;
    e.device = std::string(deviceBefore(text, words));
    what = words == "GID table changed" ? words : after(text, words);
    break;
  }
  const bool fatal = has(text, "fatal event") && !has(text, "non-fatal");
  e.id = fatal ? "async-fatal-event" : "async-event";
  e.phase = Phase::Data;
  e.failure = !has(text, "non-fatal");
  for (const AsyncEvent& known : kAsyncEvents)
    if (has(what, known.words)) {
      e.id = known.id;
      e.phase = known.phase;
      e.failure = known.failure;
      break;
    }
  while (!what.empty() && (what.front() == ' ' || what.front() == ':')) what.remove_prefix(1);
  // "on QP (0x..) qpn=..: words"
  if (what.starts_with("on ") && what.rfind(": ") != std::string_view::npos)
    what = what.substr(what.rfind(": ") + 2);
  e.detail = brief(what);
  if (e.network.empty()) e.network = "IB";
  return true;
}

// What a failed verbs call is called; the first row that fits.
struct Call {
  std::string_view call, error;  // error empty: any
  std::string_view id;
  Phase phase = Phase::Setup;
  bool failure = true;
};
constexpr std::array<Call, 29> kCalls{{
    {"ibv_create_qp", "ENOMEM", "create-qp-enomem"},
    {"ibv_create_qp", "", "create-qp-failed"},
    {"ibv_modify_qp", "ETIMEDOUT", "modify-qp-timeout"},
    {"ibv_modify_qp", "ENETUNREACH", "modify-qp-unreachable"},
    {"ibv_modify_qp", "EHOSTUNREACH", "modify-qp-unreachable"},
    {"ibv_modify_qp", "ENODEV", "modify-qp-no-such-device"},
    {"ibv_modify_qp", "", "modify-qp-failed"},
    {"ibv_reg_dmabuf_mr", "EOPNOTSUPP", "dmabuf-unsupported", Phase::Other, false},
    {"ibv_reg_dmabuf_mr", "EPROTONOSUPPORT", "dmabuf-unsupported", Phase::Other, false},
    {"ibv_reg_dmabuf_mr", "ENOMEM", "reg-mr-enomem"},
    {"ibv_reg_dmabuf_mr", "EFAULT", "gdr-mr-bad-address"},
    {"ibv_reg_mr", "ENOMEM", "reg-mr-enomem"},
    {"ibv_reg_mr", "EFAULT", "gdr-mr-bad-address"},
    {"ibv_reg_mr_iova2", "EINVAL", "reg-mr-iova2-einval"},
    {"ibv_reg_mr_iova", "EINVAL", "reg-mr-iova2-einval"},
    {"ibv_reg_", "", "reg-mr-failed"},
    {"ibv_create_cq", "", "ibv-create-cq-failed"},
    {"ibv_alloc_pd", "", "ibv-alloc-pd-failed"},
    // NCCL goes on without the device, or does not ask again.
    {"ibv_open_device", "", "ibv-open-device-failed", Phase::Other},
    {"ibv_get_device_list", "", "ibv-get-device-list-failed", Phase::Other},
    {"ibv_query_ece", "", "ece-not-supported", Phase::Other, false},
    {"ibv_set_ece", "EOPNOTSUPP", "ece-not-supported", Phase::Other, false},
    {"ibv_set_ece", "", "set-ece-failed", Phase::Other},
    {"ibv_query_", "", "ibv-query-failed", Phase::Other},
    {"ibv_get_async_event", "", "ibv-get-async-event-failed", Phase::Other},
    {"ibv_post_", "", "ibv-post-send-failed", Phase::Data},
    {"ibv_poll_cq", "", "ibv-poll-cq-failed", Phase::Data},
    // Taking down what an error left.
    {"ibv_de", "", "ibv-cleanup-failed", Phase::Other},
    {"ibv_", "", "ibv-call-failed", Phase::Other},
}};

bool readCall(std::string_view text, Event& e) {
  const std::string_view message = after(text, "Call to ");
  const std::string_view call = upTo(message, " (");
  if (!call.starts_with("ibv_") && !call.starts_with("mlx5dv_")) return false;
  std::string_view error = after(message, "failed with error ");
  if (error.empty()) error = after(message, "failed with ");
  const std::string_view name = errnoOf(error);
  // 2.24 and later try ibv_modify_qp again and say so.
  if (has(message, ", retrying ") && call == "ibv_modify_qp") {
    e.id = "modify-qp-retried";
    e.phase = Phase::Other;
    e.failure = false;
  } else {
    for (const Call& row : kCalls) {
      // Memory is registered by several calls of one family; others go by their first letters.
      const bool same = row.call == call ||
                        (row.call == "ibv_reg_mr" && call.starts_with("ibv_reg_mr")) ||
                        (row.error.empty() && call.starts_with(row.call));
      if (!same || (!row.error.empty() && row.error != name)) continue;
      e.id = row.id;
      e.phase = row.phase;
      e.failure = row.failure;
      break;
    }
  }
  if (e.id.empty()) e.id = "ibv-call-failed";
  const std::string_view device = upTo(after(message, "on dev "), ":, ");
  e.device = std::string(device);
  const std::string_view remote = upTo(after(message, "remote GID "), ", ");
  e.gid = !remote.empty() && remote != "N/A";
  e.detail = std::string(call);
  if (!error.empty()) {
    // "110 Connection timed out, on dev ...", "Cannot allocate memory errno 12"
    std::string_view words = upTo(error, ",");
    if (const auto at = words.find(" errno "); at != std::string_view::npos)
      words = words.substr(0, at);
    if (numberAt(words) >= 0 && words.find(' ') != std::string_view::npos)
      words = words.substr(words.find(' ') + 1);
    e.detail += ": " + brief(words);
  }
  if (e.network.empty()) e.network = "IB";
  return true;
}

bool readPost(std::string_view text, Event& e) {
  const std::string_view error = upTo(after(text, "failed with error "), ",");
  e.detail = "ibv_post_send: " + brief(error);
  if (e.network.empty()) e.network = "IB";
  return true;
}

bool readMismatch(std::string_view text, Event& e) {
  e.detail = "local size " + std::to_string(numberAfter(text, "local size", 0)) + ", remote size " +
             std::to_string(numberAfter(text, "remote size", 0));
  if (e.network.empty()) e.network = "IB";
  return true;
}

bool readOpen(std::string_view text, Event& e) {
  e.device = std::string(upTo(after(text, "Unable to open device "), " ,.\r"));
  if (e.network.empty()) e.network = "IB";
  return true;
}

constexpr auto kNet = Family::Network;
constexpr std::array kPatterns{
    Pattern{"", kNet, Phase::Data, "Got completion", "vendor", {}, true, readCompletion},
    Pattern{"", kNet, Phase::Data, "async event", {}, {}, true, readAsync},
    Pattern{"", kNet, Phase::Data, "async error event", {}, {}, true, readAsync},
    Pattern{"", kNet, Phase::Data, "async fatal event", {}, {}, true, readAsync},
    Pattern{"", kNet, Phase::Other, "GID table changed", "NET/", {}, true, readAsync},
    Pattern{"", kNet, Phase::Other, "Call to ibv_", "failed", {}, true, readCall},
    Pattern{"", kNet, Phase::Other, "Call to mlx5dv_", "failed", {}, true, readCall},
    Pattern{"ibv-post-send-failed",
            kNet,
            Phase::Data,
            "ibv_post_send() failed",
            {},
            {},
            true,
            readPost},
    Pattern{"collective-mismatch",
            kNet,
            Phase::Data,
            "collective mismatch error",
            {},
            {},
            true,
            readMismatch},
    Pattern{"collective-mismatch",
            kNet,
            Phase::Data,
            "posted incorrect receive info",
            {},
            {},
            true,
            readMismatch},
    Pattern{"ibv-open-device-failed",
            kNet,
            Phase::Other,
            "Unable to open device",
            "NET/",
            {},
            true,
            readOpen},
    Pattern{"incompatible-link-layers", kNet, Phase::Setup, "Attempted to connect incompatible"},
    Pattern{"incompatible-link-layers", kNet, Phase::Setup,
            "device is incompatible with the local"},
};

}  // namespace

std::span<const Pattern> verbsPatterns() noexcept {
  return kPatterns;
}

}  // namespace rdmaguard::readers
