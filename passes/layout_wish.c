/* Layout wishes: OP=DATA[:KERNEL[:OUT]]. OP is an op's name or a glob; the pattern with the most plain characters wins,
 * and two of equal weight that disagree are an error. Letters are written for two spatial axes and hold for one and
 * three: NHWC is NWC and NDHWC. A wish with D or without H holds for that rank only. `*` means every op whose row gives
 * its data operand roles. */
#include <fnmatch.h>

#include "passes/layout_assign.h"

static bool has_roles(const OpDef *def) {
  return def->n_operands > 0 && def->operands[0].roles[0];
}

static bool is_letters(const char *s) {
  if (!*s)
    return false;
  for (; *s; s++)
    if (!strchr("NCDHWOIncdhwoi0123456789", *s))
      return false;
  return true;
}

/* A layout's letters for this number of spatial axes, or NULL where the wish is for another one. */
static const char *letters_for(Ctx *ctx, const char *letters, int spatial) {
  bool d = strchr(letters, 'D'), h = strchr(letters, 'H');
  int written = d ? 3 : h ? 2 : 1;
  if (written == spatial)
    return letters;
  if (written != 2)
    return NULL;
  Str s = str_new(ctx->arena);
  for (const char *at = letters; *at;) {
    size_t digits = strspn(at, "0123456789");
    char axis = at[digits];
    if (spatial == 1 && (axis == 'H' || axis == 'h')) {
      at += digits + 1;
      continue;
    }
    if (spatial == 3 && axis == 'H')
      str_putc(&s, 'D');
    str_putn(&s, at, digits + (axis != '\0'));
    at += digits + (axis != '\0');
  }
  return s.data;
}

/* The part of text before ':', NULL where it is empty; *text moves behind the part. */
static const char *take_part(Ctx *ctx, const char **text) {
  size_t n = strcspn(*text, ":");
  const char *part = n ? intern_strn(ctx, *text, n) : NULL;
  *text += n;
  return part;
}

static bool wish_error(Ctx *ctx, const PassOption *o, const char *what) {
  return diag_error(
      ctx->diags, WEFT_USAGE, LOC_NONE,
      "layout wish '%s=%s': %s; write OP=DATA[:KERNEL[:OUT]], e.g. conv2d_transpose=NHWC:HWIO or '*=NCHW8c'", o->key,
      o->value, what);
}

static bool check_pattern(Ctx *ctx, const PassOption *o) {
  bool any = false, roles = false;
  for (int k = 0; k < OP_COUNT; k++)
    if (fnmatch(o->key, op_table[k].name, 0) == 0) {
      any = true;
      roles = roles || has_roles(&op_table[k]);
    }
  if (roles)
    return true;
  if (any)
    return wish_error(ctx, o, "this op has no data layout of its own, it follows its operands");
  const char *near = op_nearest(ctx, o->key);
  return wish_error(ctx, o,
                    near ? arena_printf(ctx->arena, "no such op, did you mean '%s'?", near)
                         : "no op has this name (weft ops)");
}

/* The three layouts of a wish. */
typedef enum { PART_DATA, PART_KERNEL, PART_OUT } Part;

/* The row's letters for a part, "NC*"; NULL where it has none: pools have no kernel. */
static const char *part_roles(const OpDef *def, Part part) {
  const char *roles = part == PART_OUT ? def->result_roles : def->operands[part == PART_KERNEL].roles;
  return roles && roles[0] ? roles : NULL;
}

/* An op that the pattern names and that has the part: the first that is as good as any. With letters, they hold for
 * its spatial axes: as they are written where there is such an op, else translated. NULL: there is none. */
static const OpDef *sample_op(Ctx *ctx, const char *pattern, Part part, const char *letters) {
  const OpDef *found = NULL;
  for (int k = 0; k < OP_COUNT; k++) {
    const OpDef *def = &op_table[k];
    if (!has_roles(def) || !part_roles(def, part) || fnmatch(pattern, def->name, 0) != 0)
      continue;
    const char *fitted = letters ? letters_for(ctx, letters, def->spatial) : NULL;
    if (fitted ? fitted == letters : !letters && def->spatial == 2)
      return def;
    if (!found && (fitted || !letters))
      found = def;
  }
  return found;
}

/* What is wrong with one of the layouts, and what def takes there. */
static bool letters_error(Ctx *ctx, const PassOption *o, const OpDef *def, Part part, const char *letters,
                          const char *what) {
  static const char *const names[] = {"data", "kernel", "out"};
  const char *roles = op_roles(ctx, def, part_roles(def, part));
  return diag_error(ctx->diags, WEFT_USAGE, LOC_NONE,
                    "layout wish '%s=%s': %s '%s' %s; expected the letters %s in any order, with blocks as in %s8%c",
                    o->key, o->value, names[part], letters, what, roles, roles, roles[1] - 'A' + 'a');
}

static bool is_layout_of(Ctx *ctx, const OpDef *def, Part part, const char *letters, const char **why) {
  const char *row_roles = part_roles(def, part), *fitted = letters_for(ctx, letters, def->spatial);
  return row_roles && fitted && layout_from_letters(ctx, op_roles(ctx, def, row_roles), fitted, why);
}

