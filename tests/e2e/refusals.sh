#!/bin/bash
# What bad input gets from `tilewright run` and `tilewright ptx`: a clear message, a non-zero status, nothing
# half-written in the cache.
#   refusals.sh TILEWRIGHT NVCC WORK_FOLDER
set -uo pipefail
tilewright=$1 nvcc=$2 work=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1
export TILEWRIGHT_NVCC=$nvcc TILEWRIGHT_CACHE=$work/cache
failures=0

# expect STATUS PATTERN command...: the status and a line of stderr that matches.
expect() {
  local status=$1 pattern=$2 got
  shift 2
  "$@" >out.txt 2>err.txt
  got=$?
  if [[ $got != "$status" ]]; then
    echo "FAIL: status $got instead of $status: $*"; cat err.txt; failures=$((failures + 1))
  elif [[ -n $pattern ]] && ! grep -qE -e "$pattern" err.txt; then
    echo "FAIL: stderr has no '$pattern': $*"; cat err.txt; failures=$((failures + 1))
  fi
}

cat >good.cu <<'CU'
#include <cstdio>
#include "value.h"
__global__ void k(int* p) { *p = VALUE; }
int main(int argc, char** argv) {
  int *p, h = 0;
  if (cudaMalloc(&p, 4) != cudaSuccess) return 50;
  k<<<1, 1>>>(p);
  cudaError_t e = cudaGetLastError();
  if (e == cudaSuccess) e = cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost);
  printf("%d %d%s%s\n", h, int(e), argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
  return argc - 1 + int(e != cudaSuccess);
}
CU
echo '#define VALUE 41' >value.h

# The program's own output, arguments and status; options on either side of its name.
expect 0 '' "$tilewright" run good.cu
[[ $(cat out.txt) == "41 0" ]] || { echo "FAIL: $(cat out.txt)"; failures=$((failures + 1)); }
expect 1 '' "$tilewright" run --threads 1 good.cu --gpu h100 -- -x
[[ $(cat out.txt) == "41 0 -x" ]] || { echo "FAIL: $(cat out.txt)"; failures=$((failures + 1)); }
# A changed header is compiled again; other flags are another program.
echo '#define VALUE 42' >value.h
expect 0 '' "$tilewright" run good.cu
[[ $(cat out.txt) == "42 0" ]] || { echo "FAIL: stale program: $(cat out.txt)"; failures=$((failures + 1)); }
echo '#ifndef VALUE
#define VALUE 43
#endif' >value.h
expect 0 '' "$tilewright" run good.cu --nvcc '-O2 -DVALUE=7' --timeout 100
[[ $(cat out.txt) == "7 0" ]] || { echo "FAIL: flags: $(cat out.txt)"; failures=$((failures + 1)); }

# Of -arch=sm_90a nvcc is asked for that PTX alone; what it cannot link is left as it is.
expect 0 '' "$tilewright" run good.cu --nvcc -arch=sm_90a
expect 2 'lto_90' "$tilewright" run good.cu --nvcc -arch=lto_90a
expect 2 'sm_' "$tilewright" run good.cu --nvcc -arch=sm_

# Sources.
files_before=$(find cache -type f | wc -l)
echo '__global__ void k( { }' >bad.cu
expect 2 'bad.cu\(1\): error' "$tilewright" run bad.cu
head -c 100 good.cu >cut.cu
expect 2 'nvcc could not compile this file' "$tilewright" run cut.cu
printf '\x7f\x01\xff\xfe@@{{;\x80\n%.0s' 1 2 3 4 5 >noise.cu  # fixed bytes: random ones can keep nvcc busy for minutes
expect 2 'nvcc could not compile this file' "$tilewright" run noise.cu
expect 2 'missing.cu: no such file' "$tilewright" run missing.cu
expect 2 "the program's name is empty" "$tilewright" run ''
: >empty.cu
expect 2 'empty.cu: nvcc could not compile this file; it has no main function' "$tilewright" run empty.cu

# Command lines.
expect 2 '^tilewright: --timeout: -1 is no number of seconds from 0.001 to 1e.09$' "$tilewright" run good.cu --timeout -1
expect 2 '^tilewright: --timeout: nan is no number of seconds' "$tilewright" run good.cu --timeout nan
expect 2 '^tilewright: program is required$' "$tilewright" run
expect 2 '^tilewright run --help lists the options.$' "$tilewright" run
expect 2 'tilewright explain transpose --rows 4096' "$tilewright" explain transpose
expect 2 '^tilewright: --sizes is required$' "$tilewright" explain permute
expect 2 'is a folder, not a GPU' "$tilewright" run good.cu --gpu cache
expect 2 'good.cu:1' "$tilewright" run good.cu --gpu good.cu  # a file, but no device file
mkdir 'in $(touch injected)' && cp good.cu value.h 'in $(touch injected)'
expect 2 'path holds one of' "$tilewright" run 'in $(touch injected)/good.cu'
[[ ! -e injected ]] || { echo "FAIL: a path was run as a command"; failures=$((failures + 1)); }
[[ $(find cache -type f | wc -l) == "$files_before" ]] || { echo "FAIL: left in the cache:"; find cache -type f; failures=$((failures + 1)); }

