/* Concrete tensors for the reference evaluation and for files: dense, row-major in the LOGICAL order, whatever the
 * layout of the value's type; static shapes. */
#ifndef WEFT_IR_TENSOR_H
#define WEFT_IR_TENSOR_H

#include "ir/module.h"

typedef struct Tensor {
  DType dtype;
  int rank;
  int64_t shape[WEFT_MAX_RANK];
  int64_t n; /* elements */
  void *data;
} Tensor;

Tensor *tensor_new(Ctx *ctx, DType dtype, int rank, const int64_t *shape); /* zeroed */
Tensor *tensor_of_type(Ctx *ctx, const Type *type); /* static types */
/* Elements, exactly: values of the compute type. To store a float rounds it once to the element type. */
ScalarValue tensor_value(const Tensor *t, int64_t i);
void tensor_set_value(Tensor *t, int64_t i, ScalarValue v);
/* The same by way of double. To set rounds (floats) or saturates (integers). */
double tensor_get(const Tensor *t, int64_t i);
void tensor_set(Tensor *t, int64_t i, double v);
/* Element i of an array in memory. */
ScalarValue dtype_load(DType dtype, const void *data, int64_t i);
void dtype_store(DType dtype, void *data, int64_t i, ScalarValue v);
/* True where no element of an array in memory is an infinity or a NaN. */
bool dtype_all_finite(DType dtype, const void *data, int64_t n);
/* to[i] = from[j]; the element types are equal. */
void tensor_copy_element(Tensor *to, int64_t i, const Tensor *from, int64_t j);
/* The next index of the tensor in row-major order; after the last one all zeros. */
void tensor_next_index(const Tensor *t, int64_t *index);
/* Between a logical tensor and storage in `type`'s layout. to_storage fills padding lanes: signalling NaN or 0xA5 bytes where the
 * state is `any`, else 0; and halos with 0. */
void tensor_to_storage(const Tensor *t, const Type *type, void *storage);
void tensor_from_storage(Tensor *t, const Type *type, const void *storage);
/* Fills n bytes with poison: signalling NaN for floats, 0xA5 for others. */
void tensor_poison(DType dtype, void *data, size_t bytes);

/* Uniform in -1..1, the same numbers for the same seed: floats, and the integers among -1, 0 and 1 that the type has. */
void tensor_fill_random(Tensor *t, uint64_t seed);

/* The result of one op on its operands (NULL for an omitted one). NULL after reporting. */
Tensor *eval_op(Ctx *ctx, const Op *op, const Tensor *const *in);
/* Evaluates the function on inputs (one per parameter, logical order). outputs: one per result, made here. values, if not
 * NULL, receives the tensor of each value by id; those that it holds, of an evaluation of the same function before, are
 * used again, so that many evaluations take the memory of one. Types must be static. False after reporting. */
bool eval_function(Module *m, const Function *f, const Tensor *const *inputs, Tensor **outputs, Tensor **values);

#endif
