#!/bin/sh
# docs/operators.md is what the tables say, and every row says its element types. Usage: docs.sh ROOT WEFT
page=$1/docs/operators.md
made=$(mktemp) || exit 2
trap 'rm -f "$made"' EXIT
if ! "$2" ops --markdown >"$made"; then
  echo "$2 ops --markdown failed"
  exit 1
fi
if ! cmp -s "$page" "$made"; then
  diff "$page" "$made" | head -n 20
  echo "docs/operators.md is not what ir/ops.def and frontend/onnx_ops.def say; renew it:"
  echo "  build/weft ops --markdown > docs/operators.md"
  exit 1
fi
if grep -F '| ? |' "$page"; then
  echo "these rows of ir/ops.def do not say which element types they take: OP(..., doc, \"fi\")"
  exit 1
fi
# An operator that a NOTE names has a row.
names=$(sed -n 's/^NOTE("\([^"]*\)".*/\1/p' "$1/frontend/onnx_ops.def")
for name in $names; do
  grep -q "^| \`$name\` |" "$page" && continue
  echo "NOTE of frontend/onnx_ops.def: $name has no row"
  exit 1
done
rows=$(grep -c '^| `' "$page")
echo "docs/operators.md: $rows operators"
[ "$rows" -ge 200 ]
