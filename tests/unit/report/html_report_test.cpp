// The HTML report as text: self-contained, hostile names escaped, numbers present. What a browser
// makes of it is tested by tests/report/html_in_browser.py.
#include "report/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../../report/canned_report.h"
#include "report/assets.h"

namespace tw::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The page without the compiled-in parts, which hold any text they like.
std::string own_part() {
  std::string html = html_report(canned_report());
  for (const char* asset : {kChartJs, kReportJs, kReportCss}) {
    const auto at = html.find(asset);
    EXPECT_NE(at, std::string::npos);
    if (at != std::string::npos) html.erase(at, std::string(asset).size());
  }
  return html;
}

TEST(HtmlReport, IsSelfContained) {
  const std::string html = own_part();
  for (const char* outside : {"http://", "https://", "src=", "@import", "url(", "<link"})
    EXPECT_THAT(html, Not(HasSubstr(outside))) << outside;
  EXPECT_THAT(std::string(kReportCss), Not(HasSubstr("url(")));
  EXPECT_THAT(std::string(kChartJs), Not(HasSubstr("</script")));
  EXPECT_THAT(std::string(kReportJs), Not(HasSubstr("</script")));
}

TEST(HtmlReport, EscapesWhatTheProgramNames) {
  const std::string html = own_part();
  EXPECT_THAT(html, HasSubstr("tiled &lt;gemm&gt; &amp; &quot;friends&quot;"));
  EXPECT_THAT(html, HasSubstr("// &lt;/script&gt;&lt;b&gt;&amp;"));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, HasSubstr("transpose_tiled\xef\xbf\xbd&lt;0&gt;"));  // invalid UTF-8 replaced
}

TEST(HtmlReport, DataHoldsEveryPoint) {
  const std::string html = own_part();
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const auto at = html.find(open) + open.size();
  const auto data = nlohmann::json::parse(html.substr(at, html.find("</script>", at) - at));
  ASSERT_EQ(data["kernels"].size(), 3u);
  for (const auto& kernel : data["kernels"]) EXPECT_EQ(kernel["points"].size(), 3u);
  EXPECT_EQ(data["kernels"][0]["curves"]["threads"].size(), 32u);
  EXPECT_EQ(data["pipes"].size(), 1u);  // only the pipe that kernels are held against
}

TEST(HtmlReport, BankMapShowsWhoMeets) {
  const std::string html = own_part();
  EXPECT_THAT(html, HasSubstr("32 wavefronts, 1 at best"));
  EXPECT_THAT(html, HasSubstr("class=\"conflict\" title=\"bank 0, word 992: lanes 31\">31<"));
  EXPECT_THAT(html, HasSubstr("class=\"free\" title=\"bank 31, word 1023: lanes 31\">31<"));
}

TEST(HtmlReport, LanesOfAnAtomicMeetInOneWord) {
  ProfileReport report = canned_report();
  report.kernels.resize(1);
  BankAccess access{"k.cu:1, atomic of 4 bytes", {{0, 7}, {1, 7}, {2, 8}}, 2, 1, true};
  report.kernels[0].bank_accesses = {access};
  std::string html = html_report(report);
  EXPECT_THAT(html, HasSubstr("class=\"conflict\" title=\"bank 7, word 7: lanes 0, 1\""));
  EXPECT_THAT(html, HasSubstr("class=\"free\" title=\"bank 8, word 8: lanes 2\""));
  report.kernels[0].bank_accesses[0].each_lane = false;
  html = html_report(report);
  EXPECT_THAT(html, HasSubstr("class=\"free\" title=\"bank 7, word 7: lanes 0, 1\""));
}

TEST(HtmlReport, TheTableHasARowAKernel) {
  ProfileReport report = canned_report();
  report.kernels.resize(1);
  KernelReport& k = report.kernels[0];
  k.intensities = {{"DRAM", 12.5}, {"L1", 2}};
  k.tflops = 3.25;
  k.wavefronts = k.ideal_wavefronts = 4096;
  k.grid = "3 grids, largest 64 x 64 x 1";
  const std::string html = html_report(report);
  EXPECT_THAT(html,
              HasSubstr("<td class=\"n\">3.25</td><td class=\"n\">12.5</td>"
                        "<td class=\"n excess\" title=\"262 144 (131 072)\">262 k (131 k)</td>"
                        "<td class=\"n\" title=\"4 096 (4 096)\">4096 (4096)</td>"));
  EXPECT_THAT(html,
              HasSubstr("<td class=\"n\">3</td><td class=\"grid\">3 grids, largest 64 x 64 x 1</td>"
                        "<td class=\"shape\">16 x 16 x 1</td></tr>"));
}

TEST(HtmlReport, OpensWithTheVerdict) {
  const std::string html = own_part();
  const auto verdict = html.find("<p class=\"verdict\">gemm_tiled&lt;16&gt; is bound by");
  ASSERT_NE(verdict, std::string::npos);
  EXPECT_LT(verdict, html.find("<h2>Kernels</h2>"));
}

TEST(HtmlReport, SaysWhatIsNotInTheRoofline) {
  ProfileReport report = canned_report();
  EXPECT_THAT(html_report(report), Not(HasSubstr("not in the plot")));
  report.kernels[2].tflops = 0;
  EXPECT_THAT(html_report(report),
              HasSubstr("not in the plot: transpose_tiled\xef\xbf\xbd&lt;0&gt;.</p>"));
}

TEST(HtmlReport, BankMapsWithoutConflictsAreFolded) {
  ProfileReport report = canned_report();
  std::string html = html_report(report);
  EXPECT_THAT(html, HasSubstr("<details><summary>Shared-memory banks, without conflicts"));
  EXPECT_THAT(html, HasSubstr("<details open><summary>Shared-memory banks</summary>"));
  KernelReport& k = report.kernels[2];  // one with conflicts
  k.bank_accesses.push_back(report.kernels[0].bank_accesses[0]);
  report.kernels.erase(report.kernels.begin(), report.kernels.begin() + 2);
  html = html_report(report);
  EXPECT_THAT(html, HasSubstr("<details><summary>1 without conflicts</summary><figure>"));
}

TEST(HtmlReport, EmptyReport) {
  const std::string html = html_report({});
  EXPECT_THAT(html, HasSubstr("</html>"));
}

}  // namespace
}  // namespace tw::report