static bool check_letters(Ctx *ctx, const PassOption *o, Part part, const char *letters) {
  if (!letters)
    return true;
  const OpDef *any = sample_op(ctx, o->key, part, NULL), *def = sample_op(ctx, o->key, part, letters);
  if (!any)
    return wish_error(ctx, o, "this op has no kernel");
  if (!is_letters(letters))
    return letters_error(ctx, o, any, part, letters, "is not a layout");
  if (!def)
    return letters_error(ctx, o, any, part, letters, "has not the spatial axes of any such op");
  const char *why = NULL, *ignored;
  if (is_layout_of(ctx, def, part, letters, &why))
    return true;
  if (part != PART_KERNEL && is_layout_of(ctx, def, PART_KERNEL, letters, &ignored))
    why = arena_printf(ctx->arena, "the layout of a kernel, which stands second, as in %s=:%s", o->key, letters);
  return letters_error(ctx, o, def, part, letters, arena_printf(ctx->arena, "is wrong: %s", why));
}

bool layout_wishes_parse(Ctx *ctx, const PassOption *options, int n_options, LayoutWish **wishes) {
  *wishes = ARENA_ARRAY(ctx->arena, LayoutWish, n_options);
  for (int k = 0; k < n_options; k++) {
    const PassOption *o = &options[k];
    LayoutWish *w = &(*wishes)[k];
    const char *rest = o->value;
    w->pattern = o->key;
    w->data = take_part(ctx, &rest);
    rest += *rest == ':';
    w->kernel = take_part(ctx, &rest);
    rest += *rest == ':';
    w->out = take_part(ctx, &rest);
    if (*rest)
      return wish_error(ctx, o, "more than three layouts");
    if (!w->data && !w->kernel && !w->out)
      return wish_error(ctx, o, "no layout is given");
    if (!check_pattern(ctx, o) || !check_letters(ctx, o, PART_DATA, w->data) ||
        !check_letters(ctx, o, PART_KERNEL, w->kernel) || !check_letters(ctx, o, PART_OUT, w->out))
      return false;
  }
  return true;
}

/* The layout that the letters mean for this op. They are sound for one op of the wish's; what fails here is one whose
 * rank makes them too many. */
static bool wish_layout(Ctx *ctx, const Op *op, Part part, const char *letters, const Layout **out) {
  const char *row_roles = part_roles(op->def, part);
  if (!letters || !row_roles)
    return true;
  const char *roles = op_roles(ctx, op->def, row_roles), *why = NULL;
  const char *fitted = letters_for(ctx, letters, op->def->spatial);
  if (!fitted)
    return true;
  *out = layout_from_letters(ctx, roles, fitted, &why);
  if (*out)
    return true;
  return diag_error(ctx->diags, WEFT_USAGE, op->loc, "layout wish '%s' does not fit %s, whose axes here are %s: %s",
                    letters, op->def->name, roles, why);
}

/* Plain characters of a pattern; an exact name outweighs every glob. */
static int weight(const char *pattern, const char *name) {
  if (strcmp(pattern, name) == 0)
    return 1000;
  int n = 0;
  for (; *pattern; pattern++)
    n += !strchr("*?[]", *pattern);
  return n;
}

/* True where both ask for the same layout of an op of this rank. */
static bool same_letters(Ctx *ctx, const char *a, const char *b, int spatial) {
  a = a ? letters_for(ctx, a, spatial) : NULL;
  b = b ? letters_for(ctx, b, spatial) : NULL;
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_wish(Ctx *ctx, const LayoutWish *a, const LayoutWish *b, int spatial) {
  return same_letters(ctx, a->data, b->data, spatial) && same_letters(ctx, a->kernel, b->kernel, spatial) &&
         same_letters(ctx, a->out, b->out, spatial);
}

static bool wish_holds(Ctx *ctx, const LayoutWish *w, const OpDef *def) {
  const char *parts[3] = {w->data, w->kernel, w->out};
  for (int k = 0; k < 3; k++)
    if (parts[k] && letters_for(ctx, parts[k], def->spatial))
      return true;
  return false;
}

bool layout_wish_for(Ctx *ctx, const LayoutWish *wishes, int n, const Op *op, LayoutPlan *plan) {
  const LayoutWish *best = NULL;
  for (int k = 0; has_roles(op->def) && k < n; k++) {
    const LayoutWish *w = &wishes[k];
    if (fnmatch(w->pattern, op->def->name, 0) != 0 || !wish_holds(ctx, w, op->def))
      continue;
    int difference = best ? weight(w->pattern, op->def->name) - weight(best->pattern, op->def->name) : 1;
    if (difference > 0)
      best = w;
    else if (difference == 0 && !same_wish(ctx, w, best, op->def->spatial))
      return diag_error(ctx->diags, WEFT_USAGE, op->loc,
                        "layout wishes '%s' and '%s' are equally specific for %s and disagree; name the op",
                        best->pattern, w->pattern, op->def->name);
  }
  if (!best)
    return true;
  return wish_layout(ctx, op, PART_DATA, best->data, &plan->wish_data) &&
         wish_layout(ctx, op, PART_KERNEL, best->kernel, &plan->wish_kernel) &&
         wish_layout(ctx, op, PART_OUT, best->out, &plan->wish_out);
}
