/* Loads a compiled model again and again, runs it from several threads at once and on both sides of a fork; every
 * output must be the same bytes.
 *
 *   so_load MODEL.so INPUT INPUT_BYTES OUTPUT_BYTES        (prefix weft_model, one input, one output)
 *
 * Prints what is wrong, one line each, and exits with 1 then. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOADS = 20, THREADS = 4, RUNS = 25, FORKS = 5 };

typedef int RunFn(const void *const *inputs, void *const *outputs);
typedef int SetThreadsFn(int n);

static void *input;
static char *expected;
static size_t output_bytes;
static RunFn *run;
static SetThreadsFn *set_threads;

/* 1 where a run gives other bytes than the first one did, or fails. */
static int differs(void) {
  char *out = malloc(output_bytes);
  const void *inputs[1] = {input};
  void *outputs[1] = {out};
  memset(out, 0xff, output_bytes);
  int wrong = run(inputs, outputs) != 0 || memcmp(out, expected, output_bytes) != 0;
  free(out);
  return wrong;
}

static void *run_often(void *unused) {
  (void)unused;
  long wrong = 0;
  for (int k = 0; k < RUNS; k++)
    wrong += differs();
  return (void *)wrong;
}

static void *open_model(const char *path) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  *(void **)&run = dlsym(handle, "weft_model_run");
  *(void **)&set_threads = dlsym(handle, "weft_model_set_threads");
  if (!run || !set_threads)
    exit(2);
  return handle;
}

static int in_child(void) {
  pid_t child = fork();
  if (child == 0)
    _exit(differs() || differs());
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

int main(int argc, char **argv) {
  if (argc != 5)
    return 2;
  size_t input_bytes = strtoul(argv[3], NULL, 10);
  output_bytes = strtoul(argv[4], NULL, 10);
  input = malloc(input_bytes);
  expected = malloc(output_bytes);
  FILE *f = fopen(argv[2], "rb");
  if (!f || fread(input, 1, input_bytes, f) != input_bytes)
    return 2;
  fclose(f);

  int faults = 0;
  void *handle = open_model(argv[1]);
  const void *inputs[1] = {input};
  void *outputs[1] = {expected};
  if (run(inputs, outputs) != 0) {
    printf("the first run fails\n");
    return 1;
  }
  for (int k = 0; k < LOADS; k++) {
    set_threads(1 + k % 3);
    if (differs())
      printf("load %d: the output differs\n", k), faults++;
    dlclose(handle);
    handle = open_model(argv[1]);
  }

  set_threads(3);
  pthread_t threads[THREADS];
  for (int k = 0; k < THREADS; k++)
    pthread_create(&threads[k], NULL, run_often, NULL);
  for (int k = 0; k < FORKS; k++) {
    int status = in_child();
    if (status != 0)
      printf("a child forked during runs: status %d\n", status), faults++;
  }
  for (int k = 0; k < THREADS; k++) {
    void *wrong;
    pthread_join(threads[k], &wrong);
    if (wrong)
      printf("thread %d: %ld outputs differ\n", k, (long)wrong), faults++;
  }
  if (differs())
    printf("after the forks: the output differs\n"), faults++;
  dlclose(handle);
  handle = open_model(argv[1]);
  if (in_child() != 0)
    printf("a child after dlclose and a new load differs\n"), faults++;
  dlclose(handle);
  free(input);
  free(expected);
  return faults ? 1 : 0;
}
