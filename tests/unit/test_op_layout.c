/* Every row of the table has a layout function whose answer is consistent: asked of a sample of each row, in each form
 * of layouts, with its operands as constants or not, and with wishes where the row gives its data letters. */
#include <check.h>

#include "ir/layout_plan.h"
#include "ir/text.h"
#include "op_samples.h"

/* Alone in a function. In the first element type of these that the row takes. */
static Op *sample_op(Graph *g, const OpDef *def, Form form, int variant) {
  static const DType types[] = {DT_F32, DT_I32, DT_BOOL};
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    *g = graph_new();
    Value *v = sample_build(&(Sample){g, def, types[k], form, variant});
    if (v)
      return v->def;
    ctx_destroy(g->ctx);
  }
  ck_abort_msg("%s takes none of f32, i32, bool", def->name);
}

/* Asks with nothing answered yet. */
static void ask(Ctx *ctx, const Op *op, LayoutPlan *plan) {
  plan->result = NULL;
  plan->why = NULL;
  op->def->layout(ctx, op, plan);
}

static const char *text_of(Ctx *ctx, const Layout *layout) {
  Str tag = str_new(ctx->arena);
  layout_print(&tag, layout);
  return tag.data;
}

/* Layouts of the right ranks that the types can have, for all operands that are given; padding states stand on
 * constants and copies only; and a reason. Then the graph with the result so is well-formed. */
static void expect_consistent(Graph *g, Op *op, const LayoutPlan *plan) {
  Ctx *ctx = g->ctx;
  const char *name = op->def->name;
  for (int k = 0; k < op->n_operands; k++) {
    const Value *v = op->operands[k];
    ck_assert_msg((v == NULL) == (plan->operand[k] == NULL), "%s: operand %d", name, k);
    if (!v)
      continue;
    ck_assert_msg(plan->operand[k]->rank == v->type->rank, "%s: operand %d of rank %d is to be read as %s", name, k,
                  v->type->rank, text_of(ctx, plan->operand[k]));
    ck_assert_ptr_nonnull(type_with_layout(ctx, v->type, plan->operand[k]));
  }
  const Type *result = op->result->type;
  ck_assert_msg(plan->result != NULL, "%s: no layout of the result", name);
  ck_assert_msg(plan->result->rank == result->rank, "%s: result of rank %d is to be written as %s", name, result->rank,
                text_of(ctx, plan->result));
  ck_assert_msg(plan->result->pad == PAD_ANY || (op->def->traits & (OP_LEAF | OP_COPY)),
                "%s: promises padding lanes: %s", name, text_of(ctx, plan->result));
  ck_assert_msg(plan->why && *plan->why, "%s: no reason", name);
  op->result->type = type_with_layout(ctx, result, plan->result);
  ck_assert_ptr_nonnull(op->result->type);
  ck_assert_msg(module_verify(g->m), "%s: %s", name, diag_text(ctx->diags, false));
  op->result->type = result;
}

/* As it stands; with padding lanes of zero promised of its first operand; and all operands constant. */
static void expect_answers(Graph *g, Op *op) {
  LayoutPlan plan = layout_plan_of(g->ctx, op);
  ask(g->ctx, op, &plan);
  expect_consistent(g, op, &plan);
  plan = layout_plan_of(g->ctx, op);
  if (op->n_operands)
    plan.operand[0] = layout_with_pad(g->ctx, plan.operand[0], PAD_ZERO);
  ask(g->ctx, op, &plan);
  expect_consistent(g, op, &plan);
  plan = layout_plan_of(g->ctx, op);
  for (int k = 0; k < op->n_operands; k++)
    plan.constant[k] = op->operands[k] != NULL;
  ask(g->ctx, op, &plan);
  expect_consistent(g, op, &plan);
}

/* Wishes are granted as they are. */
static void expect_wishes(Graph *g, Op *op) {
  LayoutPlan plan = layout_plan_of(g->ctx, op);
  plan.wish_data = form_layout(g->ctx, op->operands[0]->type->rank, FORM_BLOCKED);
  plan.wish_out = form_layout(g->ctx, op->result->type->rank, FORM_PERMUTED);
  bool kernel = op->def->n_operands > 1 && op->def->operands[1].roles[0];
  if (kernel)
    plan.wish_kernel = form_layout(g->ctx, op->operands[1]->type->rank, FORM_PERMUTED);
  ask(g->ctx, op, &plan);
  expect_consistent(g, op, &plan);
  ck_assert_msg(plan.operand[0] == plan.wish_data && plan.result == plan.wish_out, "%s", op->def->name);
  ck_assert_msg(!kernel || plan.operand[1] == plan.wish_kernel, "%s", op->def->name);
  ck_assert_str_eq(plan.why, "as wished");
  plan = layout_plan_of(g->ctx, op);
  plan.wish_data = form_layout(g->ctx, op->operands[0]->type->rank, FORM_BLOCKED);
  ask(g->ctx, op, &plan);
  ck_assert_msg(plan.result == plan.wish_data, "%s writes %s", op->def->name, text_of(g->ctx, plan.result));
}

START_TEST(answers) {
  const OpDef *def = &op_table[_i];
  const Recipe *recipe = recipe_of(def);
  ck_assert_msg(def->layout != NULL, "%s has no layout function", def->name);
  ck_assert_msg(recipe != NULL, "%s has no recipe in op_samples.h", def->name);
  for (int form = 0; form < FORM_COUNT; form++)
    for (int variant = 0; variant < recipe->variants; variant++) {
      Graph g;
      Op *op = sample_op(&g, def, (Form)form, variant);
      expect_answers(&g, op);
      if (def->n_operands > 0 && def->operands[0].roles[0])
        expect_wishes(&g, op);
      ctx_destroy(g.ctx);
    }
}
END_TEST

Suite *suite_op_layout(void);
Suite *suite_op_layout(void) {
  Suite *s = suite_create("op_layout");
  TCase *t = tcase_create("op_layout");
  tcase_add_loop_test(t, answers, 0, OP_COUNT);
  suite_add_tcase(s, t);
  return s;
}