# Programs.
"$nvcc" -arch=compute_90 -cudart shared good.cu -o shared &&
  "$nvcc" -gencode arch=compute_90,code=sm_90 -cudart shared good.cu -o sass || exit 1
expect 0 '' "$tilewright" run shared
expect 1 'machine code sm_90.*Rebuild' "$tilewright" run sass
grep -q 'nvcc -cudart shared -gencode arch=compute_90,code=compute_90' err.txt || { echo "FAIL: no rebuild command"; failures=$((failures + 1)); }
echo 'extern "C" void cublasCreate_v2() {}' | g++ -x c++ - -shared -fPIC -Wl,-soname,libcublas.so.13 -o libcublas.so.13
"$nvcc" -arch=compute_90 -cudart shared good.cu -o blas -Xlinker --no-as-needed -Xlinker "$work/libcublas.so.13" || exit 1
expect 2 'needs libcublas.so.13' "$tilewright" run blas
echo 'int main() {}' | g++ -x c++ - -o plain
expect 2 'does not use the CUDA runtime' "$tilewright" run ./plain
head -c 2000 shared >cut && chmod +x cut
expect 2 'damaged program file' "$tilewright" run cut
cp good.cu text && chmod +x text
expect 2 'neither a CUDA source' "$tilewright" run text
chmod -x text
expect 2 'neither a CUDA source .* nor executable' "$tilewright" run text
truncate -s 1T huge && chmod +x huge  # refused by its first bytes, not read whole
expect 2 'neither a CUDA source .* nor an ELF program' timeout 60 "$tilewright" run huge
rm huge
# The CUDA 12 library: linked against ours, for a toolkit has only one of the two.
"$nvcc" -arch=compute_90 -c good.cu -o good.o && g++ good.o -o twelve "$(dirname "$tilewright")/../lib/libcudart.so.12" || exit 1
expect 0 '' "$tilewright" run twelve
[[ $(cat out.txt) == "43 0" ]] || { echo "FAIL: CUDA 12: $(cat out.txt)"; failures=$((failures + 1)); }
# A fat binary damaged inside a program: the error of a real GPU, no crash.
python3 - <<'PY'
data = bytearray(open('shared', 'rb').read())
at = data.find(b'\x50\xed\x55\xba')
data[at + 16 + 8:at + 16 + 16] = b'\xff' * 8
open('damaged', 'wb').write(data)
PY
chmod +x damaged
expect 1 'corrupt fat binary' "$tilewright" run damaged
[[ $(cat out.txt) == "0 200" ]] || { echo "FAIL: $(cat out.txt)"; failures=$((failures + 1)); }

# Options.
expect 2 'gpu|GPU|device' "$tilewright" run good.cu --gpu nosuch
expect 2 "no size" "$tilewright" run good.cu --device-memory lots
expect 50 '' "$tilewright" run good.cu --device-memory 1
expect 2 'quote is not closed' "$tilewright" run good.cu --nvcc "-DX='"
expect 2 'no nvcc|cannot be executed' env TILEWRIGHT_NVCC=/nonexistent "$tilewright" run good.cu
expect 2 'a device has some memory' "$tilewright" run good.cu --device-memory 0
for seconds in 0 -1 nan inf 1e300; do
  expect 2 '' "$tilewright" run good.cu --timeout $seconds
  [[ $(head -n 1 err.txt) == "tilewright: --timeout:"* && $(wc -c <err.txt) -lt 200 ]] || { echo "FAIL: --timeout $seconds"; cat err.txt; failures=$((failures + 1)); }
done
expect 2 'launch-skip' "$tilewright" check good.cu --launch-skip -1
expect 2 'max-findings' "$tilewright" check good.cu --max-findings 0
expect 2 'cannot be read' "$tilewright" check good.cu --suppressions .
expect 2 'json: cannot be written' "$tilewright" check good.cu --json nowhere/findings.json
[[ ! -s out.txt ]] || { echo "FAIL: the program ran although its report cannot be written"; failures=$((failures + 1)); }
expect 2 'html: cannot be written' "$tilewright" profile good.cu --html nowhere/report.html
[[ ! -s out.txt ]] || { echo "FAIL: the program ran although its report cannot be written"; failures=$((failures + 1)); }
expect 2 'name the same file' "$tilewright" check good.cu --json - --sarif -
expect 2 'name the same file' "$tilewright" check good.cu --json same --sarif ./same
expect 0 '' "$tilewright" profile good.cu --json -
[[ ! -e ./- ]] && grep -q '"' out.txt || { echo "FAIL: profile --json -"; failures=$((failures + 1)); }

