#!/bin/sh
# Every model here must be refused: run.sh WEFT
#
# The expectations are in the first lines of a .yaml, or of NAME.expect beside a file NAME that cannot hold comments:
#   # STATUS: 3              exit status of `weft compile`
#   # EXPECT: text           part of the first line on stderr, which starts with the file's name
# No output file may be left. The last line is `N passed, N failed`.
weft=${1:?usage: run.sh WEFT}
here=$(cd "$(dirname "$0")" && pwd) || exit 2
case $weft in */*) weft=$(cd "$(dirname "$weft")" && pwd)/$(basename "$weft") ;; esac
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

fail() {
  failed=$((failed + 1))
  echo "FAIL $1: $2"
  sed 's/^/    /' "$scratch/stderr" | head -n 3
}

# check FILE EXPECTATIONS
check() {
  status=$(sed -n 's/^# STATUS: //p' "$2" | head -n 1)
  expect=$(sed -n 's/^# EXPECT: //p' "$2" | head -n 1)
  mkdir "$scratch/out"
  timeout 20 "$weft" compile "$1" -o "$scratch/out/model.so" >"$scratch/stdout" 2>"$scratch/stderr"
  got=$?
  first=$(head -n 1 "$scratch/stderr")
  left=$(ls -A "$scratch/out")
  rm -rf "$scratch/out"
  if [ -z "$status" ] || [ -z "$expect" ]; then
    fail "$1" "no expectation in $2"
  elif [ "$got" != "$status" ]; then
    fail "$1" "exit status $got instead of $status"
  elif [ -n "$left" ]; then
    fail "$1" "left $left"
  else
    case $first in
    "$1:"*"$expect"*) passed=$((passed + 1)) ;;
    *) fail "$1" "expected first line: $1: ... $expect" ;;
    esac
  fi
}

cd "$here" || exit 2
for file in *.yaml; do
  [ -e "$file.expect" ] || check "$file" "$file"
done
for expectation in *.expect; do
  check "${expectation%.expect}" "$expectation"
done

# Too large to keep: made here. A hundred thousand brackets; a list of three million numbers; a map of equal keys.
bomb() {
  printf '# STATUS: 3\n# EXPECT: %s\n' "$2" >"$scratch/expect"
  check "$scratch/$1" "$scratch/expect"
}
head -c 100000 /dev/zero | tr '\0' '[' >"$scratch/brackets.yaml"
bomb brackets.yaml 'nested deeper than 64 levels'
{ printf '['; yes '1,' | head -n 3000000 | tr -d '\n'; printf ']'; } >"$scratch/long.yaml"
bomb long.yaml 'more than 2097152 nodes'
{ echo 'a: 1'; yes 'b: 1' | head -n 200000; } >"$scratch/keys.yaml"
bomb keys.yaml "duplicate key 'b'"
head -c 1000 /dev/zero >"$scratch/zeros.yaml"
bomb zeros.yaml 'control characters are not allowed'

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
