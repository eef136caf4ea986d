// What the two sides of an exchange tell each other first, and what follows from it: whether they
// can work together, and which HCA of one meets which of the other. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace rdmaguard::nccl {

/// An HCA that one side brings, in NCCL's order.
struct ExchangeHca {
  std::string name;
  int port = 0;
  int speedMbps = 0;
  std::string linkLayer;  ///< "InfiniBand", "Ethernet"; empty: not known

  friend bool operator==(const ExchangeHca&, const ExchangeHca&) = default;
};

/// "mlx5_0:1".
std::string portName(const ExchangeHca& hca);

/// How the messages are exchanged; the side that connects decides.
struct ExchangeShape {
  std::size_t bytes = std::size_t{1} << 20;  ///< of one message
  double seconds = 1;                        ///< measured for each HCA
  bool bidirectional = false;
  /// Silence after which the other side, or an HCA, is given up.
  std::chrono::milliseconds timeout{20000};
};

inline constexpr std::size_t kMostMessageBytes = std::size_t{64} << 20;
inline constexpr double kMostSeconds = 3600;
inline constexpr std::chrono::milliseconds kMostTimeout{3'600'000};
inline constexpr std::size_t kMostHcas = 64;

struct Hello {
  std::string host;
  int ncclVersion = 0;  ///< as ncclGetVersion counts; 0: no NCCL
  std::string ncclText;
  int netAbi = 0;  ///< version of the net interface
  std::vector<ExchangeHca> hcas;
  ExchangeShape shape;
  /// Why this side cannot take part; empty: it can. A whole sentence.
  std::string failure;
  /// Of `failure`: nothing was found out about the network (an unknown NCCL release).
  bool cannotTell = false;
};

nlohmann::json toJson(const Hello& hello);

/// Of a message from the other side; whatever it lacks or has absurd stays empty or within the
/// bounds above. Nothing: the message is no hello.
std::optional<Hello> helloOf(const nlohmann::json& message);

/// Why the two cannot exchange; empty: they can. A whole sentence, the same facts from either side.
std::string disagreement(const Hello& mine, const Hello& theirs);

/// Indices into the two lists; -1: nothing is left there for it.
struct HcaPair {
  int connecting = -1;
  int listening = -1;

  friend bool operator==(const HcaPair&, const HcaPair&) = default;
};

/// Who meets whom: first those of one name and port (a rail of the fabric joins equal HCAs), then
/// the rest in order. Both sides work out the same.
std::vector<HcaPair> pairUp(const std::vector<ExchangeHca>& connecting,
                            const std::vector<ExchangeHca>& listening);

}  // namespace rdmaguard::nccl
