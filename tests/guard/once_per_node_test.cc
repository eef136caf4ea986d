// One process of a node speaks for all of them.
#include "plugin/guard/once_per_node.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdmaguard::guard {
namespace {

bool childIsFirst(const std::string& topic) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(firstOnNode(topic) ? 1 : 0);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status) == 1;
}

TEST(OncePerNode, TheFirstProcessSpeaksAndLaterOnesDoNotWhileItLives) {
  const std::string topic = "test." + std::to_string(::getpid());
  EXPECT_TRUE(childIsFirst(topic));  // it has ended since, so its word is gone
  EXPECT_TRUE(firstOnNode(topic));
  EXPECT_FALSE(childIsFirst(topic));
  EXPECT_TRUE(childIsFirst(topic + ".other"));
}

TEST(OncePerNode, ATopicLongerThanASocketNameStillWorks) {
  const std::string topic = std::to_string(::getpid()) + std::string(500, 'x');
  EXPECT_TRUE(firstOnNode(topic));
  EXPECT_FALSE(childIsFirst(topic));
}

}  // namespace
}  // namespace rdmaguard::guard
