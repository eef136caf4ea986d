// Every rule that judges a whole input: a text that makes it hold, and one near it that must not.
// A rule without its two texts fails.
#include "rule_inputs.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "verifier/engine/baseline.h"
#include "verifier/engine/judge_job.h"
#include "verifier/engine/rules.h"
#include "verifier/readers/input.h"

namespace rdmaguard::verify {

std::string with(std::string_view text,
                 const std::vector<std::pair<std::string_view, std::string_view>>& changes) {
  std::string out(text);
  for (const auto& [from, to] : changes) {
    const std::size_t at = out.find(from);
    if (at == std::string::npos)
      ADD_FAILURE() << "no '" << from << "' in:\n" << out;
    else
      out.replace(at, from.size(), to);
  }
  return out;
}

namespace {

using engine::Finding;
using engine::Rule;

std::map<std::string_view, RuleInput> table() {
  std::map<std::string_view, RuleInput> all;
  for (const auto& rows :
       {logRuleInputs(), specRuleInputs(), listingRuleInputs(), envRuleInputs(), runRuleInputs()})
    for (const RuleInput& row : rows)
      if (!all.emplace(row.id, row).second) ADD_FAILURE() << "two rows for " << row.id;
  return all;
}

std::vector<Finding> findingsOf(std::string_view text, std::string_view baseline) {
  engine::JobFacts facts = readers::readText(text, "input.txt").facts;
  if (!baseline.empty()) engine::compare(facts, engine::baselineOfJson(baseline));
  const engine::JobVerdict v = engine::judgeJob(facts, {});
  std::vector<Finding> all = v.causes;
  for (const auto* list : {&v.job.missing, &v.job.degraded, &v.job.notes})
    all.insert(all.end(), list->begin(), list->end());
  return all;
}

const Finding* found(const std::vector<Finding>& all, std::string_view id) {
  for (const Finding& f : all)
    if (f.ruleId == id) return &f;
  return nullptr;
}

std::string idsOf(const std::vector<Finding>& all) {
  std::string ids;
  for (const Finding& f : all) ids += f.ruleId + " ";
  return ids;
}

std::vector<Rule> jobRules() {
  std::vector<Rule> rows;
  for (const Rule& r : engine::rules())
    if (r.scope == engine::Scope::Job) rows.push_back(r);
  return rows;
}

class EachJobRule : public testing::TestWithParam<Rule> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EachJobRule);

TEST_P(EachJobRule, HoldsOnItsInputWithEvidenceThatNamesALine) {
  const Rule& rule = GetParam();
  const auto inputs = table();
  const auto row = inputs.find(rule.id);
  ASSERT_NE(row, inputs.end()) << "a rule without an input: " << rule.id;
  const auto all = findingsOf(row->second.fires, row->second.baseline);
  const Finding* f = found(all, rule.id);
  ASSERT_TRUE(f) << "only: " << idsOf(all);
  EXPECT_TRUE(f->what.ends_with('.')) << f->what;
  EXPECT_FALSE(f->fix.empty());
  ASSERT_FALSE(f->evidence.empty());
  for (const Evidence& e : f->evidence) {
    EXPECT_FALSE(e.fact.empty());
    EXPECT_EQ(e.source.substr(0, 9), "input.txt") << e.fact << " from " << e.source;
  }
}

TEST_P(EachJobRule, KeepsSilentOnItsNearMiss) {
  const auto inputs = table();
  const auto row = inputs.find(GetParam().id);
  ASSERT_NE(row, inputs.end());
  ASSERT_NE(row->second.fires, row->second.nearMiss);
  ASSERT_FALSE(row->second.nearMiss.empty());
  const auto all = findingsOf(row->second.nearMiss, row->second.baseline);
  EXPECT_FALSE(found(all, GetParam().id)) << found(all, GetParam().id)->what;
}

const std::vector<Rule> kJobRules = jobRules();
INSTANTIATE_TEST_SUITE_P(Table, EachJobRule, testing::ValuesIn(kJobRules), [](const auto& info) {
  std::string id(info.param.id);
  for (char& c : id)
    if (c == '-') c = '_';
  return id;
});

TEST(RuleInputs, HoldNoRowWithoutARule) {
  std::set<std::string_view> ids;
  for (const Rule& r : engine::rules()) ids.insert(r.id);
  for (const auto& [id, unused] : table()) EXPECT_TRUE(ids.contains(id)) << id;
}

}  // namespace
}  // namespace rdmaguard::verify
