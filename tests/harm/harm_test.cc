// The plugin in a job that meets trouble. Each job is a child process that loads the built
// plugin, makes a communicator of two nodes through interface v5, records collectives and ends;
// its exit status and what it wrote to standard error are what a user would see. There is no
// NCCL in it unless a test says so.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "nccl_abi/profiler_v3.h"
#include "nccl_abi/profiler_v5.h"

namespace {

namespace fs = std::filesystem;
namespace v5 = nccl_abi::profiler_v5;
using nccl_abi::EventState;
using nccl_abi::Result;
namespace type = nccl_abi::event_type;

constexpr int kGoesOn = 7;  // the job's own exit code: it reached its end

std::string contents(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// The plugin as NCCL holds it.
struct Plugin {
  const v5::Profiler* profiler = nullptr;
  Plugin() {
    void* library = ::dlopen(RDMAGUARD_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library) profiler = static_cast<const v5::Profiler*>(::dlsym(library, "ncclProfiler_v5"));
    if (!profiler) ::_exit(99);
  }

  void* init(nccl_abi::Logger logger = nullptr, std::uint64_t id = 0xabc,
             int* mask = nullptr) const {
    void* context = nullptr;
    int own = 0;
    if (profiler->init(&context, id, mask ? mask : &own, "job", 2, 2, 0, logger) != Result::Success)
      ::_exit(98);
    return context;
  }

  void allReduces(void* context, int n) const {
    for (int i = 0; i < n; ++i) {
      void *group = nullptr, *coll = nullptr, *channel = nullptr;
      v5::EventDescriptor d{};
      d.type = type::kGroup;
      profiler->startEvent(context, &group, &d);
      d = {};
      d.type = type::kColl;
      d.coll = {static_cast<std::uint64_t>(i),
                "AllReduce",
                nullptr,
                nullptr,
                1024,
                0,
                "ncclFloat32",
                1,
                8,
                "RING",
                "SIMPLE",
                group};
      profiler->startEvent(context, &coll, &d);
      profiler->stopEvent(coll);
      profiler->stopEvent(group);
      d = {};
      d.type = type::kKernelCh;
      d.parentObj = coll;
      d.kernelCh = {0, 1000};
      profiler->startEvent(context, &channel, &d);
      v5::EventStateArgs args{};
      args.kernelCh.pTimer = 3000;
      profiler->recordEventState(channel, EventState::KernelChStop, &args);
      profiler->stopEvent(channel);
    }
  }

  void finalize(void* context) const { profiler->finalize(context); }
};

struct Ended {
  int status = 0;
  std::string said;
  bool wentOn() const { return WIFEXITED(status) && WEXITSTATUS(status) == kGoesOn; }
};

class Harm : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/rdmaguard-harm.XXXXXX";
    folder_ = ::mkdtemp(name);
    for (const char* set : {"NCCL_RDMAGUARD_DIR", "NCCL_RDMAGUARD_LOG", "NCCL_RDMAGUARD_FAIL_FAST",
                            "NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_IB_HCA"})
      ::unsetenv(set);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Ended job(const std::function<void()>& body) const {
    const fs::path errors = folder_ / "stderr";
    const pid_t child = ::fork();
    if (child == 0) {
      const int file = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
      ::dup2(file, STDERR_FILENO);
      body();
      // finalize waits for the report thread 100 ms at most; a machine busy with other tests
      // may not run it in that time.
      ::usleep(200'000);
      ::_exit(kGoesOn);
    }
    Ended ended;
    ::waitpid(child, &ended.status, 0);
    ended.said = contents(errors);
    return ended;
  }

  /// A whole job: a communicator, `n` collectives, its end.
  static void wholeJob(int n) {
    const Plugin plugin;
    void* context = plugin.init();
    plugin.allReduces(context, n);
    plugin.finalize(context);
  }

  std::string records() const {
    std::string out;
    for (const auto& entry : fs::directory_iterator(folder_ / "json"))
      out += contents(entry.path());
    return out;
  }

  nlohmann::json completeness() const {
    std::ifstream in(fs::directory_iterator(folder_ / "json")->path());
    nlohmann::json last;
    for (std::string line; std::getline(in, line);) {
      const auto record = nlohmann::json::parse(line);
      if (record.contains("completeness")) last = record["completeness"];
    }
    return last;
  }

  void useDirectory() const { ::setenv("NCCL_RDMAGUARD_DIR", (folder_ / "json").c_str(), 1); }

  fs::path folder_;
};

TEST_F(Harm, AWholeJobRecordsAllItDid) {
  useDirectory();
  const Ended ended = job([] { wholeJob(100); });
  EXPECT_TRUE(ended.wentOn()) << ended.status << ended.said;
  EXPECT_EQ(count(records(), "\"coll_perf\""), 100U);
  const auto total = completeness();
  EXPECT_EQ(total["seen"], 100);
  EXPECT_EQ(total["written"], 100);
  EXPECT_EQ(total["dropped"], 0);
}

TEST_F(Harm, WithoutAnNcclToTapOneLineSaysSoAndCollectivesAreRecorded) {
  useDirectory();
  const Ended ended = job([] { wholeJob(3); });
  EXPECT_TRUE(ended.wentOn()) << ended.status;
  EXPECT_EQ(count(ended.said, "not tapped"), 1U) << ended.said;
  EXPECT_EQ(count(records(), "\"coll_perf\""), 3U);
}

TEST_F(Harm, ANewerNcclThanTheLayoutsKnownIsNamedInOneLineAndLeftAlone) {
  const Ended ended = job([] {
    void* nccl = ::dlopen(NEWER_NCCL, RTLD_NOW | RTLD_LOCAL);
    // The logger only says which object holds NCCL; it is never called.
    const auto logger = reinterpret_cast<nccl_abi::Logger>(::dlsym(nccl, "ncclGetVersion"));
    const Plugin plugin;
    void* context = plugin.init(logger);
    void* second = plugin.init(logger, 0xdef);
    plugin.allReduces(context, 1);
    plugin.finalize(context);
    plugin.finalize(second);
  });
  EXPECT_TRUE(ended.wentOn()) << ended.status << ended.said;
  EXPECT_EQ(count(ended.said, "not tapped"), 1U) << ended.said;
  EXPECT_NE(ended.said.find("2.33.0"), std::string::npos) << ended.said;
}

TEST_F(Harm, AClosedStandardErrorCostsTheLinesAndNothingElse) {
  useDirectory();
  const Ended ended = job([] {
    ::close(STDERR_FILENO);
    wholeJob(10);
  });
  EXPECT_TRUE(ended.wentOn()) << ended.status;
  EXPECT_EQ(completeness()["written"], 10);
}

TEST_F(Harm, AReaderOfStandardErrorThatLeftDoesNotEndTheJob) {
  const Ended ended = job([] {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(1);
    ::close(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    ::signal(SIGPIPE, SIG_DFL);
    wholeJob(10);
  });
  EXPECT_TRUE(ended.wentOn()) << ended.status;
}

TEST_F(Harm, ADirectoryThatCannotBeMadeIsSaidInOneLine) {
  ::setenv("NCCL_RDMAGUARD_DIR", "/proc/no/such/place", 1);
  const Ended ended = job([] { wholeJob(10); });
  EXPECT_TRUE(ended.wentOn()) << ended.status;
  EXPECT_EQ(count(ended.said, "JSON lines are off"), 1U) << ended.said;
}

TEST_F(Harm, AFullDiskIsSaidInOneLineAndTheJobGoesOn) {
  useDirectory();
  const Ended ended = job([] {
    const rlimit limit{16384, 16384};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    wholeJob(1000);
  });
  EXPECT_TRUE(ended.wentOn()) << ended.status;
  EXPECT_EQ(count(ended.said, "JSON lines are off"), 1U) << ended.said;
  EXPECT_NE(ended.said.find("collectives 1000 seen, 1000 recorded, 0 dropped"), std::string::npos)
      << ended.said;
}

TEST_F(Harm, SwitchedOffItHasNoThreadNoMaskAndNoWord) {
  ::setenv("NCCL_RDMAGUARD_ENABLE", "0", 1);
  const Ended ended = job([] {
    const Plugin plugin;
    int mask = -1;
    void* context = plugin.init(nullptr, 1, &mask);
    if (mask != 0 || context != nullptr) ::_exit(1);
    plugin.allReduces(context, 10);
    plugin.finalize(context);
    if (std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator()) != 1)
      ::_exit(2);
  });
  ::unsetenv("NCCL_RDMAGUARD_ENABLE");
  EXPECT_TRUE(ended.wentOn()) << ended.status;
  EXPECT_TRUE(ended.said.empty()) << ended.said;
}

TEST_F(Harm, ItHasOneThreadOfItsOwnWhichTakesNoSignalOfTheJob) {
  const Ended ended = job([] {
    const Plugin plugin;
    void* first = plugin.init(nullptr, 1);
    void* second = plugin.init(nullptr, 2);
    int others = 0;
    for (const auto& task : fs::directory_iterator("/proc/self/task")) {
      if (std::stoi(task.path().filename()) == ::getpid()) continue;
      ++others;
      const std::string status = contents(task.path() / "status");
      // Every signal that can be blocked is: SIGTERM is bit 14, SIGUSR1 bit 9.
      const auto at = status.find("SigBlk:\t") + 8;
      const unsigned long blocked = std::stoul(status.substr(at, 16), nullptr, 16);
      if ((blocked >> (SIGTERM - 1) & 1) == 0 || (blocked >> (SIGUSR1 - 1) & 1) == 0) ::_exit(2);
    }
    if (others != 1) ::_exit(3);
    plugin.finalize(first);
    plugin.finalize(second);
  });
  EXPECT_TRUE(ended.wentOn()) << ended.status;
}

TEST_F(Harm, AForkedChildThatUsesNcclRunsWithoutTheGuardAndSaysSo) {
  const Ended ended = job([] {
    const Plugin plugin;
    void* context = plugin.init();
    const pid_t child = ::fork();
    if (child == 0) {
      int mask = -1;
      void* mine = plugin.init(nullptr, 5, &mask);
      plugin.allReduces(mine, 5);
      plugin.finalize(mine);
      ::_exit(mask == 0 && mine == nullptr ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    plugin.allReduces(context, 5);
    plugin.finalize(context);
    if (status != 0) ::_exit(4);
  });
  EXPECT_TRUE(ended.wentOn()) << ended.status;
  EXPECT_EQ(count(ended.said, "the guard is off in it"), 1U) << ended.said;
  EXPECT_NE(ended.said.find("collectives 5 seen, 5 recorded"), std::string::npos) << ended.said;
}

TEST_F(Harm, AJobThatEndsWithoutDestroyingItsCommunicatorsKeepsItsRecords) {
  useDirectory();
  const Ended ended = job([] {
    const Plugin plugin;
    plugin.allReduces(plugin.init(), 20);
    std::exit(kGoesOn);
  });
  EXPECT_TRUE(ended.wentOn()) << ended.status;
  EXPECT_EQ(count(records(), "\"coll_perf\""), 20U);
}

TEST_F(Harm, MoreCommunicatorsThanItFollowsAreLeftAlone) {
  const Ended ended = job([] {
    const Plugin plugin;
    std::vector<void*> contexts;
    for (std::uint64_t id = 1; id <= 1030; ++id) contexts.push_back(plugin.init(nullptr, id));
    if (contexts.front() == nullptr || contexts.back() != nullptr) ::_exit(2);
    // The job's own limit on open files is not the guard's to use up.
    if (std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()) > 16)
      ::_exit(4);
    for (void* context : contexts) {
      plugin.allReduces(context, 1);
      plugin.finalize(context);
    }
    void* again = plugin.init(nullptr, 2000);
    if (again == nullptr) ::_exit(3);
    plugin.finalize(again);
  });
  EXPECT_TRUE(ended.wentOn()) << ended.status;
  EXPECT_NE(ended.said.find("is not recorded"), std::string::npos);
  EXPECT_LE(count(ended.said, "THIS JOB RUNS"), 1U) << "one block is enough";
}

TEST_F(Harm, AnInterfaceThatNamesACommunicatorLateStillGetsItsRecordsUnderItsName) {
  useDirectory();
  const Ended ended = job([] {
    namespace v3 = nccl_abi::profiler_v3;
    void* library = ::dlopen(RDMAGUARD_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    const auto* profiler = static_cast<const v3::Profiler*>(::dlsym(library, "ncclProfiler_v3"));
    void *context = nullptr, *group = nullptr, *coll = nullptr;
    int mask = 0;
    profiler->init(&context, &mask);
    v3::EventDescriptor d{};
    d.type = type::kGroup;
    profiler->startEvent(context, &group, &d);
    d = {};
    d.type = type::kColl;
    d.parentObj = group;
    d.rank = 3;
    d.coll = {nullptr, 0x77,          0, "AllReduce", nullptr, nullptr, 1024,
              0,       "ncclFloat32", 1, 8,           "RING",  "SIMPLE"};
    profiler->startEvent(context, &coll, &d);
    profiler->stopEvent(coll);
    profiler->stopEvent(group);
    profiler->finalize(context);
  });
  EXPECT_TRUE(ended.wentOn()) << ended.status << ended.said;
  std::ifstream in(fs::directory_iterator(folder_ / "json")->path());
  std::string verdicts;
  for (std::string line; std::getline(in, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record.contains("verdict")) verdicts += record["header"]["id"].get<std::string>() + " ";
    if (!record.contains("completeness")) continue;
    EXPECT_EQ(record["header"]["id"], "0x77");
    EXPECT_EQ(record["header"]["rank"], 3);
  }
  EXPECT_EQ(verdicts, "unknown 0x77 ");
}

TEST_F(Harm, ABadValueIsOneLineAndTheDefaultHolds) {
  ::setenv("NCCL_RDMAGUARD_EXIT_CODE", "zero", 1);
  ::setenv("NCCL_RDMAGUARD_FAIL_FAST", "1", 1);
  const Ended ended = job([] { wholeJob(1); });
  ::unsetenv("NCCL_RDMAGUARD_EXIT_CODE");
  ::unsetenv("NCCL_RDMAGUARD_FAIL_FAST");
  EXPECT_EQ(count(ended.said, "NCCL_RDMAGUARD_EXIT_CODE=zero is not understood"), 1U) << ended.said;
  ASSERT_TRUE(WIFEXITED(ended.status));
  // 78 where this machine has no RDMA device open; a machine that has one goes on.
  const int code = WEXITSTATUS(ended.status);
  EXPECT_TRUE(code == 78 || code == kGoesOn) << code;
}

}  // namespace
