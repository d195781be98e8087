/* Links the installed library through its C interface. */
#include <stdio.h>
#include <string.h>

#include <tilewright/gemm.h>
#include <tilewright/transpose_c.h>

int main(void) {
  float in[6] = {0, 1, 2, 3, 4, 5}, out[6];
  if (tw_transpose_host(in, 3, out, 2, 2, 3, sizeof(float), 1) != TW_OK) return 1;
  if (tw_transpose(in, 3, out, 2, 2, 3, 5, 1, 0, 0, NULL) != TW_INVALID_ARGUMENT) return 1;
  printf("tilewright %d: %g %g; refused: %s %s\n", tw_version(), out[0], out[1], tw_last_error().argument, tw_last_error().message);
  tw_gemm_arguments gemm = {0};
  const char* argument = "";
  gemm.m = -1;
  if (tw_gemm(&gemm, NULL, 0, NULL, &argument) != TW_INVALID_ARGUMENT) return 1;
  if (strcmp(argument, "m") != 0 || strcmp(tw_last_error().argument, argument) != 0) return 1;
  printf("refused: %s %s\n", argument, tw_last_error().message);
  return out[1] == 3.0f ? 0 : 1;
}
