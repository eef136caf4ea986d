// The probe of the whole node, and the registration test, on the machine that runs the tests: it
// may have no device, and is left as it was.
#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "verifier/probe/probe.h"

namespace rdmaguard::test {
namespace {

int openDescriptors() {
  int n = 0;
  DIR* dir = opendir("/proc/self/fd");
  while (readdir(dir)) ++n;
  closedir(dir);
  return n;
}

TEST(ThisMachineInDepth, IsReadAndLeftAsItWas) {
  const int before = openDescriptors();
  const engine::NodeFacts n = probe::readWholeNode();
  EXPECT_EQ(openDescriptors(), before);
  EXPECT_TRUE(n.shm.known);
  for (const engine::RdmaDevice& d : n.devices) EXPECT_EQ(d.toGpu.size(), n.gpus.size());
}

TEST(ThisMachineInDepth, TellsTheReleaseOfItsLibibverbs) {
  const engine::NodeFacts n = probe::readWholeNode();
  ASSERT_EQ(n.loader.state, engine::VerbsLoader::State::Found) << n.loader.error;
  EXPECT_FALSE(n.loader.rdmaCore.empty()) << n.loader.file;
  const auto& versions = n.loader.symbolVersions;
  EXPECT_NE(std::find(versions.begin(), versions.end(), "IBVERBS_1.1"), versions.end());
  EXPECT_NE(std::find(versions.begin(), versions.end(), "IBVERBS_1.8"), versions.end());
}

TEST(RegistrationTest, EndsOnAnyMachineAndLoadsNothingHere) {
  engine::NodeFacts n = probe::readWholeNode();
  const int before = openDescriptors();
  probe::tryRegistration(n, std::chrono::seconds(10));
  EXPECT_EQ(openDescriptors(), before);
  EXPECT_TRUE(n.registration.tried);
  EXPECT_FALSE(dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD)) << "the child alone opens it";
  for (const engine::RdmaDevice& d : n.devices)
    EXPECT_TRUE(d.registration.has_value() || !n.registration.failure.empty()) << d.name;
}

TEST(RegistrationTest, OfAMissingLibraryIsAFinding) {
  engine::NodeFacts n;
  n.loader.path = "/nonexistent/libibverbs.so.1";
  probe::tryRegistration(n, std::chrono::seconds(10));
  EXPECT_NE(n.registration.failure.find("libibverbs cannot be opened"), std::string::npos)
      << n.registration.failure;
}

TEST(RegistrationTest, OfALibraryThatIsAnotherIsAFinding) {
  engine::NodeFacts n;
  n.loader.path = "libdl.so.2";
  probe::tryRegistration(n, std::chrono::seconds(10));
  EXPECT_NE(n.registration.failure.find("lacks functions"), std::string::npos)
      << n.registration.failure;
}

}  // namespace
}  // namespace rdmaguard::test
