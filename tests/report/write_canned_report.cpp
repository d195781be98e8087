// Writes the canned report to the file named on the command line, for html_in_browser.py.
#include <cstdio>

#include "canned_report.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::FILE* file = std::fopen(argv[1], "wb");
  if (file == nullptr) return 1;
  const std::string html = tw::report::html_report(tw::report::canned_report());
  const bool written = std::fwrite(html.data(), 1, html.size(), file) == html.size();
  return std::fclose(file) == 0 && written ? 0 : 1;
}
