# status.sh N COMMAND...: runs the command; succeeds where its exit status is N.
expected=$1
shift
"$@"
found=$?
[ "$found" = "$expected" ] && exit 0
echo "exit status $found, expected $expected" >&2
exit 1
