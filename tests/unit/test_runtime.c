/* The runtime of compiled models, on models made by hand: nests written in C. Statuses and messages for every wrong
 * argument, workspaces, and the thread pool under all that a host program may do to it. */
#include "runtime/model.h"
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Two inputs a, b and an empty one; y[i] = 0.5 * sum_k a[i] * b[i + k] through the workspace, z = y + a. */
enum { N = 1000, WORKSPACE = N * 4 + 96 };

static void nest_mix(const WeftFrame *f, int64_t begin, int64_t end) {
  const float *a = f->inputs[0], *b = f->inputs[1];
  float *t = (float *)(void *)f->arena;
  for (int64_t i = begin; i < end; i++) {
    float sum = 0;
    for (int k = 0; k < 64; k++)
      sum += a[i] * b[(i + k) % N];
    t[i] = sum;
  }
}

static void nest_scale(const WeftFrame *f, int64_t begin, int64_t end) {
  const float *t = (const float *)(const void *)f->arena, *w = (const float *)(const void *)f->weights;
  float *y = f->outputs[0];
  for (int64_t i = begin; i < end; i++)
    y[i] = t[i] * w[0];
}

static void nest_add(const WeftFrame *f, int64_t begin, int64_t end) {
  const float *a = f->inputs[0], *y = f->outputs[0];
  float *z = f->outputs[1];
  for (int64_t i = begin; i < end; i++)
    z[i] = y[i] + a[i];
}

static const float weights[16] = {0.5f};
static const WeftNest nests[] = {
    {nest_mix, "mix", N, 1000000, "sum"}, {nest_scale, "scale", N, 200000, "mul"}, {nest_add, "add", N, 1000, "add"}};
static const WeftPort in_ports[] = {{"a", N * 4, 4}, {"b", N * 4, 4}, {"nothing", 0, 4}};
static const WeftPort out_ports[] = {{"y", N * 4, 4}, {"z", N * 4, 4}};
static const WeftModel model = {.abi = WEFT_ABI,
                                .cpu_name = "x86-64-v2",
                                .info = "{}",
                                .weights = (const char *)weights,
                                .workspace = WORKSPACE,
                                .n_nests = 3,
                                .n_inputs = 3,
                                .n_outputs = 2,
                                .nests = nests,
                                .inputs = in_ports,
                                .outputs = out_ports};

typedef struct {
  _Alignas(64) float a[N + 16], b[N + 16], y[N + 16], z[N + 16];
  _Alignas(64) char workspace[WORKSPACE + 64];
  const void *in[3];
  void *out[2];
} Buffers;

static void fill(Buffers *u) {
  for (int i = 0; i < N + 16; i++) {
    u->a[i] = (float)(i % 37) - 11.25f;
    u->b[i] = (float)(i % 101) * 0.125f;
    u->y[i] = u->z[i] = -7;
  }
  u->in[0] = u->a, u->in[1] = u->b, u->in[2] = NULL;
  u->out[0] = u->y, u->out[1] = u->z;
}

/* The same arithmetic in the same order, so exact: rtol = atol = 0. */
static void check_result(const Buffers *u, const float *y) {
  for (int i = 0; i < N; i++) {
    float sum = 0;
    for (int k = 0; k < 64; k++)
      sum += u->a[i] * u->b[(i + k) % N];
    ck_assert_msg(y[i] == sum * 0.5f, "y[%d] is %a, expected %a", i, (double)y[i], (double)(sum * 0.5f));
    ck_assert(u->z[i] == sum * 0.5f + u->a[i]);
  }
  ck_assert(y[N] == -7 && u->z[N] == -7);
}

static void expect_error(int status, int expected, const char *text) {
  ck_assert_int_eq(status, expected);
  ck_assert_msg(strstr(weft_rt_error(), text) != NULL, "'%s' expected in the error text, found '%s'", text,
                weft_rt_error());
}

/* ---- arguments ---- */

static Buffers u;
static void setup(void) {
  fill(&u);
}

