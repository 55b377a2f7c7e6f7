/* DFT, STFT and MelWeightMatrix of ONNX: the reference evaluation of what they become against the sums of the
 * definition, and refusals. Tolerance: 1e-4, of sums of at most 12 products of numbers below 12, in f32. */
#include <math.h>

#include "onnx_graph.h"

enum { ROWS = 2, MOST = 16 };

static void expect_close(double got, double expected, const char *what, int64_t at) {
  ck_assert_msg(fabs(got - expected) <= 1e-4, "%s, element %d: %.9g, expected %.9g", what, (int)at, got, expected);
}

/* in: pairs of parts, `inputs` of them; missing ones are 0. */
static void definition(const double *in, int inputs, int length, bool inverse, double *out) {
  for (int k = 0; k < length; k++) {
    double re = 0, im = 0;
    for (int i = 0; i < inputs && i < length; i++) {
      double w = (inverse ? 2 : -2) * M_PI * k * i / length;
      re += in[2 * i] * cos(w) - in[2 * i + 1] * sin(w);
      im += in[2 * i] * sin(w) + in[2 * i + 1] * cos(w);
    }
    out[2 * k] = inverse ? re / length : re;
    out[2 * k + 1] = inverse ? im / length : im;
  }
}

typedef struct {
  int extent, parts, length; /* length 0: not given */
  bool inverse, onesided;
} Case;

static const Case cases[] = {
    {5, 1, 0, false, false}, {6, 2, 0, false, false},  {6, 1, 4, false, false}, {5, 2, 8, false, false},
    {6, 1, 0, false, true},  {7, 1, 0, false, true},   {6, 2, 0, true, false},  {5, 2, 3, true, false},
    {1, 1, 0, false, true},  {12, 1, 12, true, false},
};

/* x[ROWS, extent, parts] counts up from 0, as evaluate() has it. */
START_TEST(transforms) {
  const Case *c = &cases[_i];
  int length = c->length ? c->length : c->extent, outputs = c->onesided ? length / 2 + 1 : length;
  for (int opset = 17; opset <= 20; opset += 3) {
    teardown();
    setup();
    add_input("x", FLOAT, INTS(ROWS, c->extent, c->parts));
    if (c->length)
      add_ints("length", INTS(c->length));
    ADD_NODE(c->length ? "DFT x,length -> y" : "DFT x -> y", attr_int(ctx, "inverse", c->inverse),
             attr_int(ctx, "onesided", c->onesided));
    add_output("y");
    Tensor *y = evaluate(import_well(opset))[0];
    ck_assert_int_eq(y->n, ROWS * outputs * 2);
    for (int row = 0; row < ROWS; row++) {
      double in[2 * MOST] = {0}, out[2 * MOST];
      for (int k = 0; k < c->extent; k++)
        for (int p = 0; p < c->parts; p++)
          in[2 * k + p] = (row * c->extent + k) * c->parts + p;
      definition(in, c->extent, length, c->inverse, out);
      for (int k = 0; k < 2 * outputs; k++)
        expect_close(tensor_get(y, row * outputs * 2 + k), out[k], "transform", k);
    }
  }
}
END_TEST

/* One-sided there and back gives the signal, of even and of odd length, along another axis than the last. */
START_TEST(there_and_back) {
  int64_t length = 5 + _i;
  add_input("x", DOUBLE, INTS(length, 3, 1));
  add_ints("length", INTS(length));
  add_ints("axis", INTS(0));
  ADD_NODE("DFT x,,axis -> f", attr_int(ctx, "onesided", 1));
  ADD_NODE("DFT f,length,axis -> y", attr_int(ctx, "onesided", 1), attr_int(ctx, "inverse", 1));
  add_output("y");
  Tensor *y = evaluate(import_well(20))[0];
  ck_assert(y->n == 3 * length && y->shape[2] == 1);
  for (int64_t k = 0; k < y->n; k++)
    expect_close(tensor_get(y, k), (double)k, "there and back", k);
}
END_TEST

