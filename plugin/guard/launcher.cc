// See launcher.h.
#include "plugin/guard/launcher.h"

#include <array>
#include <charconv>

namespace rdmaguard::guard {
namespace {

struct Launcher {
  const char* rank;
  const char* ranks;
  const char* ranksPerNode;  // used where `nodes` is not set
  const char* nodes;
};

// torchrun: PyTorch docs, "torchrun / Environment Variables". Slurm: srun(1), output
// environment variables. Open MPI: mpirun(1). Hydra: MPICH wiki, "Using the Hydra PM".
constexpr std::array<Launcher, 4> kLaunchers{{
    {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS", nullptr, "SLURM_NNODES"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", nullptr},
}};

int number(const Lookup& lookup, const char* name, int absent) {
  if (!name) return absent;
  const auto text = lookup(name);
  if (!text) return absent;
  int value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc{} && end == text->data() + text->size() && value >= 0 ? value : absent;
}

}  // namespace

LauncherSizes launcherSizes(const Lookup& lookup) {
  for (const Launcher& l : kLaunchers) {
    LauncherSizes out;
    out.nRanks = number(lookup, l.ranks, 0);
    if (out.nRanks == 0) continue;
    out.rank = number(lookup, l.rank, -1);
    out.nNodes = number(lookup, l.nodes, 0);
    const int perNode = number(lookup, l.ranksPerNode, 0);
    if (out.nNodes == 0 && perNode > 0) out.nNodes = (out.nRanks + perNode - 1) / perNode;
    out.source = std::string(l.ranks) + " and " +
                 (l.nodes && number(lookup, l.nodes, 0) > 0 ? l.nodes
                  : l.ranksPerNode                          ? l.ranksPerNode
                                                            : l.rank);
    return out;
  }
  return {};
}

}  // namespace rdmaguard::guard
