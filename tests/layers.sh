#!/bin/sh
# Each layer includes only what stands below it: ir <- passes <- lower <- codegen <- frontend; runtime includes nothing but its
# own; codegen and frontend may read runtime/model.h. Usage: layers.sh ROOT
cd "$1" || exit 2
passed=0
failed=0
check() { # LAYER FORBIDDEN-PATTERN
  bad=$(grep -rnE "#include \"($2)" --include='*.[ch]' "$1")
  if [ -n "$bad" ]; then
    printf '%s\n' "$bad"
    failed=$((failed + 1))
  else
    passed=$((passed + 1))
  fi
}
check ir 'passes/|lower/|codegen/|frontend/|runtime/'
check passes 'lower/|codegen/|frontend/|runtime/'
check lower 'codegen/|frontend/|runtime/'
check codegen 'frontend/|runtime/[^m]'
check frontend 'runtime/[^m]'
check runtime 'ir/|passes/|lower/|codegen/|frontend/'
# No header is reached by climbing, and no file outside the arena and the runtime allocates.
bad=$(grep -rnE '#include "\.\.' --include='*.[ch]' ir passes lower codegen frontend runtime
  grep -rnE '[^_a-z](malloc|calloc|realloc)\(' --include='*.[ch]' ir passes lower codegen frontend | grep -v '^ir/arena.c:')
if [ -n "$bad" ]; then
  printf '%s\n' "$bad"
  failed=$((failed + 1))
else
  passed=$((passed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
