#!/bin/sh
# docs/onnx.md lists exactly the operators of frontend/onnx_ops.def. Usage: docs.sh ROOT
cd "$1" || exit 2
rows=$(sed -n 's/^\(OP\|VIA\|MAP\)("\([A-Za-z0-9]*\)".*/\2/p' frontend/onnx_ops.def | sort -u)
listed=$(sed -n '/^| group | operators |/,/^$/p' docs/onnx.md | grep -o '`[A-Za-z0-9]*`' | tr -d '`' | sort)
passed=0
failed=0
for name in $rows; do
  if printf '%s\n' "$listed" | grep -qx "$name"; then
    passed=$((passed + 1))
  else
    echo "docs/onnx.md does not list $name"
    failed=$((failed + 1))
  fi
done
for name in $listed; do
  if ! printf '%s\n' "$rows" | grep -qx "$name"; then
    echo "docs/onnx.md lists $name, which frontend/onnx_ops.def has not"
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
