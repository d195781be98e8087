#!/bin/bash
# Kernels of the GEMM library (library/gemm_kernels.cu) compiled to PTX, under `tilewright check`: right, and
# nothing found.
#   gemm_library.sh TILEWRIGHT NVCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
tilewright=$1 nvcc=$2 source=$3 work=$4
rm -rf "$work" && mkdir -p "$work"
lib=$source/kernels/gemm/lib
"$nvcc" -std=c++20 -O3 -lineinfo -gencode arch=compute_90a,code=compute_90a -cudart shared --threads 2 \
  -I "$source/kernels" -I "$source/src" -I "$source/include" -o "$work/gemm_kernels" \
  "$source/tests/e2e/library/gemm_kernels.cu" "$lib"/{sgemm,sgemm_tma,sgemm_narrow,tensor_map,wgmma_launch,elementwise}.cu \
  "$lib/gemm_plan.cpp" "$source"/src/model/gemm_{model,edges,explain}.cpp
"$tilewright" check "$work/gemm_kernels"
# CTAs that wait for one another by counters in memory.
"$tilewright" check "$work/gemm_kernels" repacking
