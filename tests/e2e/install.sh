#!/bin/bash
# install.sh BUILD NVCC: what `cmake --install` puts into a prefix runs from there, leaves the prefix as it
# is, and keeps compiled programs under $HOME; a C program links the engine.
set -euo pipefail
build=$1 nvcc=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$build" --prefix "$folder/first" > /dev/null
mv "$folder/first" "$folder/prefix"  # nothing remembers where it was installed
cat > "$folder/double.cu" <<'END'
#include <cstdio>
__global__ void twice(int* v, int n) {
  if (threadIdx.x <= n) v[threadIdx.x] *= 2;
}
int main(int argc, char**) {
  int *v, host[3] = {1, 2, 3};
  cudaMalloc(&v, sizeof host);
  cudaMemcpy(v, host, sizeof host, cudaMemcpyHostToDevice);
  twice<<<1, 32>>>(v, argc > 1 ? 3 : 2);
  cudaMemcpy(host, v, sizeof host, cudaMemcpyDeviceToHost);
  printf("%d %d %d\n", host[0], host[1], host[2]);
  cudaFree(v);
}
END
find "$folder/prefix" | sort > "$folder/before"
export HOME=$folder/home TILEWRIGHT_NVCC=$nvcc
unset TILEWRIGHT_CACHE XDG_CACHE_HOME
mkdir "$HOME"
tilewright=$folder/prefix/bin/tilewright
output=$("$tilewright" run "$folder/double.cu")
[ "$output" = "2 4 6" ] || { echo "run: $output"; exit 1; }
"$tilewright" check "$folder/double.cu" > /dev/null
status=0
output=$("$tilewright" check "$folder/double.cu" -- past 2>&1) || status=$?
[ "$status" = 1 ] && grep -q oob-global <<< "$output" || { echo "check: status $status: $output"; exit 1; }
find "$folder/prefix" | sort | diff "$folder/before" -
ls "$HOME"/.cache/tilewright/*.manifest > /dev/null
status=0
output=$(env -u HOME "$tilewright" run "$folder/double.cu" 2>&1) || status=$?
[ "$status" = 2 ] && grep -q "set TILEWRIGHT_CACHE" <<< "$output" || { echo "no home: status $status: $output"; exit 1; }

lib=$(dirname "$(find "$folder/prefix" -name libtilewright_engine.so)")
cat > "$folder/engine.c" <<'END'
#include <tilewright/tilewright.h>
int main(void) {
  tw_engine* engine = 0;
  int status = tw_engine_create("h200", 0, &engine);
  tw_engine_destroy(engine);
  return status;
}
END
cc -I "$folder/prefix/include" "$folder/engine.c" -L "$lib" -ltilewright_engine -Wl,-rpath,"$lib" -o "$folder/engine"
"$folder/engine"
# The runtime that stands in for NVIDIA's does not lie where a linker would find it.
[ -z "$(find "$lib" -maxdepth 1 -name 'libcudart*')" ]