# Launches that are refused: said by name, even when the program never asks.
cat >limits.cu <<'CU'
__global__ void k() {}
__global__ void __launch_bounds__(64) bounded() {}
int main() {
  for (int i = 0; i < 3; ++i) k<<<1, dim3(64, 32)>>>();
  k<<<dim3(1, 65536), 1>>>();
  k<<<0, 1>>>();
  k<<<1, 1, 100 * 1024>>>();
  bounded<<<1, 128>>>();
  k<<<dim3(1, 65535, 65535), 0>>>();
  k<<<1, 1024, 48 * 1024>>>();
  return cudaDeviceSynchronize();
}
CU
expect 0 "kernel 'k\(\)' is not launched: a block of 2048 threads, at most 1024 are possible \[cudaErrorInvalid" "$tilewright" run limits.cu
for text in "the grid's size.y is 65536, at most 65535" "the grid's size.x is 0" "102400 bytes of dynamic shared memory, at most 49152" \
  "'bounded()' is not launched: a block of 128 threads, at most 64 are possible (the kernel's __launch_bounds__)" "the block's size.x is 0"; do
  grep -qF "$text" err.txt || { echo "FAIL: limits.cu: no '$text'"; cat err.txt; failures=$((failures + 1)); }
done
[[ $(wc -l <err.txt) == 6 ]] || { echo "FAIL: limits.cu: not one line for each"; cat err.txt; failures=$((failures + 1)); }

# Kernels that cannot run: status 2, whoever asks for nothing; said once, and no finding of the program's.
cat >unasked.cu <<'CU'
#include <cstdio>
__global__ void k(int* p) { *p = 1; }
int main() {
  int* p;
  if (cudaMalloc(&p, 4) != cudaSuccess) return 50;
  k<<<1, 1>>>(p);
  const cudaError_t e = cudaDeviceSynchronize();
  puts(e == cudaSuccess ? "fine" : "failed");
  return e != cudaSuccess;
}
CU
"$nvcc" -gencode arch=compute_90,code=sm_90 unasked.cu -o unasked_sass && "$nvcc" -arch=sm_90 unasked.cu -o unasked || exit 1
expect 2 'holds no PTX that sm_90 can run.*' "$tilewright" run unasked_sass
grep -q '1 launch could not run and the program did not ask' err.txt || { echo "FAIL: unasked_sass"; cat err.txt; failures=$((failures + 1)); }
expect 2 'holds no PTX that sm_80 can run' "$tilewright" run unasked --gpu a100
expect 0 '' "$tilewright" run unasked
expect 2 'checked 0 launches .*: no findings; 1 launch could not run' "$tilewright" check unasked_sass
expect 2 'checked 0 launches .*: no findings; 1 launch could not run' "$tilewright" check unasked --gpu a100

# A program that dies of a signal leaves no records of the profile behind.
mkdir temporary
echo '#include <cstdlib>
int main() { cudaFree(0); abort(); }' >dies.cu
expect 134 '' env TMPDIR="$work/temporary" "$tilewright" profile dies.cu
[[ -z $(ls temporary) ]] || { echo "FAIL: left in TMPDIR:"; ls temporary; failures=$((failures + 1)); }

# stdout that takes nothing, streams that are closed.
if [[ -e /dev/full ]]; then
  "$tilewright" model devices >/dev/full 2>err.txt
  [[ $? == 1 ]] && grep -q 'stdout cannot be written' err.txt || { echo "FAIL: a full disk goes unseen"; failures=$((failures + 1)); }
fi
"$tilewright" check good.cu >&- 2>&-
status=$?
[[ $status == 0 ]] || { echo "FAIL: closed streams: status $status"; failures=$((failures + 1)); }

