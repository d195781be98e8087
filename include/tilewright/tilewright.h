/* The engine as a C library: load PTX, launch its kernels on the CPU, read what the checkers found
 * or what the counters counted. For tools that embed the engine; CUDA programs need none of it
 * (`tilewright run|check|profile`).
 *
 *   tw_engine* engine;
 *   if (tw_engine_create("h200", TW_ENGINE_CHECK, &engine) != 0) ...
 *   tw_engine_load(engine, ptx_text, "kernels.ptx");
 *   tw_engine_allocate(engine, bytes, &address);
 *   tw_engine_launch(engine, "_Z5scalePfi", grid, block, 0, arguments, 2);
 *   puts(tw_engine_findings_json(engine));
 *
 * Functions that can fail return 0 or a code of tw_engine_status; tw_engine_error() says in words
 * what the last failure of this engine was. Strings belong to the engine and stay until the next
 * call of the same function or tw_engine_destroy. An engine serves one thread at a time.
 *
 * Library: libtilewright_engine.so. Tested by tests/capi/engine_c.c. */
#pragma once
#ifndef TILEWRIGHT_TILEWRIGHT_H
#define TILEWRIGHT_TILEWRIGHT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

typedef struct tw_engine tw_engine; /* one emulated GPU */

enum tw_engine_mode {
  TW_ENGINE_RUN = 0,   /* run only */
  TW_ENGINE_CHECK = 1, /* memcheck, racecheck, initcheck, synccheck */
  TW_ENGINE_COUNT = 2  /* the counters of tilewright profile */
};

enum tw_engine_status {
  TW_ENGINE_OK = 0,
  TW_ENGINE_INVALID_ARGUMENT =
      1,                     /* no such kernel, a null pointer, a shape the GPU does not take */
  TW_ENGINE_UNSUPPORTED = 2, /* PTX that does not parse, an instruction that the engine lacks */
  TW_ENGINE_OUT_OF_MEMORY = 3,
  TW_ENGINE_KERNEL_FAULT = 4 /* the kernel ended with a fault */
};

/* `gpu`: an id ("h200") or the path of a device file. */
int tw_engine_create(const char* gpu, int mode, tw_engine** engine);
void tw_engine_destroy(tw_engine* engine);
/* Of the last call that failed; "" if none has. `engine` may be null after tw_engine_create. */
const char* tw_engine_error(const tw_engine* engine);

/* PTX text; `name` stands for it in messages. Kernels of all modules are found by name. */
int tw_engine_load(tw_engine* engine, const char* ptx, const char* name);

/* Device memory. Addresses are numbers: only kernels, and the calls here, can use them. */
int tw_engine_allocate(tw_engine* engine, size_t bytes, uint64_t* address);
int tw_engine_free(tw_engine* engine, uint64_t address);
int tw_engine_write(tw_engine* engine, uint64_t address, const void* from, size_t bytes);
int tw_engine_read(tw_engine* engine, void* to, uint64_t address, size_t bytes);

/* Runs a kernel to its end. `kernel`: the mangled name. `arguments`: a pointer to the value of each
 * parameter. */
int tw_engine_launch(tw_engine* engine, const char* kernel, const uint32_t grid[3],
                     const uint32_t block[3], size_t dynamic_shared_bytes,
                     const void* const* arguments, size_t argument_count);

/* ---- TW_ENGINE_CHECK ---- */

struct tw_site {
  const char* file;
  uint32_t line;
  const char* instruction; /* PTX */
  const char* role;        /* "write", "read", "barrier", ... */
};

struct tw_finding {
  const char* kind;     /* "race-shared", "oob-global", ...: docs/checkers/json.md */
  const char* severity; /* "error", "warning", "note" */
  const char* kernel;   /* mangled */
  const char* message;
  const char* advice;
  uint64_t count;
  const struct tw_site* sites;
  size_t site_count;
};

/* Findings so far, each pair of places once. */
size_t tw_engine_finding_count(tw_engine* engine);
/* 0 or TW_ENGINE_INVALID_ARGUMENT; what it points to stays until the next tw_engine_finding_count.
 */
int tw_engine_finding(tw_engine* engine, size_t index, struct tw_finding* finding);
/* All of them as `tilewright check --json` writes them. */
const char* tw_engine_findings_json(tw_engine* engine);

/* ---- TW_ENGINE_COUNT ---- */

/* As `tilewright profile --json` writes them (docs/counters.md), without ptxas: as PTX has it. */
const char* tw_engine_counters_json(tw_engine* engine);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif
