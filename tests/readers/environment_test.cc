// What an operator pastes from a shell: text in, settings and node facts out.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "verifier/readers/input.h"

namespace rdmaguard::readers {
namespace {

JobFacts factsOf(std::string_view text) {
  return readText(text, "node.txt").facts;
}

/// "NAME=VALUE@file:line" of each setting, one a line.
std::string settingsOf(std::string_view text) {
  std::string out;
  for (const engine::Setting& s : factsOf(text).settings)
    out += s.name + "=" + s.value + "@" + s.source.substr(s.source.find(':') + 1) + "\n";
  return out;
}

std::string nodeFactsOf(std::string_view text) {
  std::string out;
  for (const engine::Setting& s : factsOf(text).hostFacts)
    out += s.name + "=" + s.value + "@" + s.source.substr(s.source.find(':') + 1) + "\n";
  return out;
}

// --- variables -----------------------------------------------------------------------------------

TEST(Environment, OfEnvIsReadByteForByte) {
  EXPECT_EQ(settingsOf("NCCL_IB_HCA=mlx5_0,mlx5_1\n"
                       "NCCL_DEBUG=\n"
                       "LS_COLORS=rs=0:di=01;34\n"
                       "http_proxy=http://proxy.invalid:3128\n"
                       "NCCL_SOCKET_IFNAME=\"eth0\"\n"),
            "NCCL_IB_HCA=mlx5_0,mlx5_1@1\n"
            "NCCL_DEBUG=@2\n"
            "LS_COLORS=rs=0:di=01;34@3\n"
            "http_proxy=http://proxy.invalid:3128@4\n"
            "NCCL_SOCKET_IFNAME=\"eth0\"@5\n");
}

TEST(Environment, BehindAPromptOfKubectlIsReadToo) {
  EXPECT_EQ(settingsOf("$ kubectl exec trainer-0 -- env\n"
                       "PATH=/usr/local/bin:/usr/bin\n"
                       "NCCL_IB_HCA=ibp\n"
                       "\n"
                       "$ kubectl exec trainer-1 -- env\n"
                       "NCCL_IB_HCA=mlx5\n"),
            "PATH=/usr/local/bin:/usr/bin@2\n"
            "NCCL_IB_HCA=ibp@3\n"
            "NCCL_IB_HCA=mlx5@6\n");
}

TEST(Environment, AConfFileMayHoldComments) {
  EXPECT_EQ(settingsOf("# rails only\n"
                       "NCCL_IB_HCA=ibp\n"
                       "#NCCL_IB_DISABLE=1\n"
                       "\n"
                       "NCCL_SOCKET_IFNAME=eth0\n"),
            "NCCL_IB_HCA=ibp@2\n"
            "NCCL_SOCKET_IFNAME=eth0@5\n");
}

TEST(Environment, ABlankBeforeTheEqualsSignStaysPartOfTheName) {
  EXPECT_EQ(settingsOf("NCCL_IB_HCA = ibp\n"), "NCCL_IB_HCA = ibp@1\n");
  EXPECT_EQ(settingsOf("NCCL_ALGO == Ring\n"), "");
}

TEST(Environment, OfDeclareHasAShellsQuotes) {
  EXPECT_EQ(settingsOf("declare -x HOME=\"/home/a b\"\n"
                       "declare -x NCCL_IB_HCA=\"mlx5_0,mlx5_1\"\n"
                       "declare -x OLDPWD\n"
                       "declare -x NOTE=\"say \\\"hi\\\"\"\n"),
            "HOME=/home/a b@1\n"
            "NCCL_IB_HCA=mlx5_0,mlx5_1@2\n"
            "NOTE=say \"hi\"@4\n");
}

TEST(Environment, OfATraceIsReadWhereItIsUnambiguous) {
  EXPECT_EQ(settingsOf("+ export NCCL_IB_HCA=ibp NCCL_DEBUG=INFO\n"
                       "++ NCCL_IB_TC=96\n"
                       "+ x=1\n"
                       "+ echo NCCL_DEBUG=WARN\n"),
            "NCCL_IB_HCA=ibp@1\nNCCL_DEBUG=INFO@1\nNCCL_IB_TC=96@2\n");
}

TEST(Environment, OfCshIsSetByName) {
  EXPECT_EQ(settingsOf("setenv NCCL_IB_HCA \"ibp\"\n"), "NCCL_IB_HCA=ibp@1\n");
}

TEST(Environment, InFrontOfACommandIsSeveralVariables) {
  const JobFacts f = factsOf("NCCL_DEBUG=INFO NCCL_IB_HCA=ibp ./all_reduce_perf -b 8\n");
  // Whoever reads it, a script or an environment, finds both.
  std::string all;
  for (const auto& s : f.settings) all += s.name + "=" + s.value + " ";
  for (const auto& script : f.specs.scripts)
    for (const auto& s : script.shell.settings) all += s.name + "=" + s.value + " ";
  EXPECT_EQ(all, "NCCL_DEBUG=INFO NCCL_IB_HCA=ibp ");
}

TEST(Environment, BehindALaunchersTagTakesNamesOfTheNetworkOnly) {
  EXPECT_EQ(settingsOf("0: NCCL_IB_HCA=ibp\n"
                       "[1,0]<stdout>:NCCL_DEBUG=INFO\n"
                       "node-7: NCCL_IB_TC=96\n"
                       "node-7: RANK=3\n"
                       "(RayTrainWorker pid=612, ip=192.0.2.4) UCX_TLS=rc\n"),
            "NCCL_IB_HCA=ibp@1\nNCCL_DEBUG=INFO@2\nNCCL_IB_TC=96@3\nUCX_TLS=rc@5\n");
}

TEST(Environment, OfDockerRunIsReadWithItsLimit) {
  const std::string_view text =
      "$ docker run --gpus all -e NCCL_IB_HCA=ibp --env=NCCL_DEBUG=INFO --ulimit memlock=67108864 "
      "img\n";
  EXPECT_EQ(settingsOf(text), "NCCL_IB_HCA=ibp@1\nNCCL_DEBUG=INFO@1\n");
  EXPECT_EQ(nodeFactsOf(text), "ulimit -l=65536@1\n");
  EXPECT_EQ(nodeFactsOf("$ docker run --ulimit memlock=-1:-1 img\n"), "ulimit -l=unlimited@1\n");
}

TEST(Environment, OfProcIsSeparatedByNuls) {
  const std::string block = std::string("NCCL_IB_HCA=ibp\0NCCL_DEBUG=INFO\0RANK=0\0", 39);
  EXPECT_EQ(settingsOf(block + "\n"), "NCCL_IB_HCA=ibp@1\nNCCL_DEBUG=INFO@1\nRANK=0@1\n");
  EXPECT_EQ(settingsOf(std::string("\0\0\0\0some words\0\0", 16) + "\n"), "");
}

TEST(Environment, DoesNotTakeWhatBelongsToOthers) {
  const JobFacts f = factsOf(
      "NCCL_DEBUG=INFO\n"
      "na:71:80 [0] NCCL INFO NET/IB : Using [0]ibp0:1/IB [RO]; OOB eth0:192.0.2.2<0>\n"
      "rank=3 host=na Watchdog caught nothing\n"
      "[Wed Mar  4 10:00:00 2026] NVRM: Xid (PCI:0000:1b:00): 79, pid=9, GPU has fallen off\n"
      "NCCL_IB_HCA=ibp\n");
  EXPECT_EQ(f.log.processes.size(), 1U);
  ASSERT_EQ(f.run.events.size(), 1U);
  EXPECT_EQ(f.run.events[0].id, "xid-79");
  EXPECT_EQ(f.settings.size(), 2U);
}

TEST(Environment, TakesNothingFromProse) {
  EXPECT_EQ(settingsOf("We set NCCL_IB_HCA=ibp and it worked.\n"
                       "rdma-core 54 or later is needed.\n"
                       "level=info msg=\"NCCL_DEBUG=INFO\"\n"),
            "");
  EXPECT_EQ(nodeFactsOf("rdma-core 54 or later is needed.\n"), "");
}

// --- locked memory -------------------------------------------------------------------------------

TEST(LockedMemory, IsReadFromEveryShellInKib) {
  EXPECT_EQ(nodeFactsOf("$ ulimit -l\n8192\n"), "ulimit -l=8192@2\n");
  EXPECT_EQ(nodeFactsOf("root@na:/# ulimit -Hl\nunlimited\n"), "ulimit -Hl=unlimited@2\n");
  EXPECT_EQ(nodeFactsOf("$ kubectl exec t-0 -- bash -c 'ulimit -l'\n64\n"), "ulimit -l=64@2\n");
  EXPECT_EQ(nodeFactsOf("open files                          (-n) 1024\n"
                        "max locked memory           (kbytes, -l) 65536\n"),
            "ulimit -l=65536@2\n");
  EXPECT_EQ(nodeFactsOf("-l: locked-in-memory size (kbytes)  64\n"), "ulimit -l=64@1\n");
}

TEST(LockedMemory, OfProcIsInBytesSoftAndHard) {
  EXPECT_EQ(
      nodeFactsOf("Limit                     Soft Limit           Hard Limit           Units\n"
                  "Max locked memory         65536                unlimited            bytes\n"
                  "Max address space         unlimited            unlimited            bytes\n"),
      "ulimit -l=64@2\nulimit -Hl=unlimited@2\n");
  EXPECT_EQ(
      nodeFactsOf("MEMLOCK    max locked-in-memory address space     8388608  8388608 bytes\n"),
      "ulimit -l=8192@1\nulimit -Hl=8192@1\n");
}

TEST(LockedMemory, NeedsItsPrompt) {
  EXPECT_EQ(nodeFactsOf("NCCL_DEBUG=INFO\n8192\n"), "");
}

// --- /dev/infiniband -----------------------------------------------------------------------------

TEST(DeviceNodes, AreAbsentWhereLsSaysSo) {
  EXPECT_EQ(nodeFactsOf("$ ls /dev/infiniband\n"
                        "ls: cannot access '/dev/infiniband': No such file or directory\n"),
            "/dev/infiniband=absent@2\n");
  EXPECT_EQ(nodeFactsOf("ls: /dev/infiniband: No such file or directory\n"),
            "/dev/infiniband=absent@1\n");
  EXPECT_EQ(nodeFactsOf("ls: cannot access '/dev/infiniband/uverbs*': No such file or directory\n"),
            "/dev/infiniband=no uverbs@1\n");
  EXPECT_EQ(nodeFactsOf("ls: cannot access '/dev/nvidia0': No such file or directory\n"), "");
  EXPECT_EQ(nodeFactsOf("ls: cannot open directory '/dev/infiniband': Permission denied\n"), "");
}

TEST(DeviceNodes, AreListedShortAndLong) {
  EXPECT_EQ(nodeFactsOf("$ ls /dev/infiniband/\nissm0  rdma_cm  umad0  uverbs0  uverbs1\n$ date\n"),
            "/dev/infiniband=uverbs@1\n");
  EXPECT_EQ(nodeFactsOf("$ ls -l /dev/infiniband\n"
                        "total 0\n"
                        "crw------- 1 root root 231,  64 Mar  4 10:00 issm0\n"
                        "crw-rw-rw- 1 root root 10,  119 Mar  4 10:00 rdma_cm\n"
                        "crw-rw-rw- 1 root root 231, 192 Mar  4 10:00 uverbs0\n"),
            "/dev/infiniband=uverbs@1\n");
  EXPECT_EQ(nodeFactsOf("crw-rw-rw- 1 root root 231, 192 Mar  4 10:00 uverbs0\n"),
            "/dev/infiniband=uverbs@1\n");
}

TEST(DeviceNodes, WithoutVerbsAreToldFromACutList) {
  EXPECT_EQ(nodeFactsOf("$ ls /dev/infiniband\nrdma_cm\n$ date\n"),
            "/dev/infiniband=no uverbs@1\n");
  EXPECT_EQ(nodeFactsOf("$ ls /dev/infiniband\nissm0 rdma_cm\n...\n"), "");
  EXPECT_EQ(nodeFactsOf("$ ls /dev/infiniband\nissm0 rdma_cm"), "");
  EXPECT_EQ(nodeFactsOf("$ ls -l /dev/infiniband\ntotal 0\n$ date\n"),
            "/dev/infiniband=no uverbs@1\n");
}

TEST(NodeFacts, AreReadBehindALaunchersTag) {
  EXPECT_EQ(nodeFactsOf("0: dpkg: librdmacm1 50.0-2\n"
                        "node-7: ls: cannot access '/dev/infiniband': No such file or directory\n"
                        "[1,3]<stdout>:Max locked memory     65536     65536     bytes\n"),
            "package librdmacm1=50.0-2@1\n/dev/infiniband=absent@2\nulimit -l=64@3\n"
            "ulimit -Hl=64@3\n");
}

// --- packages and modules ------------------------------------------------------------------------

TEST(Packages, AreReadFromEachToolsList) {
  EXPECT_EQ(nodeFactsOf("||/ Name                    Version        Architecture Description\n"
                        "ii  ibverbs-providers:amd64 50.0-2build2   amd64        providers\n"
                        "rc  libibverbs1:amd64       39.0-1         amd64        library\n"
                        "ii  python3                 3.12.3-0       amd64        interpreter\n"
                        "ii  rdma-core               50.0-2build2   amd64        RDMA core\n"),
            "package ibverbs-providers=50.0-2build2@2\npackage rdma-core=50.0-2build2@5\n");
  EXPECT_EQ(nodeFactsOf("$ rpm -qa\n"
                        "libibverbs-48.0-1.el9.x86_64\n"
                        "librdmacm-48.0-1.el9.x86_64\n"
                        "rdma-core-devel-48.0-1.el9.x86_64\n"),
            "package libibverbs=48.0-1.el9.x86_64@2\npackage librdmacm=48.0-1.el9.x86_64@3\n");
  EXPECT_EQ(nodeFactsOf("libibverbs1/jammy,now 39.0-1 amd64 [installed,automatic]\n"
                        "rdma-core/jammy 39.0-1 amd64\n"),
            "package libibverbs1=39.0-1@1\n");
  EXPECT_EQ(nodeFactsOf("libibverbs1:amd64\t50.0-2\ndpkg: librdmacm1 50.0-2\n"),
            "package libibverbs1=50.0-2@1\npackage librdmacm1=50.0-2@2\n");
}

std::string manyModules() {
  std::string out = "Module                  Size  Used by\n";
  for (int i = 0; i < 20; ++i) out += "filler_" + std::to_string(i) + "  16384  0\n";
  return out;
}

TEST(Modules, ThatAreLoadedAreNamed) {
  EXPECT_EQ(nodeFactsOf("$ lsmod | grep mlx\n"
                        "mlx5_ib               434176  0\n"
                        "ib_uverbs             139264  2 mlx5_ib,rdma_ucm\n"),
            "module mlx5_ib=loaded@2\nmodule ib_uverbs=loaded@3\n");
  EXPECT_EQ(nodeFactsOf("mlx5_ib is loaded with 16384 0\n"), "");
}

TEST(Modules, AreAllOfThemOnlyInAWholeList) {
  const auto whole = [](const std::string& text) {
    return nodeFactsOf(text).find("lsmod=whole") != std::string::npos;
  };
  EXPECT_TRUE(whole("$ lsmod\n" + manyModules() + "$ date\n"));
  EXPECT_TRUE(whole(manyModules()));
  EXPECT_FALSE(whole(manyModules() + "...\n"));
  EXPECT_FALSE(whole(manyModules() + "filler_x  163"));
  EXPECT_FALSE(whole("Module                  Size  Used by\nnvidia  62529536  812\n$ date\n"));
}

// --- any bytes -----------------------------------------------------------------------------------

TEST(Environment, OfNonsenseBytesIsNothing) {
  std::string bytes;
  unsigned state = 12345;
  for (int i = 0; i < 200000; ++i) {
    state = state * 1664525U + 1013904223U;
    bytes += static_cast<char>(state >> 24);
  }
  // Whatever else it finds in there, it comes back.
  EXPECT_TRUE(factsOf(bytes + "\nNCCL_IB_HCA=ibp\n").hostFacts.empty());
}

TEST(Environment, CutAnywhereComesToNoMoreThanTheWhole) {
  const std::string text =
      "$ ulimit -l\n8192\nNCCL_IB_HCA=ibp\n$ ls /dev/infiniband\nrdma_cm uverbs0\n"
      "ii  rdma-core  50.0-2  amd64  RDMA\nmlx5_ib  434176  0\n$ date\n";
  const std::size_t all = factsOf(text).hostFacts.size();
  for (std::size_t n = 0; n < text.size(); ++n)
    EXPECT_LE(factsOf(text.substr(0, n)).hostFacts.size(), all) << n;
}

}  // namespace
}  // namespace rdmaguard::readers
