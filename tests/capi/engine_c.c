/* The C interface, compiled as C: a kernel that is right, one that writes out of bounds, its
 * counters, and calls that must be refused. */
#include <stdio.h>
#include <string.h>
#include <tilewright/tilewright.h>

static const char kPtx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry scale(.param .u64 p, .param .u32 n, .param .f32 by) {\n"
    "  .reg .pred %q; .reg .b32 %r<6>; .reg .b64 %a<4>; .reg .f32 %f<4>;\n"
    "  ld.param.u64 %a1, [p]; ld.param.u32 %r1, [n]; ld.param.f32 %f1, [by];\n"
    "  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "  setp.ge.u32 %q, %r5, %r1; @%q ret;\n"
    "  mul.wide.u32 %a2, %r5, 4; add.u64 %a3, %a1, %a2;\n"
    "  ld.global.f32 %f2, [%a3]; mul.f32 %f3, %f2, %f1;\n"
    "  st.global.f32 [%a3], %f3;\n"
    "  ret;\n}\n";

/* Each block of a pair writes the other's number, times 10, plus the size of the cluster. */
static const char kPairs[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry pairs(.param .u64 p) .reqnctapercluster 2 {\n"
    "  .reg .b32 %r<8>; .reg .b64 %a<4>; .shared .align 4 .u32 mine;\n"
    "  ld.param.u64 %a1, [p]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, mine;\n"
    "  st.shared.u32 [%r2], %r1; mov.u32 %r3, %cluster_ctarank; xor.b32 %r3, %r3, 1;\n"
    "  mapa.shared::cluster.u32 %r4, %r2, %r3;\n"
    "  barrier.cluster.arrive.release; barrier.cluster.wait.acquire;\n"
    "  ld.shared::cluster.u32 %r5, [%r4];\n"
    "  barrier.cluster.arrive.release; barrier.cluster.wait.acquire;\n"
    "  mov.u32 %r6, %cluster_nctarank; mad.lo.u32 %r5, %r5, 10, %r6;\n"
    "  mul.wide.u32 %a2, %r1, 4; add.u64 %a3, %a1, %a2; st.global.u32 [%a3], %r5;\n"
    "  ret;\n}\n"
    ".visible .entry large() .reqnctapercluster 65536, 32768, 2 { ret; }\n";

static int failures = 0;
static void expect(int condition, const char* what) {
  if (condition) return;
  printf("failed: %s\n", what);
  ++failures;
}

static const uint32_t kGrid[3] = {2, 1, 1}, kBlock[3] = {64, 1, 1};

static int scale(tw_engine* engine, uint64_t address, uint32_t n) {
  const float by = 3;
  const void* arguments[3];
  arguments[0] = &address;
  arguments[1] = &n;
  arguments[2] = &by;
  return tw_engine_launch(engine, "scale", kGrid, kBlock, 0, arguments, 3);
}

static void clusters(tw_engine* engine) {
  static const uint32_t four[3] = {4, 1, 1}, three[3] = {3, 1, 1}, one[3] = {1, 1, 1},
                        huge[3] = {65536, 32768, 2};
  uint32_t words[4] = {0, 0, 0, 0};
  uint64_t address = 0;
  const void* arguments[1];
  arguments[0] = &address;
  expect(tw_engine_load(engine, kPairs, "pairs.ptx") == TW_ENGINE_OK, "load clusters");
  expect(tw_engine_allocate(engine, sizeof words, &address) == TW_ENGINE_OK, "allocate");
  expect(tw_engine_launch(engine, "pairs", four, one, 0, arguments, 1) == TW_ENGINE_OK,
         "launch of clusters");
  expect(tw_engine_read(engine, words, address, sizeof words) == TW_ENGINE_OK, "read");
  expect(words[0] == 12 && words[1] == 2 && words[2] == 32 && words[3] == 22,
         "blocks of a cluster read each other's memory");
  expect(tw_engine_finding_count(engine) == 0, "nothing is found in correct clusters");
  expect(tw_engine_launch(engine, "pairs", three, one, 0, arguments, 1) != TW_ENGINE_OK &&
             strstr(tw_engine_error(engine), "no multiple of clusters") != NULL,
         "a grid that is no multiple of its clusters is refused");
  expect(tw_engine_launch(engine, "large", huge, one, 0, NULL, 0) != TW_ENGINE_OK,
         "clusters whose size wraps are refused");
  expect(tw_engine_free(engine, address) == TW_ENGINE_OK, "free");
}

int main(void) {
  float values[100];
  uint64_t address = 0;
  tw_engine* engine = NULL;
  struct tw_finding finding;
  int i, right = 1;

  expect(tw_engine_create("no such gpu", TW_ENGINE_RUN, &engine) == TW_ENGINE_INVALID_ARGUMENT,
         "an unknown GPU is refused");
  expect(tw_engine_error(NULL)[0] != 0, "the refusal says why");
  expect(tw_engine_create("h200", TW_ENGINE_CHECK, &engine) == TW_ENGINE_OK, "create");
  if (engine == NULL) return 1;
  expect(tw_engine_load(engine, "this is no PTX", "bad.ptx") == TW_ENGINE_UNSUPPORTED,
         "text that is no PTX is refused");
  expect(strstr(tw_engine_error(engine), "bad.ptx") != NULL, "the error names the module");
  expect(tw_engine_load(engine, kPtx, "scale.ptx") == TW_ENGINE_OK, "load");
  expect(tw_engine_allocate(engine, sizeof values, &address) == TW_ENGINE_OK, "allocate");
  for (i = 0; i < 100; ++i) values[i] = (float)i;
  expect(tw_engine_write(engine, address, values, sizeof values) == TW_ENGINE_OK, "write");
  expect(tw_engine_write(engine, address, values, sizeof values + 1) == TW_ENGINE_INVALID_ARGUMENT,
         "a write past the end is refused");
  expect(scale(engine, address, 100) == TW_ENGINE_OK, "launch");
  expect(tw_engine_read(engine, values, address, sizeof values) == TW_ENGINE_OK, "read");
  for (i = 0; i < 100; ++i) right = right && values[i] == 3.0f * (float)i;
  expect(right, "the result is right");
  expect(tw_engine_finding_count(engine) == 0, "nothing is found in a correct launch");
  clusters(engine);
  expect(
      tw_engine_launch(engine, "nobody", kGrid, kBlock, 0, NULL, 0) == TW_ENGINE_INVALID_ARGUMENT,
      "an unknown kernel is refused");

  expect(scale(engine, address, 101) == TW_ENGINE_OK, "a launch with a fault goes on");
  expect(tw_engine_finding_count(engine) == 2, "a read and a write out of bounds");
  expect(tw_engine_finding(engine, 0, &finding) == TW_ENGINE_OK, "finding");
  expect(strcmp(finding.kind, "oob-global") == 0 && strcmp(finding.severity, "error") == 0,
         "its kind");
  expect(finding.site_count == 1 && strcmp(finding.sites[0].file, "scale.ptx") == 0, "its site");
  expect(strcmp(finding.kernel, "scale") == 0 && finding.count == 1, "its kernel and count");
  expect(tw_engine_finding(engine, 2, &finding) == TW_ENGINE_INVALID_ARGUMENT, "no third finding");
  expect(strstr(tw_engine_findings_json(engine), "\"command\": \"check\"") != NULL,
         "JSON");
  expect(tw_engine_free(engine, address) == TW_ENGINE_OK, "free");
  expect(tw_engine_free(engine, address) == TW_ENGINE_INVALID_ARGUMENT, "a second free is refused");
  tw_engine_destroy(engine);

  expect(tw_engine_create("h200", TW_ENGINE_COUNT, &engine) == TW_ENGINE_OK, "create for counting");
  if (engine == NULL) return 1;
  tw_engine_load(engine, kPtx, "scale.ptx");
  tw_engine_allocate(engine, sizeof values, &address);
  expect(scale(engine, address, 100) == TW_ENGINE_OK, "launch");
  /* Two warps and two blocks: 4 requests for 100 floats, the last one of 4 lanes. */
  expect(strstr(tw_engine_counters_json(engine),
                "\"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum\": 4") != NULL,
         "counters");
  tw_engine_destroy(engine);
  if (failures == 0) printf("right\n");
  return failures != 0;
}
