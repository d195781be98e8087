// Links the installed library through its C++ interface: transposes on the CPU, and says what a GPU
// call would do with wrong arguments (no GPU needed for that).
#include <tilewright/transpose.h>
#include <tilewright/version.h>

#include <cstdio>
#include <vector>

int main() {
  const int rows = 3, cols = 5;
  std::vector<float> in(rows * cols), out(cols * rows);
  for (int i = 0; i < rows * cols; ++i) in[i] = float(i);
  const tilewright::Status status =
      tilewright::transpose_host(in.data(), cols, out.data(), rows, rows, cols, sizeof(float));
  if (!status.ok()) {
    std::printf("%s %s\n", status.argument, status.message);
    return 1;
  }
  const tilewright::Status refused =
      tilewright::transpose(in.data(), cols - 1, out.data(), rows, rows, cols, 4);
  std::printf("tilewright %d: out[1][0] = %g; refused: %s %s\n", tilewright::version(), out[rows],
              refused.argument, refused.message);
  return out[rows] == 1.0f && refused.code == tilewright::StatusCode::kInvalidArgument ? 0 : 1;
}
