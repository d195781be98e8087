// The parts of the HTML report that CMake compiles in: src/report/report.{js,css} and Chart.js.
#pragma once

namespace tw::report {

extern const char* const kChartJs;
extern const char* const kReportJs;
extern const char* const kReportCss;

}  // namespace tw::report