START_TEST(right_arguments) {
  ck_assert_str_eq(weft_rt_error(), "");
  ck_assert_int_eq(weft_rt_run(&model, u.in, u.out), 0);
  check_result(&u, u.y);
  fill(&u);
  ck_assert_int_eq(weft_rt_run_in(&model, u.in, u.out, u.workspace), 0);
  check_result(&u, u.y);
  ck_assert_str_eq(weft_rt_error(), "");
  ck_assert_uint_eq(weft_rt_workspace_size(&model, NULL, 0), WORKSPACE);
}
END_TEST

START_TEST(null_addresses) {
  expect_error(weft_rt_run(&model, NULL, u.out), 2, "inputs is NULL, expected 3 addresses");
  expect_error(weft_rt_run(&model, u.in, NULL), 2, "outputs is NULL, expected 2 addresses");
  u.in[1] = NULL;
  expect_error(weft_rt_run(&model, u.in, u.out), 2, "input 1 'b' is NULL, expected a buffer of 4000 bytes");
  u.in[1] = u.b;
  u.out[1] = NULL;
  expect_error(weft_rt_run(&model, u.in, u.out), 2, "output 1 'z' is NULL");
  ck_assert(u.y[0] == -7); /* nothing ran */
}
END_TEST

START_TEST(alignment) {
  u.in[0] = (char *)u.a + 2;
  expect_error(weft_rt_run(&model, u.in, u.out), 2, "input 0 'a' lies at address");
  expect_error(weft_rt_run(&model, u.in, u.out), 2, "multiple of its element's size, 4 bytes");
  fill(&u);
  u.out[0] = (char *)u.y + 1;
  expect_error(weft_rt_run(&model, u.in, u.out), 2, "output 0 'y' lies at address");
  /* An element's alignment is enough. */
  fill(&u);
  u.out[0] = u.y + 1;
  ck_assert_int_eq(weft_rt_run(&model, u.in, u.out), 0);
  ck_assert(u.y[0] == -7);
  check_result(&u, u.y + 1);
  /* An empty tensor's address is not looked at. */
  fill(&u);
  u.in[2] = (char *)u.a + 1;
  ck_assert_int_eq(weft_rt_run(&model, u.in, u.out), 0);
}
END_TEST

START_TEST(overlaps) {
  _Alignas(64) static float one[4 * N];
  u.in[0] = one;
  u.out[0] = one + N - 1;
  expect_error(weft_rt_run(&model, u.in, u.out), 2, "output 0 'y' overlaps input 0 'a'");
  u.in[0] = one + N - 1;
  u.out[0] = one;
  expect_error(weft_rt_run(&model, u.in, u.out), 2, "output 0 'y' overlaps input 0 'a'");
  u.in[0] = one + N;
  ck_assert_int_eq(weft_rt_run(&model, u.in, u.out), 0); /* side by side */
  u.in[1] = u.out[1];
  expect_error(weft_rt_run(&model, u.in, u.out), 2, "output 1 'z' overlaps input 1 'b'");
  fill(&u);
  u.out[1] = u.y + 1;
  expect_error(weft_rt_run(&model, u.in, u.out), 2, "output 1 'z' overlaps output 0 'y'");
  /* Inputs may be one buffer, and an empty input may lie anywhere. */
  fill(&u);
  u.in[1] = u.a;
  u.in[2] = u.y;
  ck_assert_int_eq(weft_rt_run(&model, u.in, u.out), 0);
}
END_TEST

START_TEST(workspaces) {
  expect_error(weft_rt_run_in(&model, u.in, u.out, NULL), 2, "workspace is NULL, expected 4096 bytes");
  expect_error(weft_rt_run_in(&model, u.in, u.out, u.workspace + 32), 2, "expected a multiple of 64");
  expect_error(weft_rt_run_in(&model, u.in, u.out, u.b), 2, "workspace overlaps input 1 'b'");
  expect_error(weft_rt_run_in(&model, u.in, u.out, u.z), 2, "workspace overlaps output 1 'z'");
  int64_t dims[1] = {4};
  ck_assert_uint_eq(weft_rt_workspace_size(&model, dims, 1), SIZE_MAX);
  expect_error(2, 2, "1 dynamic dimensions given, expected 0");
  WeftModel none = model;
  none.workspace = 0;
  none.n_nests = 0;
  ck_assert_int_eq(weft_rt_run_in(&none, u.in, u.out, NULL), 0);
  ck_assert_int_eq(weft_rt_run(&none, u.in, u.out), 0);
  WeftModel huge = model;
  huge.workspace = INT64_MAX; /* more than may be asked of the allocator */
  expect_error(weft_rt_run(&huge, u.in, u.out), 5, "no memory for a workspace of 9223372036854775807 bytes");
  /* Growing and shrinking around the block that is kept. */
  for (int i = 0; i < 8; i++) {
    WeftModel other = model;
    other.workspace = WORKSPACE + (i % 3) * 100000;
    fill(&u);
    ck_assert_int_eq(weft_rt_run(&other, u.in, u.out), 0);
    check_result(&u, u.y);
  }
}
END_TEST

static void nest_fault(const WeftFrame *f, int64_t begin, int64_t end) {
  if (begin <= 500 && end > 500 && ((const float *)f->inputs[0])[0] > 0)
    __atomic_store_n(f->fault, 1, __ATOMIC_RELAXED);
}

/* A nest that sets the fault flag ends the run behind it; the flag is each run's own. */
START_TEST(index_out_of_range) {
  const WeftNest with_fault[] = {{nest_mix, "mix", N, 1000000, "sum"},
                                 {nest_fault, "pick.1", N, 1000000, "gather"},
                                 {nest_add, "add", N, 1000, "add"}};
  WeftModel other = model;
  other.nests = with_fault;
  for (int way = 0; way < 2; way++) {
    fill(&u);
    u.a[0] = 1;
    expect_error(way ? weft_rt_run_in(&other, u.in, u.out, u.workspace) : weft_rt_run(&other, u.in, u.out), 3,
                 "pick.1: index out of range in gather");
    ck_assert(u.z[0] == -7);
    u.a[0] = -1;
    ck_assert_int_eq(way ? weft_rt_run_in(&other, u.in, u.out, u.workspace) : weft_rt_run(&other, u.in, u.out), 0);
    ck_assert(u.z[0] == -8);
  }
}
END_TEST

static void nest_copy_arena(const WeftFrame *f, int64_t begin, int64_t end) {
  ck_assert_uint_eq((uintptr_t)f->arena % 64, 0);
  memcpy(f->outputs[0], f->arena, (size_t)(end - begin) * 4);
}

START_TEST(poison) {
  static const WeftNest copy = {nest_copy_arena, "copy", N, 0, "copy"};
  WeftModel debug = model;
  debug.nests = &copy;
  debug.n_nests = 1;
  debug.poison = 1;
  for (int way = 0; way < 2; way++) {
    fill(&u);
    memset(u.workspace, 0, sizeof u.workspace);
    ck_assert_int_eq(way ? weft_rt_run_in(&debug, u.in, u.out, u.workspace) : weft_rt_run(&debug, u.in, u.out), 0);
    for (int i = 0; i < N; i++) {
      uint32_t bits;
      memcpy(&bits, &u.y[i], 4);
      /* signalling: exponent all ones, the first bit of the fraction clear, the rest not */
      ck_assert(((bits >> 22) & 0x1ff) == 0x1fe && (bits & 0x3fffff));
    }
    ck_assert_int_eq(u.workspace[WORKSPACE], 0);
  }
}
END_TEST

START_TEST(missing_cpu_feature) {
  uint32_t here = weft_rt_cpu_features();
  WeftModel other = model;
  other.cpu_needs = here;
  ck_assert_int_eq(weft_rt_run(&other, u.in, u.out), 0);
  other.cpu_needs = 1u << 30; /* of no machine */
  other.cpu_name = "x86-64-v9";
  expect_error(weft_rt_run(&other, u.in, u.out), 5, "lacks feature bits 0x40000000");
  expect_error(weft_rt_run_in(&other, u.in, u.out, u.workspace), 5, "x86-64-v9");
#define X(id, text, bit)                                                                                               \
  if (!(here & WEFT_CPU_##id)) {                                                                                       \
    other.cpu_needs = WEFT_CPU_##id | 1u << 30;                                                                        \
    expect_error(weft_rt_run(&other, u.in, u.out), 5, "lacks " text ", feature bits 0x40000000");                      \
  }
  WEFT_CPU_FEATURES(X)
#undef X
}
END_TEST

#if defined(__x86_64__)
START_TEST(cpu_features_agree_with_the_compiler) {
  uint32_t here = weft_rt_cpu_features();
#define SAME(id, name) ck_assert_msg(!(here & WEFT_CPU_##id) == !__builtin_cpu_supports(name), "%s", name)
  SAME(SSE42, "sse4.2");
  SAME(POPCNT, "popcnt");
  SAME(AVX, "avx");
  SAME(AVX2, "avx2");
  SAME(FMA, "fma");
  SAME(BMI2, "bmi2");
  SAME(AVX512F, "avx512f");
  SAME(AVX512BW, "avx512bw");
  SAME(AVX512DQ, "avx512dq");
  SAME(AVX512VL, "avx512vl");
  SAME(AVX512CD, "avx512cd");
#undef SAME
}
END_TEST
#endif

static void *fail_in_thread(void *arg) {
  Buffers *own = arg;
  ck_assert_str_eq(weft_rt_error(), "");
  own->in[0] = NULL;
  ck_assert_int_eq(weft_rt_run(&model, own->in, own->out), 2);
  ck_assert(strstr(weft_rt_error(), "input 0 'a' is NULL"));
  return NULL;
}

START_TEST(error_text_per_thread) {
  static Buffers other;
  fill(&other);
  expect_error(weft_rt_run(&model, u.in, NULL), 2, "outputs is NULL");
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, fail_in_thread, &other), 0);
  pthread_join(thread, NULL);
  expect_error(2, 2, "outputs is NULL");
}
END_TEST

/* ---- threads ---- */

START_TEST(same_result_for_any_thread_count) {
  for (int threads = 1; threads <= 8; threads++) {
    ck_assert_int_eq(weft_rt_set_threads(NULL, threads), threads);
    ck_assert_int_eq(weft_rt_set_threads(NULL, 0), threads);
    for (int i = 0; i < 20; i++) {
      fill(&u);
      ck_assert_int_eq(weft_rt_run(&model, u.in, u.out), 0);
      check_result(&u, u.y);
    }
  }
  ck_assert_int_le(weft_rt_set_threads(NULL, 1 << 30), 1024);
}
END_TEST

/* Every iteration once, whatever the count; and more than one thread takes part. */
enum { SLOTS = 5000 };
static _Atomic int taken[SLOTS];
static _Atomic int on_others;
static pthread_t caller;

static void nest_take(const WeftFrame *f, int64_t begin, int64_t end) {
  (void)f;
  if (!pthread_equal(pthread_self(), caller))
    atomic_fetch_add(&on_others, 1);
  for (int64_t i = begin; i < end; i++)
    atomic_fetch_add(&taken[i], 1);
  usleep(50);
}

/* How many slots are not as they should be. */
static int take_wrong(int64_t count, int64_t work) {
  const WeftNest nest = {nest_take, "take", count, work, "take"};
  const WeftFrame frame = {0};
  int wrong = 0;
  for (int i = 0; i < SLOTS; i++)
    atomic_store(&taken[i], 0);
  caller = pthread_self();
  atomic_store(&on_others, 0);
  weft_rt_parallel(&nest, &frame);
  for (int i = 0; i < SLOTS; i++)
    wrong += atomic_load(&taken[i]) != (i < count);
  return wrong;
}

static void take(int64_t count, int64_t work) {
  ck_assert_int_eq(take_wrong(count, work), 0);
}

START_TEST(every_iteration_once) {
  static const int64_t counts[] = {0, 1, 2, 3, 7, 8, 63, 64, 65, 1000, SLOTS};
  for (int threads = 1; threads <= 8; threads += threads < 4 ? 1 : 4) {
    weft_rt_set_threads(NULL, threads);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
      take(counts[i], 1 << 30);
      take(counts[i], 60000);
    }
  }
  weft_rt_set_threads(NULL, 4);
  int helped = 0;
  for (int i = 0; i < 50 && !helped; i++) {
    take(1000, 1 << 30);
    helped = atomic_load(&on_others);
  }
  ck_assert_int_gt(helped, 0);
  /* Small nests, and single iterations, stay here. */
  for (int i = 0; i < 20; i++) {
    take(1000, 1000);
    ck_assert_int_eq(atomic_load(&on_others), 0);
    take(1, 1 << 30);
    ck_assert_int_eq(atomic_load(&on_others), 0);
  }
  weft_rt_set_threads(NULL, 1);
  take(1000, 1 << 30);
  ck_assert_int_eq(atomic_load(&on_others), 0);
}
END_TEST

static void *run_many(void *arg) {
  Buffers *own = arg;
  for (int i = 0; i < 100; i++) {
    fill(own);
    ck_assert_int_eq(
        i % 2 ? weft_rt_run(&model, own->in, own->out) : weft_rt_run_in(&model, own->in, own->out, own->workspace), 0);
    check_result(own, own->y);
  }
  return NULL;
}

static _Atomic int stop;

static void *change_threads(void *arg) {
  for (int i = 0; !atomic_load(&stop); i++) {
    weft_rt_set_threads(NULL, 1 + i % 6);
    usleep(200);
  }
  return arg;
}

START_TEST(concurrent_runs) {
  enum { CALLERS = 4 };
  static Buffers own[CALLERS];
  pthread_t threads[CALLERS], changer;
  weft_rt_set_threads(NULL, 3);
  for (int changing = 0; changing < 2; changing++) {
    atomic_store(&stop, 0);
    if (changing)
      ck_assert_int_eq(pthread_create(&changer, NULL, change_threads, NULL), 0);
    for (int i = 0; i < CALLERS; i++)
      ck_assert_int_eq(pthread_create(&threads[i], NULL, run_many, &own[i]), 0);
    for (int i = 0; i < CALLERS; i++)
      pthread_join(threads[i], NULL);
    atomic_store(&stop, 1);
    if (changing)
      pthread_join(changer, NULL);
  }
}
END_TEST

/* A child is right, has a pool of its own, and does not hang, even where it was forked in the middle of a run. It
 * asserts nothing itself: Check's lock may be held by a thread that the child does not have. */
START_TEST(fork_during_runs) {
  static Buffers own;
  pthread_t runner;
  weft_rt_set_threads(NULL, 4);
  take(1000, 1 << 30);
  ck_assert_int_eq(pthread_create(&runner, NULL, run_many, &own), 0);
  for (int i = 0; i < 10; i++) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);
      fill(&u);
      int ok = weft_rt_run(&model, u.in, u.out) == 0 && u.z[N - 1] == u.y[N - 1] + u.a[N - 1];
      int helped = 0;
      for (int k = 0; k < 100 && !helped; k++) {
        ok = ok && take_wrong(1000, 1 << 30) == 0;
        helped = atomic_load(&on_others);
      }
      _exit(ok && helped ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: status %x", status);
  }
  pthread_join(runner, NULL);
}
END_TEST

/* The default number of threads is asked once a process, so each setting has a process of its own. */
static int threads_with(const char *value, int of_model) {
  WeftModel with = model;
  with.threads = of_model;
  int ends[2], n = -1;
  ck_assert_int_eq(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    if (value)
      setenv("WEFT_NUM_THREADS", value, 1);
    else
      unsetenv("WEFT_NUM_THREADS");
    n = weft_rt_set_threads(&with, 0);
    _exit(write(ends[1], &n, sizeof n) == sizeof n ? 0 : 1);
  }
  close(ends[1]);
  ck_assert_int_eq(read(ends[0], &n, sizeof n), sizeof n);
  close(ends[0]);
  ck_assert_int_eq(waitpid(child, NULL, 0), child);
  return n;
}

START_TEST(default_thread_count) {
  int cpus = threads_with(NULL, 0);
  ck_assert_int_ge(cpus, 1);
  ck_assert_int_eq(threads_with("7", 0), 7);
  ck_assert_int_eq(threads_with("99999999999999999999", 0), 1024);
  ck_assert_int_eq(threads_with(NULL, 5), 5);
  ck_assert_int_eq(threads_with("7", 5), 7);
  static const char *const wrong[] = {"", "0", "-3", "4x", " 4"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_int_eq(threads_with(wrong[i], 0), cpus);
}
END_TEST

#if defined(__x86_64__)
/* Workers round as the calling thread does. */
static void nest_third(const WeftFrame *f, int64_t begin, int64_t end) {
  volatile float one = 1, three = 3;
  for (int64_t i = begin; i < end; i++)
    ((float *)f->outputs[0])[i] = one / three;
  usleep(50);
}

START_TEST(workers_take_the_float_mode) {
  static const WeftNest nest = {nest_third, "third", N, 1 << 30, "third"};
  const WeftFrame frame = {.outputs = u.out};
  weft_rt_set_threads(NULL, 4);
  weft_rt_parallel(&nest, &frame);
  uint32_t before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr((before & ~0x6000u) | 0x4000u); /* toward plus infinity */
  for (int i = 0; i < 10; i++)
    weft_rt_parallel(&nest, &frame);
  __builtin_ia32_ldmxcsr(before);
  for (int i = 0; i < N; i++)
    ck_assert_msg(u.y[i] == 0x1.555556p-2f, "y[%d] = %a", i, (double)u.y[i]);
  weft_rt_parallel(&nest, &frame);
  __builtin_ia32_ldmxcsr((before & ~0x6000u) | 0x2000u); /* toward minus infinity */
  weft_rt_parallel(&nest, &frame);
  __builtin_ia32_ldmxcsr(before);
  for (int i = 0; i < N; i++)
    ck_assert(u.y[i] == 0x1.555554p-2f);
}
END_TEST
#endif

Suite *suite_runtime(void);

Suite *suite_runtime(void) {
  Suite *suite = suite_create("runtime");
  TCase *arguments = tcase_create("arguments"), *threads = tcase_create("threads");
  tcase_add_checked_fixture(arguments, setup, NULL);
  tcase_add_checked_fixture(threads, setup, NULL);
  tcase_set_timeout(threads, 60);
  tcase_add_test(threads, default_thread_count); /* first: nothing has asked for the count yet */
  tcase_add_test(arguments, right_arguments);
  tcase_add_test(arguments, null_addresses);
  tcase_add_test(arguments, alignment);
  tcase_add_test(arguments, overlaps);
  tcase_add_test(arguments, workspaces);
  tcase_add_test(arguments, poison);
  tcase_add_test(arguments, index_out_of_range);
  tcase_add_test(arguments, missing_cpu_feature);
#if defined(__x86_64__)
  tcase_add_test(arguments, cpu_features_agree_with_the_compiler);
#endif
  tcase_add_test(arguments, error_text_per_thread);
  tcase_add_test(threads, same_result_for_any_thread_count);
  tcase_add_test(threads, every_iteration_once);
  tcase_add_test(threads, concurrent_runs);
  tcase_add_test(threads, fork_during_runs);
#if defined(__x86_64__)
  tcase_add_test(threads, workers_take_the_float_mode);
#endif
  suite_add_tcase(suite, threads);
  suite_add_tcase(suite, arguments);
  return suite;
}