# PTX.
"$nvcc" -ptx -arch=compute_90 good.cu -o good.ptx || exit 1
expect 0 '' "$tilewright" ptx good.ptx
grep -q '.entry _Z1kPi' out.txt || { echo "FAIL: the kernel is not printed"; failures=$((failures + 1)); }
cp out.txt again.ptx
expect 0 '' "$tilewright" ptx again.ptx
cmp -s out.txt again.ptx || { echo "FAIL: printing twice differs"; failures=$((failures + 1)); }
sed 's/ret;/rett %r1;/' good.ptx >unknown.ptx
expect 1 'unknown.ptx:[0-9]+:' "$tilewright" ptx unknown.ptx
head -c 300 good.ptx >short.ptx
expect 1 'short.ptx:[0-9]+' "$tilewright" ptx short.ptx
expect 2 'cannot be read' "$tilewright" ptx missing.ptx
expect 2 'this is a folder' "$tilewright" ptx .
expect 2 'this is a program' "$tilewright" ptx shared
printf '__global__ void k() {}\n' >source.cu
expect 2 'this is CUDA source' "$tilewright" ptx source.cu

# A kernel that cannot run is named; the status says so unless the program asks for the error or fails by itself.
cat >texture.cu <<'CU'
#include <cstdio>
__global__ void k(cudaTextureObject_t t, float* p) { *p = tex1Dfetch<float>(t, 0); }
int main(int argc, char** argv) {
  if (argc > 1 && argv[1][0] == 'r') {  // launched by a call that returns the error
    cudaTextureObject_t t = 0;
    float* p = nullptr;
    void* arguments[] = {&t, &p};
    return cudaLaunchKernel(reinterpret_cast<const void*>(k), 1, 1, arguments, 0, nullptr) == cudaErrorNotSupported ? 0 : 52;
  }
  k<<<1, 1>>>(0, nullptr);
  if (argc > 1 && argv[1][0] == 'o') return cudaSetDevice(99) == cudaSuccess || cudaGetLastError() == cudaSuccess;
  if (argc > 1 && argv[1][0] == 'a' && cudaGetLastError() != cudaErrorNotSupported) return 50;
  if (cudaDeviceSynchronize() != cudaSuccess) return 51;
  puts("end");
  return argc > 1 && argv[1][0] == '7' ? 7 : 0;
}
CU
for command in run 'profile --no-ptxas'; do
  expect 2 '1 launch could not run and the program did not ask' "$tilewright" $command texture.cu
  grep -q '^end$' out.txt || { echo "FAIL: what the program printed is lost"; failures=$((failures + 1)); }
  grep -qE "texture.cu:2: .*kernel cannot run: .*'tex\..*docs/isa.md" err.txt || { echo "FAIL: $(cat err.txt)"; failures=$((failures + 1)); }
  expect 0 'kernel cannot run' "$tilewright" $command texture.cu -- ask
  expect 0 'kernel cannot run' "$tilewright" $command texture.cu -- returned
  expect 0 'kernel cannot run' "$tilewright" $command texture.cu -- other
  expect 7 'kernel cannot run' "$tilewright" $command texture.cu -- 7
done
expect 2 'checked 0 launches .*: no findings; 1 launch could not run' "$tilewright" check texture.cu
grep -qE "texture.cu:2: .*kernel cannot run: .*'tex\..*docs/isa.md" err.txt || { echo "FAIL: $(cat err.txt)"; failures=$((failures + 1)); }
expect 0 'kernel cannot run' "$tilewright" check texture.cu -- ask

# Ctrl-C: where every CTA stands, status 130.
env --default-signal=INT "$tilewright" run "$here/programs/endless.cu" >out.txt 2>err.txt &
child=$!
for _ in $(seq 200); do sleep 0.1; [[ -e /proc/$child/exe && $(readlink /proc/$child/exe) == */endless-* ]] && break; done
sleep 1
# (a shell without job control starts background commands with SIGINT ignored: env undoes that)
kill -INT $child
(sleep 60; kill -KILL $child) >/dev/null 2>&1 &  # (its sleep outlives it, and must not hold our output)
guard=$!
wait $child
status=$?
kill $guard 2>/dev/null
[[ $status == 130 ]] && grep -q "interrupted; unfinished:" err.txt && grep -q "endless.cu:3" err.txt ||
  { echo "FAIL: Ctrl-C: status $status"; cat err.txt; failures=$((failures + 1)); }

# The command killed while it waits: the program goes, too.
"$tilewright" run --timeout 100 "$here/programs/endless.cu" >out.txt 2>err.txt &
child=$!
for _ in $(seq 200); do sleep 0.1; read -r program _ </proc/$child/task/$child/children && [[ $(readlink /proc/$program/exe) == */endless-* ]] && break; done
kill -KILL $child
for _ in $(seq 50); do [[ -d /proc/$program ]] || break; sleep 0.1; done
if [[ -z $program || -d /proc/$program ]]; then
  echo "FAIL: the program ${program:-(none)} outlives a killed command"; failures=$((failures + 1))
  kill -KILL $program 2>/dev/null
fi

echo "$failures failures"
exit $((failures > 0))
