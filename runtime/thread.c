/* The thread pool: one per shared object, started by the first nest that is worth it.
 *
 * One nest at a time is on the pool; whoever starts it holds `busy` and works along. A second run that meets a busy
 * pool runs its nest alone. The chunks of a nest are taken from a counter, so a slow thread takes fewer of them; nests
 * guarantee that their iterations are independent, so results do not depend on who runs what.
 *
 * The job's life is one word, `state`:   [WAITING:1][helpers:15][inside:16]
 *   helpers > 0   the job is open: up to so many workers may enter, by adding 1 to `inside` in a compare-and-swap
 *   inside        workers that may still touch the job
 * The owner fills the job while state is 0, opens it, works, closes it by clearing `helpers` once no chunk is left, and
 * waits until `inside` is 0. A worker that comes late finds it closed and has touched nothing, so nobody waits for a
 * thread that the system has not scheduled yet. `epoch` counts jobs and is what idle workers sleep on (futex).
 *
 * Waking a sleeping thread costs 5 to 50 us, a nest often less; so idle workers and a waiting owner spin for SPIN_NS
 * first, where there is a CPU for each of them.
 *
 * fork: a child has none of its parent's workers. `owner` is the process that the pool belongs to; a process that finds
 * another there resets the pool and starts its own. Workers never end: the object is linked -z nodelete. */
#include "runtime/model.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
  MAX_THREADS = 1024,
  WORK_PER_THREAD = 25000, /* a thread is worth waking for so many operations, about a microsecond */
  WORK_PER_CHUNK = 5000,
  CHUNKS_PER_THREAD = 8, /* bounds the wait for the last chunk to an eighth of a thread's share */
  SPIN_NS = 30000,
  INSIDE = 0xffff,
  HELPERS_SHIFT = 16
};
#define WAITING 0x80000000u

static struct {
  _Atomic int owner;  /* process; negative while that process resets the pool; 0 at first */
  _Atomic int wanted; /* threads, 0: not settled yet */
  atomic_flag busy;
  int workers, cpus; /* the holder of `busy` alone */
  _Atomic int spin;  /* whether there is a CPU for every thread */
  /* the job */
  const WeftNest *nest;
  const WeftFrame *frame;
  int64_t chunk;
  uint32_t float_mode;
  _Alignas(64) _Atomic int64_t next;
  _Alignas(64) _Atomic uint32_t state;
  _Alignas(64) _Atomic uint32_t epoch;
  _Atomic int sleepers;
} pool = {.busy = ATOMIC_FLAG_INIT};

/* ---- waiting ---- */

static void futex_wait(_Atomic uint32_t *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int n) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_cpu(void) {
#if defined(__x86_64__)
  __asm__ volatile("pause");
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Spins while *word == value (or, until: while *word != value), at most SPIN_NS. Returns what *word is. */
static uint32_t spin_on(_Atomic uint32_t *word, uint32_t value, int until) {
  uint32_t w = atomic_load_explicit(word, memory_order_acquire);
  if (!atomic_load_explicit(&pool.spin, memory_order_relaxed))
    return w;
  int64_t end = 0;
  for (int i = 1; (w == value) != until; i++) {
    pause_cpu();
    if (i % 16 == 0) {
      int64_t t = now_ns();
      if (!end)
        end = t + SPIN_NS;
      else if (t > end)
        break;
    }
    w = atomic_load_explicit(word, memory_order_acquire);
  }
  return w;
}

/* Rounding mode and exception masks are part of a run's result, so workers take those of the thread that runs. */
static uint32_t get_float_mode(void) {
  uint32_t mode = 0;
#if defined(__x86_64__)
  __asm__ volatile("stmxcsr %0" : "=m"(mode));
#endif
  return mode;
}

static void set_float_mode(uint32_t mode) {
#if defined(__x86_64__)
  __asm__ volatile("ldmxcsr %0" : : "m"(mode));
#else
  (void)mode;
#endif
}

/* ---- workers ---- */

static void run_chunks(void) {
  const WeftNest *nest = pool.nest;
  int64_t chunk = pool.chunk;
  for (;;) {
    int64_t begin = atomic_fetch_add_explicit(&pool.next, chunk, memory_order_relaxed);
    if (begin >= nest->count)
      return;
    nest->fn(pool.frame, begin, nest->count - begin < chunk ? nest->count : begin + chunk);
  }
}

/* True where the worker is inside now. */
static int enter_job(void) {
  uint32_t s = atomic_load_explicit(&pool.state, memory_order_relaxed);
  while ((s & INSIDE) < ((s & ~WAITING) >> HELPERS_SHIFT))
    if (atomic_compare_exchange_weak_explicit(&pool.state, &s, s + 1, memory_order_acquire, memory_order_relaxed))
      return 1;
  return 0;
}

static void leave_job(void) {
  if (atomic_fetch_sub_explicit(&pool.state, 1, memory_order_acq_rel) - 1 == WAITING)
    futex_wake(&pool.state, 1);
}

static uint32_t next_epoch(uint32_t seen) {
  uint32_t epoch = spin_on(&pool.epoch, seen, 0);
  if (epoch != seen)
    return epoch;
  atomic_fetch_add(&pool.sleepers, 1);
  while ((epoch = atomic_load(&pool.epoch)) == seen)
    futex_wait(&pool.epoch, seen);
  atomic_fetch_sub(&pool.sleepers, 1);
  return epoch;
}

static void *work(void *start) {
  uint32_t epoch = (uint32_t)(uintptr_t)start;
  for (;;) {
    epoch = next_epoch(epoch);
    if (enter_job()) {
      set_float_mode(pool.float_mode);
      run_chunks();
      leave_job();
    }
  }
  return NULL;
}

/* Brings the pool to n workers, or as many as the system gives. Signals of the host program are not for our threads. */
static void start_workers(int n) {
  sigset_t all, before;
  pthread_attr_t attr;
  if (pool.workers >= n || pthread_attr_init(&attr))
    return;
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  void *start = (void *)(uintptr_t)atomic_load_explicit(&pool.epoch, memory_order_relaxed);
  for (pthread_t thread; pool.workers < n && !pthread_create(&thread, &attr, work, start);)
    pool.workers++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
}

/* ---- how many threads ---- */

static int cpu_count(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
  long n = sysconf(_SC_NPROCESSORS_ONLN); /* more CPUs than a cpu_set_t holds */
  return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int)n;
}

