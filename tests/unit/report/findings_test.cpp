// Findings as text, JSON, SARIF and lines on the pipe, and what suppressions leave out.
#include "report/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>
#include <nlohmann/json.hpp>

#include "report/kinds.h"

namespace tw::report {
namespace {

using testing::HasSubstr;

CheckResult example() {
  Finding race;
  race.kind = "race-shared";
  race.kernel = "_Z4gemmPf";
  race.message = "read after write";
  race.advice = "put __syncthreads() between the two accesses";
  race.where = "block (0, 0, 0)";
  race.count = 7;
  race.sites = {{"dir/gemm.cu", 21, "st.shared.f32 [%r1], %f1;", "write"},
                {"dir/gemm.cu", 23, "ld.shared.f32 %f2, [%r2];", "read"}};
  Finding note;
  note.id = 1;
  note.kind = "race-global";
  note.severity = Severity::note;
  note.message = "the same value";
  CheckResult r;
  r.findings = {note, race};
  r.findings[0].id = 0, r.findings[1].id = 1;
  r.checked = {1, 3, 0, 0, {"memcheck", "racecheck"}, 0};
  return r;
}

TEST(Findings, TextShowsBothSourceLinesAndWhatWasChecked) {
  FindingsTextOptions options;
  options.source = [](const std::string&, uint32_t line) -> std::optional<std::string> {
    return line == 21 ? "  a = b;" : "\tsum += a;";
  };
  const std::string text = findings_text(example(), options);
  EXPECT_LT(text.find("error: race-shared: read after write"), text.find("note: race-global"));
  EXPECT_THAT(text, HasSubstr("--> dir/gemm.cu:21\n   21 |   a = b;\n      |   ^~~~~~ write\n"));
  EXPECT_THAT(text, HasSubstr("   23 |     sum += a;\n"));
  EXPECT_THAT(text, HasSubstr("= kernel: gemm(float*)\n"));
  EXPECT_THAT(text, HasSubstr("= seen 7 times\n"));
  EXPECT_THAT(text, HasSubstr("tilewright: checked 3 launches of 1 kernel with memcheck, "
                              "racecheck: 1 error, 1 note\n"));
  EXPECT_EQ(text.find('\033'), std::string::npos);
  options.color = true;
  EXPECT_NE(findings_text(example(), options).find("\033[1;31merror"), std::string::npos);
}

TEST(Findings, JsonAndSarifHoldSitesAndCounts) {
  const auto json = nlohmann::json::parse(findings_json(example()));
  EXPECT_EQ(json["schema"], kFindingsSchema);
  EXPECT_EQ(json["findings"][1]["kernel"], "gemm(float*)");
  EXPECT_EQ(json["findings"][1]["mangled"], "_Z4gemmPf");
  EXPECT_EQ(json["findings"][1]["sites"][1]["line"], 23);
  EXPECT_EQ(json["findings"][1]["count"], 7);
  EXPECT_EQ(json["checked"]["launches"], 3);
  const auto sarif = nlohmann::json::parse(findings_sarif(example(), "1.0", "/code/us/project"));
  const auto& result = sarif["runs"][0]["results"][1];
  EXPECT_EQ(sarif["version"], "2.1.0");
  EXPECT_EQ(result["level"], "error");
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"]["startLine"], 21);
  EXPECT_EQ(result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "dir/gemm.cu");
  EXPECT_EQ(result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "gemm(float*)");
  EXPECT_EQ(sarif["runs"][0]["originalUriBaseIds"]["SRCROOT"]["uri"], "file:///code/us/project/");
}

// Code hosts show a finding at its file only if it is named relative to the repository.
TEST(Findings, SarifNamesFilesRelativeToTheFolder) {
  CheckResult r = example();
  auto place = [&](const std::string& file) {
    r.findings[1].sites[0].file = file;
    return nlohmann::json::parse(
        findings_sarif(r, "1.0", "/code/us/project"))["runs"][0]["results"][1]["locations"][0]
                                                     ["physicalLocation"]["artifactLocation"];
  };
  for (const char* inside : {"src/a b.cu", "./src/a b.cu", "/code/us/project/src/a b.cu"}) {
    EXPECT_EQ(place(inside)["uri"], "src/a%20b.cu") << inside;
    EXPECT_EQ(place(inside)["uriBaseId"], "SRCROOT") << inside;
  }
  for (const char* outside : {"../x.cu", "/code/us/x.cu"}) {
    EXPECT_EQ(place(outside)["uri"], "file:///code/us/x.cu") << outside;
    EXPECT_FALSE(place(outside).contains("uriBaseId")) << outside;
  }
}

TEST(Findings, EveryKindHasARuleOfItsTool) {
  CheckResult r;
  for (const FindingKind& k : finding_kinds()) {
    Finding f;
    f.kind = k.name;
    r.findings.push_back(f);
  }
  const auto run = nlohmann::json::parse(findings_sarif(r, "1.0", "/"))["runs"][0];
  ASSERT_EQ(run["results"].size(), finding_kinds().size());
  for (const auto& result : run["results"]) {
    const auto& rule = run["tool"]["driver"]["rules"][result["ruleIndex"].get<size_t>()];
    EXPECT_EQ(rule["id"], result["ruleId"]);
    EXPECT_EQ(rule["properties"]["tags"][0], tool_of(result["ruleId"].get<std::string>()));
    for (const char* text : {"shortDescription", "fullDescription", "help"})
      EXPECT_GT(rule[text]["text"].get<std::string>().size(), 8u) << rule["id"];
  }
}

TEST(Findings, TheNoteAboutMissingLinesNamesTheFlags) {
  CheckResult r = example();
  EXPECT_THAT(findings_text(r, {}), testing::Not(HasSubstr("Compile it again")));
  r.findings[1].sites[0].file = "program.ptx";
  EXPECT_THAT(findings_text(r, {}),
              HasSubstr("of its kernels. Compile it again with `nvcc -lineinfo`"));
  r.findings[1].sites.push_back({"libx.so", 0, "cudaMalloc", "call", true, {{"libx.so", 0, "f"}}});
  EXPECT_THAT(findings_text(r, {}), HasSubstr("`nvcc -g -lineinfo`"));
}

TEST(Findings, ThePipeCarriesThemInPieces) {
  CheckResult sent = example();
  std::string stream;
  for (Finding f : sent.findings) {
    f.count = 1;
    stream += finding_line(f);
  }
  FindingsReader reader;
  for (char c : stream) reader.read({&c, 1});
  EXPECT_FALSE(reader.complete());  // killed here, nothing but counts would be lost
  EXPECT_EQ(reader.result().findings.size(), 2u);
  reader.read("not JSON\n");
  reader.read(summary_line(sent));
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(findings_json(reader.result()), findings_json(sent));
}

// Each line fits into what a pipe takes at once, and lines of two processes may alternate.
TEST(Findings, LongRecordsOfTwoProcessesMayMix) {
  Finding f = example().findings[1];
  f.message = std::string(3 * PIPE_BUF, 'x');
  const std::string mine = finding_line(f), pid = std::to_string(getpid());
  std::vector<std::string> lines;
  for (size_t at = 0, end; at < mine.size(); at = end) {
    end = mine.find('\n', at) + 1;
    EXPECT_LE(end - at, size_t(PIPE_BUF));
    lines.push_back(mine.substr(at, end - at));
  }
  EXPECT_GT(lines.size(), 3u);
  FindingsReader reader;
  for (const std::string& line : lines) {
    reader.read(line);
    reader.read("7" + pid + line.substr(pid.size()));
  }
  const CheckResult r = reader.result();
  ASSERT_EQ(r.findings.size(), 1u);  // both have found the same
  EXPECT_EQ(r.findings[0].message, f.message);
  EXPECT_EQ(r.findings[0].count, 2 * f.count);
}

// Whatever ends the program: all that has been said before holds.
TEST(Findings, ProgressStandsWhenAProgramIsKilled) {
  CheckSummary checked = example().checked;
  checked.launches = 0;
  FindingsReader reader;
  EXPECT_FALSE(reader.started());
  reader.read(start_line(checked));
  EXPECT_TRUE(reader.started());
  Finding f = example().findings[1];
  f.id = 0;
  f.count = 1;
  reader.read(finding_line(f));
  checked.launches = 3;
  reader.read(progress_line(checked, {{0, 64}}));
  EXPECT_FALSE(reader.complete());
  EXPECT_EQ(reader.result().checked.launches, 3u);
  EXPECT_EQ(reader.result().checked.tools, checked.tools);
  ASSERT_EQ(reader.result().findings.size(), 1u);
  EXPECT_EQ(reader.result().findings[0].count, 64u);
}

// exec: the same process number once more, with findings of its own that begin at 0.
TEST(Findings, AProgramThatBecomesAnotherKeepsWhatItHasFound) {
  const CheckResult sent = example();
  FindingsReader reader;
  for (int i = 0; i < 2; ++i) {
    reader.read(start_line(sent.checked));
    for (const Finding& f : sent.findings) reader.read(finding_line(f));
    reader.read(progress_line(sent.checked, {{0, 10}}));
    EXPECT_FALSE(reader.complete());
  }
  reader.read(summary_line(sent));
  EXPECT_TRUE(reader.complete());
  const CheckResult r = reader.result();
  ASSERT_EQ(r.findings.size(), sent.findings.size());
  EXPECT_EQ(r.findings[0].count, 10 + sent.findings[0].count);
  EXPECT_EQ(r.checked.launches, 2 * sent.checked.launches);
}

TEST(Findings, StrangeRecordsAreIgnored) {
  FindingsReader reader;
  for (const char* text :
       {"1 {\"finding\": 7}", "1 {\"finding\": {\"kind\": 3}}", "1 {\"finding\": {\"sites\": [1]}}",
        "1 {\"counts\": [[]]}", "1 {\"counts\": [[\"a\", {}]]}", "1 {\"counts\": 5}",
        "1 {\"checked\": []}", "1 {\"checked\": {\"launches\": \"many\"}}", "1 [1, 2]", "1 {",
        "-1 {}", "1", "", "99999999999999999999999 {}", "1x{}"}) {
    reader.read(std::string(text) + "\n");
    EXPECT_TRUE(reader.result().findings.empty()) << text;
    EXPECT_EQ(reader.result().checked.launches, 0u) << text;
  }
  reader.read(finding_line(example().findings[0]));
  EXPECT_EQ(reader.result().findings.size(), 1u);
}

TEST(Findings, AnotherScheduleAddsWhatIsNew) {
  CheckResult all = example(), other = example();
  other.findings.push_back(other.findings[1]);
  other.findings.back().sites[0].line += 1;
  add_schedule(all, other);
  add_schedule(all, other);
  EXPECT_EQ(all.findings.size(), example().findings.size() + 1);
  EXPECT_EQ(all.findings.back().id, all.findings.size() - 1);
  EXPECT_THAT(checked_line(all), HasSubstr("in 3 schedules"));
  EXPECT_EQ(nlohmann::json::parse(findings_json(all))["checked"]["schedules"], 3);
}

TEST(Findings, Suppressions) {
  const Finding race = example().findings[1];
  std::vector<Suppression> kept;
  auto rules = [&](const char* text) -> std::vector<Suppression>& {
    return kept = *parse_suppressions(text, "s.txt");
  };
  EXPECT_TRUE(suppressed(race, rules("# known\nrace-* *gemm* gemm.cu:23\n")));
  EXPECT_TRUE(suppressed(race, rules("* * *")));
  EXPECT_TRUE(suppressed(race, rules(suppression_for(race).c_str())));
  EXPECT_FALSE(suppressed(race, rules("race-shared * gemm.cu:2")));
  EXPECT_FALSE(suppressed(race, rules("race-global * *")));
  EXPECT_FALSE(suppressed(race, rules("")));
  EXPECT_TRUE(suppressed(race, rules("race-global * *\n\nrace-* * *")));
  EXPECT_FALSE(kept[0].used);
  EXPECT_TRUE(kept[1].used);
  EXPECT_EQ(kept[1].line, 3u);
  const auto bad = parse_suppressions("a b c\nrace-shared\n", "s.txt");
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.error().to_string(), HasSubstr("s.txt:2"));
}

TEST(Findings, HostSitesKeepTheirStacks) {
  Finding leak;
  leak.kind = "leak";
  leak.message = "64 bytes were never freed";
  leak.sites = {{"prog.cu",
                 12,
                 "cudaMalloc",
                 "allocated",
                 true,
                 {{"prog.cu", 12, "make"}, {"prog.cu", 40, "main"}}}};
  FindingsReader reader;
  reader.read(finding_line(leak));
  const CheckResult r = reader.result();
  ASSERT_EQ(r.findings.size(), 1u);
  EXPECT_EQ(r.findings[0].sites, leak.sites);
  EXPECT_THAT(findings_text(r, {}), HasSubstr("= called from: prog.cu:40 (main)\n"));
  const auto sarif = nlohmann::json::parse(findings_sarif(r, "1.0", "/"));
  EXPECT_EQ(sarif["runs"][0]["results"][0]["stacks"][0]["frames"].size(), 2u);
}

TEST(Findings, ACountOfZeroTakesAFindingBack) {
  Finding f;
  f.kind = "api-error";
  FindingsReader reader;
  reader.read(finding_line(f));
  EXPECT_EQ(reader.result().findings.size(), 1u);
  reader.read(count_line(0, 0));
  EXPECT_EQ(reader.result().findings.size(), 0u);
  reader.read(count_line(0, 2));
  EXPECT_EQ(reader.result().findings[0].count, 2u);
}

}  // namespace
}  // namespace tw::report
