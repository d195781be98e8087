#!/bin/bash
# scripts/setup and scripts/find_nvcc, with a make-believe package manager first on the PATH: what they
# print without root, that nothing is called when nothing is missing, and which nvcc is taken.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/bin" "$scratch/tree"
cp -r "$top/scripts" "$scratch/tree/"
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# A dpkg-query that knows every package except those in $MISSING; an apt-get and an apt-cache that only log.
cat >"$scratch/bin/dpkg-query" <<'FAKE'
#!/bin/bash
for package in "${@:3}"; do
  [[ " ${MISSING:-} " == *" $package "* ]] || echo "$package installed"
done
FAKE
for tool in apt-get apt-cache; do
  printf '#!/bin/bash\necho "%s $*" >>"%s/log"\n' "$tool" "$scratch" >"$scratch/bin/$tool"
done
# An nvcc that says which CUDA it is, and a wrapper whose target is gone.
printf '#!/bin/bash\necho "Cuda compilation tools, release ${FAKE_RELEASE:-13.0}, V13; Cuda compiler driver"\n' >"$scratch/bin/nvcc"
printf '#!/bin/bash\nexec /nowhere/nvcc "$@"\n' >"$scratch/dangling"
chmod -R a+rx "$scratch"
chmod a+x "$scratch/bin/"* "$scratch/dangling"
export PATH=$scratch/bin:$PATH
unset TILEWRIGHT_NVCC TILEWRIGHT_IGNORE_SYSTEM_NVCC || true

as_user=()
((EUID != 0)) || as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# Nothing missing: no package manager is called.
"$scratch/tree/scripts/setup" test || fail "setup with nothing missing exits with $?"
[[ ! -e $scratch/log ]] || fail "the package manager was called with nothing missing: $(<"$scratch/log")"

# Two packages missing, no root: the exact line, a non-zero status, nothing called.
status=0
output=$(MISSING="libfmt-dev ninja-build" "${as_user[@]}" "$scratch/tree/scripts/setup" 2>&1) || status=$?
((status == 1)) || fail "without root the exit status is $status"
grep -qx '  apt-get update && apt-get install -y --no-install-recommends ninja-build libfmt-dev' <<<"$output" ||
  fail "without root it prints: $output"
[[ ! -e $scratch/log ]] || fail "the package manager was called without root"

# The same with root: apt-get installs them, and the lists are not fetched while apt knows the packages.
if ((EUID == 0)); then
  MISSING="libfmt-dev" "$scratch/tree/scripts/setup" 2>/dev/null || fail "setup as root exits with $?"
  grep -q '^apt-get install .*libfmt-dev' "$scratch/log" || fail "root: $(<"$scratch/log")"
  ! grep -q 'apt-get update' "$scratch/log" || fail "the lists were fetched for known packages"
fi

# Which nvcc.
[[ $("$scratch/tree/scripts/find_nvcc") == "$scratch/bin/nvcc" ]] || fail "nvcc on the PATH is not taken"
[[ $(TILEWRIGHT_NVCC=$scratch/bin/nvcc "$scratch/tree/scripts/find_nvcc") == "$scratch/bin/nvcc" ]] || fail "TILEWRIGHT_NVCC"
status=0
TILEWRIGHT_NVCC=$scratch/dangling "$scratch/tree/scripts/find_nvcc" 2>/dev/null || status=$?
((status == 2)) || fail "a TILEWRIGHT_NVCC that does not run gives $status"
found=$(FAKE_RELEASE=11.8 "$scratch/tree/scripts/find_nvcc" || true)
[[ $found != "$scratch/bin/nvcc" ]] || fail "CUDA 11 is taken"
mkdir -p "$scratch/tree/build/nvcc/bin"
cp "$scratch/bin/nvcc" "$scratch/tree/build/nvcc/bin/"
found=$(TILEWRIGHT_IGNORE_SYSTEM_NVCC=1 "$scratch/tree/scripts/find_nvcc" || true)
[[ $found == "$scratch/tree/build/nvcc/bin/nvcc" ]] || fail "the nvcc of build/nvcc is not taken: '$found'"
"$scratch/tree/scripts/setup" no-such-set 2>/dev/null && fail "an unknown set is accepted"

((failures == 0)) && echo "setup: all as expected"
exit $((failures != 0))
