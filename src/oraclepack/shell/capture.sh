# shellcheck shell=bash disable=SC2154
# The end of the prelude's shell: says what it holds now. Written to a descriptor of ours; what
# changed since the records of its beginning is worked out there. Set before: $__oraclepack_records.

__oraclepack_options=$SHELLOPTS
builtin set +euxv
builtin printf 's\0%s\0b\0%s\0d\0%s\0' "$__oraclepack_options" "$BASHOPTS" "$PWD"
for __oraclepack_name in ERR RETURN EXIT HUP INT QUIT ABRT ALRM TERM USR1 USR2 PIPE CHLD CONT TSTP \
  TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO SYS; do
  builtin printf 't%s\0' "$__oraclepack_name"
  builtin trap -p "$__oraclepack_name"
  builtin printf '\0'
done
# The EXIT trap tidies up after the whole script: it must not run when the prelude ends, because
# the steps still need what it would remove.
builtin trap - DEBUG ERR RETURN EXIT
if (($#)); then
  builtin printf 'p\0set --'
  builtin printf ' %q' "$@"
  builtin printf '\n\0'
fi
(builtin . "$__oraclepack_records")
builtin printf 'complete\0\0'
builtin exit 0
