// `rdmaguard preflight --listen` and `--peer`: its options, and what it prints.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "verifier/nccl/exchange.h"

namespace rdmaguard::cli {

struct ExchangeOptions {
  bool listens = false;
  int port = nccl::kExchangePort;  ///< of --listen
  std::string peer;                ///< of --peer: HOST, HOST:PORT, [IPV6]:PORT; empty: not given
  std::string hca;
  std::uint64_t bytes = std::uint64_t{1} << 20;
  double seconds = 1;
  double timeout = 20;
  bool bidirectional = false;
  // Of the subcommand's own options:
  std::string nccl;  ///< empty: auto
  bool json = false;
  bool quiet = false;

  /// Whether --listen or --peer was given.
  bool asked() const { return listens || !peer.empty(); }
};

/// --listen, --peer, --hca, --bytes, --seconds, --timeout and --bidirectional.
void addExchangeOptions(CLI::App& sub, ExchangeOptions& options);

/// Runs it and prints the result; problems go to standard error, one line. Exit codes: 0 every HCA
/// moved the right bytes, 1 some did, 2 none did or the exchange did not come to its end, 3 nothing
/// can be told (no NCCL, or an unknown release), kUsage, kCannotWrite. The caller must have one
/// thread.
int exchange(const ExchangeOptions& options);

/// HOST[:PORT] in its parts. False: it is none.
bool splitPeer(const std::string& peer, std::string& host, int& port);

/// A line for each HCA. Pure.
std::string exchangeText(const nccl::ExchangeRun& run);
std::string exchangeJson(const nccl::ExchangeRun& run);
int exchangeExitCode(const nccl::ExchangeRun& run);

}  // namespace rdmaguard::cli
