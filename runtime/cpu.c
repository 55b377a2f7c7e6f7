/* What this machine's CPU can do: the bits of WEFT_CPU_FEATURES, by cpuid.
 *
 * cpuid tells what the silicon has; whether the operating system saves the wide registers on a switch of threads is in
 * XCR0, read by xgetbv where OSXSAVE says that this instruction exists (Intel SDM volume 1, 13.3 and 14.3). A feature
 * counts only with both. Under a hypervisor cpuid traps (microseconds), so the answer is remembered. */
#include "runtime/model.h"
#include <stdatomic.h>

#if defined(__x86_64__)
#include <cpuid.h>

enum { XCR0_SSE_AVX = 0x6, XCR0_AVX512 = 0xe6 }; /* SSE, AVX; and opmask, ZMM_Hi256, Hi16_ZMM */

static uint64_t read_xcr0(void) {
  uint32_t lo, hi;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return ((uint64_t)hi << 32) | lo;
}

static uint32_t ask_cpu(void) {
  uint32_t a, b, c, d, bits = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d))
    return 0;
  uint64_t xcr0 = c & (1u << 27) ? read_xcr0() : 0;
  int avx = (xcr0 & XCR0_SSE_AVX) == XCR0_SSE_AVX, avx512 = (xcr0 & XCR0_AVX512) == XCR0_AVX512;
  if (c & (1u << 20))
    bits |= WEFT_CPU_SSE42;
  if (c & (1u << 23))
    bits |= WEFT_CPU_POPCNT;
  if (avx && c & (1u << 28))
    bits |= WEFT_CPU_AVX;
  if (avx && c & (1u << 12))
    bits |= WEFT_CPU_FMA;
  if (avx && c & (1u << 29))
    bits |= WEFT_CPU_F16C;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
    return bits;
  if (b & (1u << 8))
    bits |= WEFT_CPU_BMI2;
  if (avx && b & (1u << 5))
    bits |= WEFT_CPU_AVX2;
  if (avx512 && b & (1u << 16))
    bits |= WEFT_CPU_AVX512F;
  if (avx512 && b & (1u << 17))
    bits |= WEFT_CPU_AVX512DQ;
  if (avx512 && b & (1u << 28))
    bits |= WEFT_CPU_AVX512CD;
  if (avx512 && b & (1u << 30))
    bits |= WEFT_CPU_AVX512BW;
  if (avx512 && b & (1u << 31))
    bits |= WEFT_CPU_AVX512VL;
  return bits;
}
#else
static uint32_t ask_cpu(void) {
  return 0;
}
#endif

uint32_t weft_rt_cpu_features(void) {
  enum { ASKED = 1 };
  static _Atomic uint64_t known; /* the bits in the upper half, ASKED in the lower */
  uint64_t k = atomic_load_explicit(&known, memory_order_relaxed);
  if (!k) {
    k = (uint64_t)ask_cpu() << 32 | ASKED;
    atomic_store_explicit(&known, k, memory_order_relaxed);
  }
  return (uint32_t)(k >> 32);
}
