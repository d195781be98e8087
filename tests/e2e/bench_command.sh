#!/bin/bash
# tilewright bench: hands its arguments to tilewright-bench as they are and ends as it ends; says how to build it
# where there is none.
set -euo pipefail
command=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/program" <<'END'
#!/bin/bash
printf '<%s>' "$@"
exit 5
END
chmod +x "$folder/program"
status=0
output=$(TILEWRIGHT_BENCH_PROGRAM=$folder/program "$command" bench gemm --sizes 1,2 --json "a b" --help) || status=$?
[ "$status" = 5 ] && [ "$output" = '<gemm><--sizes><1,2><--json><a b><--help>' ] || { echo "status $status: $output"; exit 1; }

mkdir -p "$folder/build/release/bin"
cp "$command" "$folder/build/release/bin/tilewright"
status=0
output=$(env -u TILEWRIGHT_BENCH_PROGRAM "$folder/build/release/bin/tilewright" bench gemm 2>&1) || status=$?
[ "$status" = 2 ] && grep -q 'cmake --preset cuda' <<< "$output" || { echo "status $status: $output"; exit 1; }
status=0
output=$(env -u TILEWRIGHT_BENCH_PROGRAM "$folder/build/release/bin/tilewright" bench --help) || status=$?
[ "$status" = 0 ] && grep -q 'cmake --preset cuda' <<< "$output" || { echo "status $status: $output"; exit 1; }
# Where the cuda preset puts it.
mkdir -p "$folder/build/cuda/bin"
cp "$folder/program" "$folder/build/cuda/bin/tilewright-bench"
status=0
output=$(env -u TILEWRIGHT_BENCH_PROGRAM "$folder/build/release/bin/tilewright" bench gemm) || status=$?
[ "$status" = 5 ] && [ "$output" = '<gemm>' ] || { echo "status $status: $output"; exit 1; }
status=0
output=$(TILEWRIGHT_BENCH_PROGRAM=$folder/none "$command" bench gemm 2>&1) || status=$?
[ "$status" = 2 ] && grep -q "$folder/none" <<< "$output" || { echo "status $status: $output"; exit 1; }
