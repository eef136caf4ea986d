// Events of NCCL outside its IB transport (bootstrap, sockets, proxy, CUDA, plugins) and of the
// libraries below its plugins: libfabric, GPUDirect-TCPX, UCX. Wordings of NCCL 2.4 to 2.32.
#include <algorithm>
#include <array>

#include "verifier/readers/event_pattern.h"

namespace rdmaguard::readers {
namespace {

using engine::Event;
using engine::Phase;

std::string versionOfCode(long code) {
  const long major = code >= 10'000 ? code / 10'000 : code / 1'000;
  const long minor = code >= 10'000 ? code / 100 % 100 : code / 100 % 10;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(code % 100);
}

// "Mismatched NCCL version detected : rank 0 version 22605 rank 9 version 22707"
bool readVersions(std::string_view text, Event& e) {
  std::string_view rest = after(text, "detected");
  std::string both;
  for (int i = 0; i < 2; ++i) {
    rest = after(rest, "rank ");
    const long rank = numberAt(rest);
    const long code = numberAfter(rest, "version");
    if (rank < 0 || code <= 0) break;
    both +=
        (both.empty() ? "rank " : ", rank ") + std::to_string(rank) + " has " + versionOfCode(code);
    // The first is rank 0, the second the one that differs from it.
    e.rank = rank < 10'000'000 ? static_cast<int>(rank) : -1;
  }
  e.detail = std::move(both);
  return true;
}

bool readDuplicateGpu(std::string_view text, Event& e) {
  e.detail = brief(after(text, "detected : "));
  return true;
}

// "Cuda failure 101 'invalid device ordinal'", "Test CUDA failure common.cu:958 '...'"
bool readCuda(std::string_view text, Event& e) {
  const bool torch = has(text, "CUDA error: ");
  std::string_view behind = after(text, torch ? "CUDA error: " : "uda failure ");
  if (behind.empty()) behind = after(text, "CUDA failure ");
  if (behind.empty()) return false;
  const long number = numberAt(behind);
  const auto quote = behind.find('\'');
  const std::string_view words =
      quote == std::string_view::npos ? behind : upTo(behind.substr(quote + 1), "'");
  e.detail = brief(words);
  e.id = "cuda-failure";
  if (number == 101 || has(words, "invalid device ordinal")) e.id = "cuda-101-invalid-ordinal";
  if (number == 2 || has(words, "out of memory")) e.id = "oom-cuda";
  if (number == 802 || has(words, "system not yet initialized")) e.id = "cuda-802-fabric-manager";
  return true;
}

// "Connect to 192.0.2.1<4711> failed : Connection timed out"; NCCL's own sockets serve bootstrap,
// proxy and transport alike, and "socket.c" without a folder is a plugin's copy.
bool readConnect(std::string_view text, Event& e) {
  const std::string_view file = upTo(e.location, ":");
  e.id = file == "socket.c" ? "plugin-oob-connect-failed" : "socket-connect-failed";
  if (file.starts_with("bootstrap") || has(file, "/bootstrap")) e.id = "bootstrap-connect-failed";
  std::string_view peer = upTo(after(text, "onnect to "), " ");
  e.detail = peer.empty() ? std::string() : "to " + std::string(peer);
  std::string_view error = after(text, " failed : ");
  if (error.empty()) error = upTo(after(text, " returned "), ",");
  if (!error.empty()) e.detail += (e.detail.empty() ? "" : ": ") + brief(error);
  return true;
}

bool readPeerClosed(std::string_view text, Event& e) {
  e.detail = "by " + std::string(upTo(after(text, "remote peer "), " "));
  return true;
}

// "[Proxy Service 0] Failed to execute operation Connect from rank 0, retcode 2"
bool readOperation(std::string_view text, Event& e) {
  std::string_view what = upTo(after(text, "execute operation "), " ,");
  if (what.empty()) what = upTo(after(text, "progressing operation="), " ,");
  const long code = numberAfter(text, "retcode", numberAfter(text, "res", -1));
  e.detail = std::string(what);
  if (code >= 0) e.detail += ", code " + std::to_string(code);
  if (what == "Connect" || what == "Setup" || what == "Init" || what == "SharedInit")
    e.phase = Phase::Setup;
  return true;
}

bool readNotFound(std::string_view text, Event& e) {
  e.detail = "network " + std::string(upTo(after(text, "network "), " "));
  return true;
}

bool readLoader(std::string_view text, Event& e) {
  if (!has(text, "lib")) return false;
  e.detail = brief(text);
  return true;
}

bool readTruncated(std::string_view text, Event& e) {
  e.detail = brief(after(text, "Message truncated : "));
  return true;
}

bool readRest(std::string_view text, Event& e) {
  e.detail = brief(text);
  return true;
}

// "completed with error. RC: 103. Error: 4126 (Unresponsive receiver (reachable by ...) ..."
bool readOfi(std::string_view text, Event& e) {
  const long rc = numberAfter(text, "RC");
  e.id = rc == 103 || has(text, "Unresponsive receiver") || has(text, "handshake failed")
             ? "efa-unresponsive-receiver"
             : "ofi-completion-error";
  e.detail = "RC " + std::to_string(rc) + ": " + brief(after(text, "Error: "));
  if (e.network.empty()) e.network = "OFI";
  return true;
}

bool readOfiEndpoint(std::string_view text, Event& e) {
  e.detail = brief(upTo(after(text, "failed: "), "|"));
  return true;
}

bool readOfiProvider(std::string_view text, Event& e) {
  e.detail = "provider " + std::string(upTo(after(text, "provider "), " "));
  return true;
}

bool readTcpx(std::string_view text, Event& e) {
  e.detail = brief(text);
  e.network = "GPUDirectTCPX";
  return true;
}

// UCX: "[1793011.611200] [kv-0:6100 :0]  ib_mlx5_log.c:179  UCX  ERROR Remote operation error on
// ibp0p0:1/RoCE (synd 0x14 vend 0x89 hw_synd 0/0)". Who says it is between the brackets.
bool readUcx(std::string_view text, Event& e) {
  if (const auto tag = text.find(" UCX"); tag != std::string_view::npos) {
    const std::string_view front = text.substr(0, tag);
    // It knows better than a tag before it, which names the one that passed the line on.
    const auto open = front.rfind('[');
    if (open != std::string_view::npos) {
      const std::string_view who = upTo(front.substr(open + 1), "]");
      e.host = std::string(upTo(who, ":"));
      e.pid = std::max(0L, numberAfter(who, ":", 0));
    }
  }
  std::string_view words = after(text, "ERROR ");
  if (words.empty()) words = text;
  e.detail = brief(words);
  const std::string_view vendor = upTo(after(words, "vend "), " )");
  if (vendor.starts_with("0x")) {
    e.id = "ucx-vendor-err-" + std::string(vendor);
    e.device = std::string(upTo(after(words, " on "), ":/ "));
  } else if (has(words, "estination is unreachable")) {
    e.id = "ucx-destination-unreachable";
    e.detail = "Destination is unreachable";
  } else if (has(words, "ailed to insert region") || has(words, "reg_mr") ||
             has(words, "ailed to register") || has(words, "mem_reg") || has(words, "iova2")) {
    e.id = "ucx-registration-failed";
  } else if (has(words, "cuIpc") || has(words, "cuda_ipc") || has(words, "IpcOpenMemHandle")) {
    e.id = "ucx-ipc-failed";
  } else {
    // What follows of the same failure: the work request it printed, the endpoint it closes.
    e.id = "ucx-error";
  }
  return true;
}

bool readUcxPlugin(std::string_view text, Event& e) {
  e.detail = brief(after(text, "UCX error "));
  e.network = "UCX";
  return true;
}

constexpr auto kNet = Family::Network;
constexpr std::array kPatterns{
    Pattern{"version-mismatch",
            kNet,
            Phase::Setup,
            "Mismatched NCCL version detected",
            {},
            {},
            true,
            readVersions},
    Pattern{
        "version-mismatch", kNet, Phase::Setup, "NCCL version mismatch", {}, {}, true, readRest},
    Pattern{"duplicate-gpu",
            kNet,
            Phase::Other,
            "Duplicate GPU detected",
            {},
            {},
            true,
            readDuplicateGpu},
    Pattern{"gpu-not-in-topology",
            kNet,
            Phase::Other,
            "Could not find gpu rank",
            {},
            {},
            true,
            readRest},
    Pattern{"no-socket-interface", kNet, Phase::Setup, "no socket interface found"},
    Pattern{"no-socket-interface", kNet, Phase::Setup, "no device found matching", "IFNAME"},
    Pattern{"no-socket-interface", kNet, Phase::Setup, "No usable listening interface found"},
    Pattern{"no-socket-interface", kNet, Phase::Setup, "No IP interface found"},
    Pattern{"bootstrap-message-truncated",
            kNet,
            Phase::Setup,
            "Message truncated : received",
            {},
            {},
            true,
            readTruncated},
    Pattern{"bootstrap-mismatch",
            kNet,
            Phase::Setup,
            "Bootstrap Root : mismatch",
            {},
            {},
            true,
            readRest},
    Pattern{"bootstrap-mismatch",
            kNet,
            Phase::Setup,
            "has already checked in",
            "Bootstrap",
            {},
            true,
            readRest},
    Pattern{"", kNet, Phase::Setup, "socketStartConnect: Connect to", {}, {}, true, readConnect},
    Pattern{"", kNet, Phase::Setup, "exceeded error retry count", "onnect", {}, true, readConnect},
    Pattern{"", kNet, Phase::Setup, ": connect to ", "failed : ", "retrying", true, readConnect},
    Pattern{"", kNet, Phase::Setup, "socketPollConnect: exceeded", {}, {}, true, readConnect},
    Pattern{"", kNet, Phase::Setup, "socketStartConnect: exceeded", {}, {}, true, readConnect},
    Pattern{"", kNet, Phase::Setup, ": Connect to ", "failed : ", {}, true, readConnect},
    Pattern{"", kNet, Phase::Setup, "Net : Connect to", "failed", {}, true, readConnect},
    Pattern{"socket-wrong-type", kNet, Phase::Other, "socketFinalizeAccept", "wrong type"},
    Pattern{"socket-wrong-magic", kNet, Phase::Other, "socketFinalizeAccept", "wrong magic"},
    Pattern{"socket-closed-by-peer",
            kNet,
            Phase::Other,
            "onnection closed by remote peer",
            {},
            {},
            true,
            readPeerClosed},
    Pattern{"socket-call-failed",
            kNet,
            Phase::Other,
            "socketProgressOpt: Call to",
            "failed",
            {},
            true,
            readRest},
    Pattern{"proxy-operation-failed",
            kNet,
            Phase::Other,
            "Failed to execute operation",
            {},
            {},
            true,
            readOperation},
    Pattern{"proxy-operation-failed",
            kNet,
            Phase::Other,
            "progressing operation=",
            {},
            {},
            true,
            readOperation},
    Pattern{"proxy-recv-failed", kNet, Phase::Other, "Socket recv failed while polling for opId"},
    Pattern{
        "proxy-accept-failed", kNet, Phase::Other, "Accept failed", "thread", {}, true, readRest},
    Pattern{"no-network-usable",
            kNet,
            Phase::Setup,
            "Error: network ",
            "not found",
            {},
            true,
            readNotFound},
    Pattern{"no-network-usable", kNet, Phase::Setup, "Failed to initialize any NET plugin"},
    Pattern{"plugin-dlopen-failed",
            kNet,
            Phase::Other,
            "not found (required by",
            {},
            {},
            true,
            readLoader},
    Pattern{"plugin-dlopen-failed",
            kNet,
            Phase::Other,
            "undefined symbol:",
            "nccl",
            {},
            true,
            readLoader},
    Pattern{"", kNet, Phase::Other, "Cuda failure", {}, {}, true, readCuda},
    Pattern{"", kNet, Phase::Other, "CUDA failure", {}, {}, true, readCuda},
    Pattern{"", kNet, Phase::Other, "CUDA error: ", {}, {}, true, readCuda},

    Pattern{"", kNet, Phase::Data, "completed with error", "NET/OFI", {}, true, readOfi},
    // The plugin may go on with another domain, or NCCL with another network.
    Pattern{"ofi-endpoint-failed",
            kNet,
            Phase::Other,
            "Creating new endpoint",
            "failed",
            {},
            true,
            readOfiEndpoint},
    Pattern{"ofi-provider-empty",
            kNet,
            Phase::Other,
            "output empty list",
            {},
            {},
            true,
            readOfiProvider},
    Pattern{"ofi-error", kNet, Phase::Other, "NET/OFI", "ailed", {}, true, readRest, true},
    Pattern{"tcpx-reg-mr-failed", kNet, Phase::Setup, "reg_mr failed", {}, "ibv_", true, readTcpx},
    Pattern{"tcpx-reg-mr-failed",
            kNet,
            Phase::Setup,
            "ioctl get dma_buf frags",
            {},
            {},
            true,
            readTcpx},

    Pattern{"ucx-plugin-failed", kNet, Phase::Setup, "UCX error ", {}, {}, true, readUcxPlugin},
    Pattern{"", kNet, Phase::Other, "UCX  ERROR", {}, {}, true, readUcx},
    Pattern{"", kNet, Phase::Other, "UCX ERROR", {}, {}, true, readUcx},
};

}  // namespace

std::span<const Pattern> ncclPatterns() noexcept {
  return kPatterns;
}

}  // namespace rdmaguard::readers
