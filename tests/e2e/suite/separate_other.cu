// Separate compilation, second object: what separate_main.cu uses.
__device__ int scale = 2;
__constant__ float table[4] = {0.5f, 1, 2, 4};
static __device__ int hidden = 5;

__device__ int scaled(int x) { return scale * x; }
__device__ float looked_up(int i) { return table[i % 4]; }
__device__ int less_seven(int x) { return x - 7; }
__device__ int (*chosen)(int) = less_seven;

__global__ void add_hidden(int* out) { out[threadIdx.x] = int(threadIdx.x) + hidden; }
void launch_other(int* out) { add_hidden<<<1, 32>>>(out); }