/* A positive decimal number, at most MAX_THREADS; 0 for anything else. By hand: strtol binds to a symbol version of the
 * newest C library. */
static int parse_threads(const char *text) {
  int n = 0;
  if (!text || !*text)
    return 0;
  for (; *text; text++) {
    if (*text < '0' || *text > '9')
      return 0;
    n = n * 10 + (*text - '0');
    if (n > MAX_THREADS)
      n = MAX_THREADS;
  }
  return n;
}

/* The number in use; where nothing has settled it yet, the default is. */
static int threads_wanted(const WeftModel *model) {
  int n = atomic_load_explicit(&pool.wanted, memory_order_relaxed);
  if (n)
    return n;
  n = parse_threads(getenv("WEFT_NUM_THREADS"));
  if (!n && model)
    n = model->threads;
  if (n <= 0)
    n = cpu_count();
  if (n > MAX_THREADS)
    n = MAX_THREADS;
  int nobody = 0; /* a weft_rt_set_threads in between stands */
  return atomic_compare_exchange_strong(&pool.wanted, &nobody, n) ? n : nobody;
}

int weft_rt_set_threads(const WeftModel *model, int n) {
  if (n > 0)
    atomic_store(&pool.wanted, n < MAX_THREADS ? n : MAX_THREADS);
  return threads_wanted(model);
}

/* ---- jobs ---- */

/* True where the pool is this process's. In a child after fork only the forking thread exists, so nobody is inside. */
static int own_pool(void) {
  int me = (int)getpid();
  int owner = atomic_load_explicit(&pool.owner, memory_order_acquire);
  if (owner == me)
    return 1;
  if (owner == -me || !atomic_compare_exchange_strong(&pool.owner, &owner, -me))
    return 0; /* another thread resets it at this moment */
  pool.workers = 0;
  pool.cpus = cpu_count();
  atomic_store(&pool.state, 0);
  atomic_store(&pool.sleepers, 0);
  atomic_flag_clear(&pool.busy);
  atomic_store_explicit(&pool.owner, me, memory_order_release);
  return 1;
}

static void run_job(const WeftNest *nest, const WeftFrame *frame, int threads) {
  int64_t by_share = nest->count / ((int64_t)threads * CHUNKS_PER_THREAD);
  int64_t by_work = WORK_PER_CHUNK / (nest->work / nest->count + 1);
  int64_t chunk = by_share > by_work ? by_share : by_work;
  pool.nest = nest;
  pool.frame = frame;
  pool.chunk = chunk > 0 ? chunk : 1;
  pool.float_mode = get_float_mode();
  atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
  uint32_t helpers = (uint32_t)(threads - 1);
  atomic_store_explicit(&pool.state, helpers << HELPERS_SHIFT, memory_order_release);
  /* Sequentially consistent with next_epoch: either the sleeper sees the epoch or we see the sleeper. */
  atomic_fetch_add(&pool.epoch, 1);
  if (atomic_load(&pool.sleepers) > 0)
    futex_wake(&pool.epoch, threads - 1);

  run_chunks();

  uint32_t s = atomic_fetch_and_explicit(&pool.state, INSIDE, memory_order_acq_rel) & INSIDE;
  if (s && spin_on(&pool.state, 0, 1) != 0) {
    s = atomic_fetch_or_explicit(&pool.state, WAITING, memory_order_acq_rel) | WAITING;
    while (s != WAITING) {
      futex_wait(&pool.state, s);
      s = atomic_load_explicit(&pool.state, memory_order_acquire);
    }
    atomic_store_explicit(&pool.state, 0, memory_order_relaxed);
  }
}

void weft_rt_parallel(const WeftNest *nest, const WeftFrame *frame) {
  if (nest->count <= 0)
    return;
  int64_t useful = nest->work / WORK_PER_THREAD;
  if (useful > nest->count)
    useful = nest->count;
  if (useful < 2) {
    nest->fn(frame, 0, nest->count);
    return;
  }
  int wanted = threads_wanted(NULL);
  int threads = useful < wanted ? (int)useful : wanted;
  if (threads < 2 || !own_pool() || atomic_flag_test_and_set_explicit(&pool.busy, memory_order_acquire)) {
    nest->fn(frame, 0, nest->count);
    return;
  }
  start_workers(wanted - 1);
  atomic_store_explicit(&pool.spin, wanted <= pool.cpus, memory_order_relaxed);
  if (threads > pool.workers + 1)
    threads = pool.workers + 1;
  run_job(nest, frame, threads);
  atomic_flag_clear_explicit(&pool.busy, memory_order_release);
}
