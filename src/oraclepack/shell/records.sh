# shellcheck shell=bash
# Prints what this shell holds as pairs, each part closed by a NUL: a key (kind and name), and the
# bash text that brings it about. Sourced in a subshell of the prelude's shell, so it may change
# what it likes; `builtin` everywhere, because the prelude may have functions of the same names.

builtin set +euxv
builtin trap - DEBUG ERR RETURN EXIT

# One text, split by lines. Reading line by line from a pipe would cost a system call per byte.
# A value with line breaks may imitate a declaration in old versions of bash; that only yields a
# name that does not exist, and `declare -p` of it prints nothing.
__oraclepack_all=$(builtin declare -p; builtin declare -F)
builtin printf 'vIFS\0'
builtin declare -p IFS 2>/dev/null
builtin printf '\0'
builtin set -f
IFS=$'\n'
for __oraclepack_line in $__oraclepack_all; do
  __oraclepack_name=${__oraclepack_line#declare -* } # "declare -ax name=value", or without a value
  __oraclepack_name=${__oraclepack_name%%=*}
  case $__oraclepack_name in
    IFS | __oraclepack_*) continue ;;
  esac
  case $__oraclepack_line in
    'declare -f'*)
      builtin printf 'f%s\0' "$__oraclepack_name"
      builtin declare -f -- "$__oraclepack_name"
      __oraclepack_line=${__oraclepack_line% "$__oraclepack_name"}
      if [[ $__oraclepack_line != 'declare -f' ]]; then
        builtin printf '%s -- %q\n' "$__oraclepack_line" "$__oraclepack_name"
      fi
      builtin printf '\0'
      ;;
    'declare -'*)
      builtin printf 'v%s\0' "$__oraclepack_name"
      builtin declare -p -- "$__oraclepack_name" 2>/dev/null
      builtin printf '\0'
      ;;
  esac
done

for __oraclepack_name in "${!BASH_ALIASES[@]}"; do
  builtin printf 'a%s\0' "$__oraclepack_name"
  builtin printf 'alias -- %q=%q\n\0' "$__oraclepack_name" "${BASH_ALIASES[$__oraclepack_name]}"
done

builtin printf 'u\0'
builtin umask -p
builtin printf '\0'
