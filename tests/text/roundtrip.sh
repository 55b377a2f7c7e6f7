# roundtrip.sh WEFT-OPT WEFT: what is printed parses to the same module and prints the same text again. Every stage of the
# models under docs/examples in three layouts, and every text test that parses with its own stages. Prints "N passed, N
# failed".
opt=$1
weft=$2
tests=$(cd "$(dirname "$0")" && pwd)
models=$tests/../../docs/examples
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

fail() {
  echo "$1: $2" >&2
  failed=$((failed + 1))
}

# same FILE NAME: FILE, which weft printed, prints as itself.
same() {
  if ! "$opt" "$1" -o "$work/again" >"$work/log" 2>&1; then
    fail "$2" "does not parse: $(head -n 1 "$work/log")"
  elif ! cmp -s "$1" "$work/again"; then
    fail "$2" "prints as another text"
    diff "$1" "$work/again" | head -n 4 >&2
  else
    passed=$((passed + 1))
  fi
}

# Constants are printed as file(...), looked up beside the text: the stages lie beside a copy of the weights.
for model in digits_gan fsrcnn_x3; do
  for layout in keep '*=NHWC' '*=NCHW8c'; do
    stages=$work/$model
    rm -rf "$stages"
    mkdir "$stages"
    cp "$models/$model/weights.safetensors" "$stages"
    if ! "$weft" compile "$models/$model/model.yaml" --layout "$layout" --emit loops --dump-dir "$stages" -o "$work/loops" \
      >"$work/log" 2>&1; then
      fail "$model $layout" "does not compile: $(head -n 1 "$work/log")"
      continue
    fi
    found=0
    for stage in "$stages"/*.weft; do
      [ -f "$stage" ] || continue
      same "$stage" "$model $layout $(basename "$stage")"
      found=$((found + 1))
    done
    [ "$found" -ge 6 ] || fail "$model $layout" "only $found stages were written"
  done
done

# Text tests: as parsed, and after each of these pipelines. What has an error by design is none of ours.
cat >"$work/pipelines" <<'END'
infer-layout
convert-layout{*=NHWC:HWIO}
convert-layout{*=NCHW4c}
fold-constants,dce
fold-constants,canonicalize,cse,dce,fold-batch-norm
add-halos{always}
fuse
fuse,lower
convert-layout{*=NCHW4c},fuse,lower,plan
END
for test in "$tests"/*/*.weft; do
  name=${test#"$tests"/}
  "$opt" "$test" -o "$work/first.weft" >"$work/log" 2>&1 || continue
  same "$work/first.weft" "$name"
  while read -r passes; do
    "$opt" "$test" --passes "$passes" -o "$work/stage.weft" >"$work/log" 2>&1 </dev/null || continue
    same "$work/stage.weft" "$name after $passes"
  done <"$work/pipelines"
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -ge 200 ]
