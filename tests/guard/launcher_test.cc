// Sizes of a job as its launcher tells them.
#include "plugin/guard/launcher.h"

#include <gtest/gtest.h>

#include <map>

namespace rdmaguard::guard {
namespace {

LauncherSizes sizes(std::map<std::string, std::string, std::less<>> variables) {
  return launcherSizes([variables](std::string_view name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional(it->second);
  });
}

TEST(Launcher, EachLauncherIsUnderstood) {
  const auto torch = sizes(
      {{"RANK", "9"}, {"WORLD_SIZE", "16"}, {"LOCAL_WORLD_SIZE", "8"}, {"GROUP_WORLD_SIZE", "2"}});
  EXPECT_EQ(torch.nNodes, 2);
  EXPECT_EQ(torch.nRanks, 16);
  EXPECT_EQ(torch.rank, 9);
  const auto slurm = sizes({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_NNODES", "4"}});
  EXPECT_EQ(slurm.nNodes, 4);
  const auto mpi = sizes({{"OMPI_COMM_WORLD_RANK", "1"},
                          {"OMPI_COMM_WORLD_SIZE", "12"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}});
  EXPECT_EQ(mpi.nNodes, 2);
  EXPECT_EQ(mpi.nRanks, 12);
}

TEST(Launcher, WhatIsNotSaidStaysUnknown) {
  EXPECT_EQ(sizes({}).nNodes, 0);
  EXPECT_TRUE(sizes({}).source.empty());
  const auto bare = sizes({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(bare.nNodes, 0);
  EXPECT_EQ(bare.nRanks, 2);
  EXPECT_EQ(sizes({{"WORLD_SIZE", "two"}}).nRanks, 0);
}

}  // namespace
}  // namespace rdmaguard::guard
