// Bars of the results (see frame.h): text for the terminal, SVG for a page. No library: a plot of
// bars is some rectangles.
#include <algorithm>
#include <cstdio>

#include "frame.h"

namespace tilewright::bench {
namespace {

double highest(const Case& c) {
  double most = 0;
  for (const Outcome& o : c.outcomes) most = std::max(most, o.rate);
  return most;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

// One colour a candidate, the same in all cases.
const char* colour(const std::string& name) {
  static const char* const kColours[] = {"#1b6ca8", "#c9c9c9", "#9a9a9a", "#d98032", "#6a9955",
                                         "#8e5ea2", "#b04a4a", "#4a9c9c", "#a8a032", "#555555"};
  static std::vector<std::string> seen;
  auto at = std::find(seen.begin(), seen.end(), name);
  if (at == seen.end()) at = seen.insert(seen.end(), name);
  return kColours[size_t(at - seen.begin()) % (sizeof kColours / sizeof *kColours)];
}

}  // namespace

void print_bars(const std::vector<Case>& cases) {
  constexpr int kWidth = 50;
  if (cases.size() > kMostBars) return;
  for (const Case& c : cases) {
    const double most = highest(c);
    if (most <= 0) continue;
    std::printf("\n%s [%s]\n", c.name.c_str(), c.unit.c_str());
    for (const Outcome& o : c.outcomes) {
      if (o.rate <= 0) continue;
      const int length = std::max(1, int(o.rate / most * kWidth + 0.5));
      std::printf("  %-26s %-*s %.*f\n", o.name.c_str(), kWidth,
                  std::string(size_t(length), '#').c_str(), o.rate < 100 ? 2 : 0, o.rate);
    }
  }
}

bool write_plot(const std::string& path, const Card& card, const std::vector<Case>& cases) {
  std::FILE* f = std::fopen(path.c_str(), "w");
  if (!f) return false;
  constexpr int kBar = 14, kGap = 26, kLeft = 190, kWidth = 520;
  int height = 40;
  for (const Case& c : cases)
    if (highest(c) > 0) height += kGap + kBar * int(c.outcomes.size());
  std::fprintf(f,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
               "font-family=\"sans-serif\" font-size=\"11\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
               "<text x=\"8\" y=\"18\" font-size=\"13\">%s, driver %s</text>\n",
               kLeft + kWidth + 90, height, escaped(card.name).c_str(),
               escaped(card.driver).c_str());
  int y = 32;
  for (const Case& c : cases) {
    const double most = highest(c);
    if (most <= 0) continue;
    y += kGap - 8;
    std::fprintf(f, "<text x=\"8\" y=\"%d\" font-weight=\"bold\">%s, %s</text>\n", y,
                 escaped(c.name).c_str(), escaped(c.unit).c_str());
    y += 8;
    for (const Outcome& o : c.outcomes) {
      std::fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", kLeft - 6,
                   y + kBar - 4, escaped(o.name).c_str());
      if (o.rate > 0)
        std::fprintf(f,
                     "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>"
                     "<text x=\"%.1f\" y=\"%d\">%.*f</text>\n",
                     kLeft, y + 1, o.rate / most * kWidth, kBar - 3, colour(o.name),
                     kLeft + o.rate / most * kWidth + 4, y + kBar - 4, o.rate < 100 ? 2 : 0,
                     o.rate);
      y += kBar;
    }
  }
  std::fprintf(f, "</svg>\n");
  return std::fclose(f) == 0;
}

}  // namespace tilewright::bench
