// Compares what the recorder gave with what a trace implies. For the replay tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "oracle.h"
#include "replayer.h"

namespace replay {

inline std::vector<Collected> inOrder(std::vector<Collected> list) {
  std::sort(list.begin(), list.end(), [](const Collected& a, const Collected& b) {
    return a.finished.index < b.finished.index;
  });
  return list;
}

inline void expectBalanced(const rdmaguard::collective::Counters& c) {
  EXPECT_EQ(c.seen, c.written + c.dropped());
}

inline void expectSame(const Outcome& outcome, const ExpectedCommunicator& expected) {
  const std::vector<Collected> got = inOrder(outcome.finished);
  ASSERT_EQ(got.size(), expected.finished.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Expected& want = expected.finished[i];
    const auto& f = got[i].finished;
    SCOPED_TRACE("collective " + std::to_string(i) + " " + want.operation);
    EXPECT_EQ(name(f.operation), want.operation);
    EXPECT_EQ(f.bytes, want.bytes);
    EXPECT_EQ(got[i].algorithm, want.algorithm);
    EXPECT_EQ(got[i].protocol, want.protocol);
    EXPECT_EQ(got[i].datatype, want.datatype);
    EXPECT_EQ(f.durationNs, want.durationNs);
    EXPECT_DOUBLE_EQ(f.busbw, want.busbw);
    EXPECT_EQ(f.timing == rdmaguard::collective::TimingSource::KernelGpu, want.durationNs != 0);
  }
  std::map<std::string, unsigned> apiOnly;
  for (std::size_t op = 0; op < outcome.apiOnly.size(); ++op) {
    if (outcome.apiOnly[op].calls != 0) {
      apiOnly[std::string(name(static_cast<rdmaguard::Operation>(op)))] =
          static_cast<unsigned>(outcome.apiOnly[op].calls);
    }
  }
  EXPECT_EQ(apiOnly, expected.apiOnly);
  expectBalanced(outcome.counters);
  EXPECT_EQ(outcome.counters.dropped(), 0U);
}

inline void expectSame(const Outcomes& outcomes, const Trace& trace) {
  const auto expected = expectedFrom(trace);
  for (const auto& [context, communicator] : expected) {
    SCOPED_TRACE("communicator " + std::to_string(context));
    const auto found = outcomes.find(context);
    ASSERT_NE(found, outcomes.end());
    expectSame(found->second, communicator);
  }
}

}  // namespace replay
