// profiler_bench [--plugin=PATH]... [--pollute-mb=N] [Google Benchmark's options]
// Replays the profiler callbacks of NCCL 2.28 to 2.30 through an empty plugin and through each
// PATH, and prints what each costs over the empty one, with the allocations and lock operations
// made on NCCL's threads. Warm figures are medians over batches of 32 collectives; paced ones are
// medians over single collectives. The empty plugin takes its turn beside every other, and "over
// empty" is the median of the differences, so that a processor that changes its clock harms less.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "measures.h"

namespace {

using bench::ProfilerUnderTest;

struct Subject {
  std::string label;
  std::unique_ptr<ProfilerUnderTest> profiler;
  std::map<std::string, double> medians;    ///< ns, by row
  std::map<std::string, double> overEmpty;  ///< ns, by row
  bench::Interposed counted;
};

double median(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void warmUp(const ProfilerUnderTest& p) {
  for (int i = 0; i < 8; ++i) bench::perCollective(p);
}

void count(Subject& subject) {
  const bench::Interposed more = bench::takeCounts();
  subject.counted.allocations += more.allocations;
  subject.counted.locks += more.locks;
}

/// Samples of one row, own and over the empty plugin's of the same moment.
struct Row {
  std::vector<double> own, over;
  void add(double mine, double empty) {
    own.push_back(mine);
    over.push_back(mine - empty);
  }
  void store(Subject& subject, const std::string& key) {
    subject.medians[key] = median(own);
    subject.overEmpty[key] = median(over);
  }
};

void callbackBench(benchmark::State& state, Subject& subject, const Subject& empty) {
  warmUp(*subject.profiler);
  std::vector<Row> rows(bench::callbackKinds().size());
  for (auto _ : state) {
    const std::vector<double> base = bench::perCallback(*empty.profiler);
    bench::takeCounts();
    const std::vector<double> ns = bench::perCallback(*subject.profiler);
    count(subject);
    double sum = 0;
    for (std::size_t i = 0; i < ns.size(); ++i) {
      rows[i].add(ns[i], base[i]);
      sum += ns[i];
    }
    state.SetIterationTime(sum / double(ns.size()) * 1e-9);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].store(subject, bench::callbackKinds()[i].name);
  }
}

template <class Once>
void collectiveBench(benchmark::State& state, Subject& subject, const Subject& empty,
                     const std::string& kind, Once once) {
  warmUp(*subject.profiler);
  Row launch, proxy;
  for (auto _ : state) {
    const bench::Sides base = once(*empty.profiler);
    bench::takeCounts();
    const bench::Sides sides = once(*subject.profiler);
    count(subject);
    launch.add(sides.launchNs, base.launchNs);
    proxy.add(sides.proxyNs, base.proxyNs);
    state.SetIterationTime((sides.launchNs + sides.proxyNs) * 1e-9);
  }
  launch.store(subject, kind + " launch");
  proxy.store(subject, kind + " proxy");
}

std::string pacedKind(std::size_t megabytes) {
  return "paced " + std::to_string(megabytes) + " MB";
}

void registerAll(std::vector<Subject>& subjects, const std::vector<std::size_t>& pollution) {
  const Subject& empty = subjects[0];
  for (Subject& subject : subjects) {
    const auto name = [&](const std::string& what) { return subject.label + "/" + what; };
    benchmark::RegisterBenchmark(name("callback").c_str(),
                                 [&](benchmark::State& s) { callbackBench(s, subject, empty); })
        ->UseManualTime()
        ->Iterations(4000);
    benchmark::RegisterBenchmark(
        name("collective").c_str(),
        [&](benchmark::State& s) {
          collectiveBench(s, subject, empty, "warm",
                          [](const ProfilerUnderTest& p) { return bench::perCollective(p); });
        })
        ->UseManualTime()
        ->Iterations(8000);
    for (const std::size_t megabytes : pollution) {
      const std::string kind = pacedKind(megabytes);
      benchmark::RegisterBenchmark(name(kind).c_str(),
                                   [&subject, &empty, kind, megabytes](benchmark::State& s) {
                                     bench::Paced paced(megabytes << 20);
                                     collectiveBench(
                                         s, subject, empty, kind,
                                         [&](const ProfilerUnderTest& p) { return paced.once(p); });
                                   })
          ->UseManualTime()
          ->Iterations(megabytes > 8 ? 200 : 1500);
    }
  }
}

void printTable(const std::vector<Subject>& subjects, const std::vector<std::size_t>& pollution) {
  std::vector<std::pair<std::string, std::string>> rows;  // key, text
  for (const bench::CallbackKind& kind : bench::callbackKinds()) {
    rows.emplace_back(kind.name, std::string("callback: ") + kind.name);
  }
  rows.emplace_back("warm launch", "collective, launching thread (10 callbacks)");
  rows.emplace_back("warm proxy", "collective, proxy thread (48 callbacks)");
  for (const std::size_t megabytes : pollution) {
    const std::string kind = pacedKind(megabytes);
    const std::string text = "one a ms, " + std::to_string(megabytes) + " MB walked between, ";
    rows.emplace_back(kind + " launch", text + "launching");
    rows.emplace_back(kind + " proxy", text + "proxy");
  }
  std::printf("\nns (median)%*s", 43, "empty");
  for (std::size_t i = 1; i < subjects.size(); ++i) {
    std::printf("%16s%12s", subjects[i].label.c_str(), "over empty");
  }
  std::printf("\n");
  const auto value = [](const std::map<std::string, double>& of, const std::string& key) {
    const auto found = of.find(key);
    return found == of.end() ? 0.0 : found->second;
  };
  for (const auto& [key, text] : rows) {
    std::printf("%-46s%8.1f", text.c_str(), value(subjects[0].medians, key));
    for (std::size_t i = 1; i < subjects.size(); ++i) {
      std::printf("%16.1f%12.1f", value(subjects[i].medians, key),
                  value(subjects[i].overEmpty, key));
    }
    std::printf("\n");
  }
  for (const Subject& s : subjects) {
    std::printf("%s: %llu allocations, %llu lock operations on NCCL's threads after warm-up\n",
                s.label.c_str(), static_cast<unsigned long long>(s.counted.allocations),
                static_cast<unsigned long long>(s.counted.locks));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (!bench::interposed()) {
    std::fprintf(stderr, "profiler_bench: allocations and locks cannot be counted here\n");
    return 2;
  }
  std::vector<std::string> plugins;
  std::vector<std::size_t> pollution;
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    if (std::strncmp(argv[i], "--plugin=", 9) == 0) {
      plugins.emplace_back(argv[i] + 9);
    } else if (std::strncmp(argv[i], "--pollute-mb=", 13) == 0) {
      pollution.push_back(std::strtoul(argv[i] + 13, nullptr, 10));
    } else {
      rest.push_back(argv[i]);
    }
  }
  if (pollution.empty()) pollution = {0, 4, 64};
  int count = static_cast<int>(rest.size());
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) return 1;

  std::vector<Subject> subjects;
  subjects.push_back({"empty", std::make_unique<ProfilerUnderTest>(EMPTY_PROFILER), {}, {}, {}});
  for (const std::string& path : plugins) {
    auto profiler = std::make_unique<ProfilerUnderTest>(path);
    const std::string label = profiler->name();
    subjects.push_back({label, std::move(profiler), {}, {}, {}});
  }
  registerAll(subjects, pollution);
  benchmark::RunSpecifiedBenchmarks();
  printTable(subjects, pollution);
  return 0;
}