START_TEST(frames) {
  enum { LENGTH = 10, FRAME = 4, STEP = 3, FRAMES = 3 };
  static const float window[FRAME] = {0.5f, 1, 2, 0.25f};
  add_input("x", FLOAT, INTS(1, LENGTH, 1));
  add_ints("step", INTS(STEP));
  put_message(&graph, 5, tensor_floats(ctx, "window", INTS(FRAME), window, FRAME));
  ADD_NODE("STFT x,step,window -> y", attr_int(ctx, "onesided", 0));
  add_output("y");
  Tensor *y = evaluate(import_well(17))[0];
  ck_assert_int_eq(y->n, FRAMES * FRAME * 2);
  for (int f = 0; f < FRAMES; f++) {
    double in[2 * MOST] = {0}, out[2 * MOST];
    for (int k = 0; k < FRAME; k++)
      in[2 * k] = (f * STEP + k) * (double)window[k];
    definition(in, FRAME, FRAME, false, out);
    for (int k = 0; k < 2 * FRAME; k++)
      expect_close(tensor_get(y, f * FRAME * 2 + k), out[k], "frame", k);
  }
}
END_TEST

/* Edges at bins 0, 0, 1 and 2 of 5: even on the mel scale, not in Hz. */
START_TEST(mel_bands) {
  add_ints("bands", INTS(2));
  add_ints("length", INTS(8));
  add_ints("rate", INTS(8000));
  static const float edges[2] = {0, 4000};
  put_message(&graph, 5, tensor_floats(ctx, "lower", INTS(1), edges, 1));
  put_message(&graph, 5, tensor_floats(ctx, "upper", INTS(1), edges + 1, 1));
  add_node("MelWeightMatrix bands,length,rate,lower,upper -> y");
  add_output("y");
  Tensor *y = evaluate(import_well(17))[0];
  ck_assert_int_eq(y->n, 5 * 2);
  for (int band = 0; band < 2; band++) {
    int64_t edge[3];
    double most = 2595 * log10(1 + 4000 / 700.0);
    for (int k = 0; k < 3; k++)
      edge[k] = (int64_t)(9 * 700 * (pow(10, most * (band + k) / 4 / 2595) - 1) / 8000);
    for (int64_t bin = 0; bin < 5; bin++) {
      double up = edge[1] == edge[0] ? bin == edge[1] : (double)(bin - edge[0]) / (double)(edge[1] - edge[0]);
      double down = edge[2] == edge[1] ? bin == edge[1] : (double)(edge[2] - bin) / (double)(edge[2] - edge[1]);
      double expected = bin < edge[1] ? fmax(up, 0) : bin > edge[1] ? fmax(down, 0) : 1;
      expect_close(tensor_get(y, bin * 2 + band), expected, "band", bin * 2 + band);
    }
  }
}
END_TEST

START_TEST(refused) {
  add_input("x", FLOAT, INTS(2, 5, 3));
  add_input("y", FLOAT, INTS(2, 5, 1));
  add_input("long", FLOAT, INTS(1, 100000, 1));
  add_ints("axis", INTS(2));
  add_ints("six", INTS(6));
  add_node("DFT x -> a");
  add_node("DFT y,,axis -> b");
  add_node("DFT long -> c");
  add_node("STFT y,six,,six -> d");
  const char *outputs[] = {"a", "b", "c", "d"};
  for (int k = 0; k < 4; k++)
    add_output(outputs[k]);
  refuse(20, WEFT_MALFORMED,
         "node 'a': error: DFT: operand 1, 'x', is f32[2,5,3], expected floats, the last axis of extent");
  const char *text = diag_text(ctx->diags, false);
  ck_assert_msg(strstr(text, "node 'b': error: DFT: 'axis' is 2, the parts of a number"), "%s", text);
  ck_assert_msg(strstr(text, "node 'c': error: DFT: 20000000000 more elements would have to be computed"), "%s", text);
  ck_assert_msg(strstr(text, "node 'd': error: STFT: frames of 6 elements do not fit the signal, f32[2,5,1]"), "%s",
                text);
}
END_TEST

Suite *suite_onnx_signal(void);
Suite *suite_onnx_signal(void) {
  Suite *s = suite_create("onnx_signal");
  TCase *t = tcase_create("onnx_signal");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_loop_test(t, transforms, 0, (int)(sizeof cases / sizeof *cases));
  tcase_add_loop_test(t, there_and_back, 0, 2);
  tcase_add_test(t, frames);
  tcase_add_test(t, mel_bands);
  tcase_add_test(t, refused);
  suite_add_tcase(s, t);
  return s;
}
