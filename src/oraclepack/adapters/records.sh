# shellcheck shell=bash
# Prints what this shell holds as pairs, each part closed by a NUL: a key (kind and name), and the
# bash text that brings it about. Sourced in a subshell of the prelude's shell, so it may change
# what it likes; `builtin` everywhere, because the prelude may have functions of the same names.

builtin set +euxv
builtin trap - DEBUG ERR RETURN EXIT

# Bash changes these by itself, or they belong to one process, or they are our own.
__oraclepack_volatile=' _ BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS
 BASH_COMMAND BASH_EXECUTION_STRING BASH_LINENO BASH_MONOSECONDS BASH_REMATCH BASH_SOURCE
 BASH_SUBSHELL BASH_TRAPSIG BASH_VERSINFO BASH_VERSION BASH_XTRACEFD COLUMNS COMP_WORDBREAKS COPROC
 COPROC_PID DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD LINENO LINES OLDPWD
 OPTARG OPTERR OPTIND ORACLEPACK_ATTEMPT PIPESTATUS PPID PWD RANDOM SECONDS SHELLOPTS SHLVL SRANDOM
 UID '
__oraclepack_volatile=${__oraclepack_volatile//$'\n'/ }

# A value with line breaks may imitate a declaration in old versions of bash. That only yields a
# name that does not exist, and `declare -p` of it prints nothing.
while IFS= builtin read -r __oraclepack_line; do
  if [[ $__oraclepack_line =~ ^declare\ -[^\ ]+\ ([A-Za-z_][A-Za-z0-9_]*)(=|$) ]]; then
    __oraclepack_name=${BASH_REMATCH[1]}
    if [[ $__oraclepack_volatile != *" $__oraclepack_name "* && $__oraclepack_name != __oraclepack_* ]]; then
      builtin printf 'v%s\0' "$__oraclepack_name"
      builtin declare -p -- "$__oraclepack_name" 2>/dev/null
      builtin printf '\0'
    fi
  fi
done < <(builtin declare -p)

# Only now: switching posix mode off also removes POSIXLY_CORRECT, and in that mode aliases print
# in another form.
builtin set +o posix

while IFS=' ' builtin read -r _ __oraclepack_flags __oraclepack_name; do
  builtin printf 'f%s\0' "$__oraclepack_name"
  builtin declare -f -- "$__oraclepack_name"
  if [[ $__oraclepack_flags != -f ]]; then
    builtin printf 'declare %s -- %q\n' "$__oraclepack_flags" "$__oraclepack_name"
  fi
  builtin printf '\0'
done < <(builtin declare -F)

for __oraclepack_name in "${!BASH_ALIASES[@]}"; do
  builtin printf 'a%s\0' "$__oraclepack_name"
  builtin printf 'alias -- %q=%q\n\0' "$__oraclepack_name" "${BASH_ALIASES[$__oraclepack_name]}"
done

builtin printf 'u\0'
builtin umask -p
builtin printf '\0'
