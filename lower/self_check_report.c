/* The self-check's table, and what it says of a fault, as text. */
#include <stdio.h>

#include "lower/self_check_impl.h"

static void print_number(Str *out, double x) {
  str_printf(out, x > 0 ? "  %10.2g" : "  %10.0f", x);
}

static void print_stage(Str *out, const CheckStage *s) {
  char count[64], note[64] = "";
  snprintf(count, sizeof count, "%d of %d %s", s->fresh, s->all, s->of);
  if (s->sampled)
    snprintf(note, sizeof note, "  %d by samples", s->sampled);
  str_printf(out, "%-18s  %-20s", s->name, count);
  print_number(out, s->max_abs);
  print_number(out, s->max_share);
  str_printf(out, "  %8.2f%s%s\n", s->seconds, note, s->failed ? "  FAILED" : "");
}

static void print_line(Str *out, const char *label, const char *text) {
  for (const char *end; text && *text; text = *end ? end + 1 : end, label = "") {
    end = strchr(text, '\n');
    end = end ? end : text + strlen(text);
    str_printf(out, "  %-8s %.*s\n", label, (int)(end - text), text);
  }
}

static void print_diff(Str *out, const CheckFault *f) {
  if (f->diff.max_share == 0)
    return;
  str_put(out, "  at       [");
  for (int k = 0; k < f->rank; k++)
    str_printf(out, "%s%lld", k ? ", " : "", (long long)f->index[k]);
  str_printf(out, "]: %.9g, expected %.9g; largest difference %.3g\n", f->diff.got, f->diff.expected, f->diff.max_abs);
}

static void print_place(Str *out, Loc loc) {
  if (!loc.file && !loc.node)
    return;
  str_put(out, "  from     ");
  if (loc.file)
    str_printf(out, loc.line ? "%s:%d:%d%s" : "%s%.0d%.0d%s", loc.file, loc.line, loc.col, loc.node ? ", " : "");
  str_printf(out, loc.node ? "node '%s'\n" : "%s\n", loc.node ? loc.node : "");
}

static void print_fault(Str *out, const CheckFault *f) {
  str_printf(out, "FAILED at '%s': %s\n", f->stage, f->what);
  if (f->op)
    str_printf(out, "  first wrong op: %%%s\n", f->op);
  print_place(out, f->loc);
  print_diff(out, f);
  print_line(out, "before", f->before);
  print_line(out, f->before ? "after" : "op", f->after);
  print_line(out, "made", f->made);
  print_line(out, "layouts", f->layouts);
}

void self_check_print(Str *out, const SelfCheck *c) {
  str_printf(out, "%-18s  %-20s  %10s  %10s  %8s\n", "stage", "evaluated", "difference", "of allowed", "seconds");
  for (size_t k = 0; k < c->stages.len; k++)
    print_stage(out, &c->stages.data[k]);
  if (c->failed)
    print_fault(out, &c->fault);
}
