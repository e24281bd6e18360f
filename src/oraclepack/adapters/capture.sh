# shellcheck shell=bash disable=SC2154
# The end of the prelude's shell: writes to $__oraclepack_snapshot the bash text that repeats in a
# fresh shell what the prelude changed, and nothing of what it found (the environment may hold
# secrets). Set before: __oraclepack_{records,snapshot,before,options,cwd,log,debug}.

__oraclepack_now="$SHELLOPTS:/:$BASHOPTS"
builtin set +euxv
__oraclepack_exit=$(builtin trap -p EXIT)
__oraclepack_last=$(builtin trap -p ERR RETURN)
__oraclepack_signals=$(builtin trap -p HUP INT QUIT ABRT ALRM TERM USR1 USR2 PIPE CHLD CONT TSTP \
  TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO SYS)
# The EXIT trap tidies up after the whole script, so it must not run when the prelude ends: the
# steps still need what it would remove. It is kept beside the snapshot.
builtin trap - DEBUG ERR RETURN EXIT
builtin mapfile -d '' -t __oraclepack_after < <(builtin . "$__oraclepack_records")

__oraclepack_warnings=()
if [[ $PWD != "$__oraclepack_cwd" ]]; then
  __oraclepack_warnings+=('the prelude changes the directory; every step starts in the project root all the same')
fi
if [[ ! /dev/fd/1 -ef $__oraclepack_log ]]; then
  __oraclepack_warnings+=('the prelude redirects its output; the output of the steps goes to their logs all the same')
fi

builtin unset -v __oraclepack_was __oraclepack_is
builtin declare -A __oraclepack_was __oraclepack_is
for ((__oraclepack_i = 0; __oraclepack_i < ${#__oraclepack_before[@]}; __oraclepack_i += 2)); do
  __oraclepack_was[${__oraclepack_before[__oraclepack_i]}]=+${__oraclepack_before[__oraclepack_i + 1]}
done
__oraclepack_keys=()
for ((__oraclepack_i = 0; __oraclepack_i < ${#__oraclepack_after[@]}; __oraclepack_i += 2)); do
  __oraclepack_key=${__oraclepack_after[__oraclepack_i]}
  __oraclepack_is[$__oraclepack_key]=1
  if [[ ${__oraclepack_was[$__oraclepack_key]} != "+${__oraclepack_after[__oraclepack_i + 1]}" ]]; then
    __oraclepack_keys+=("$__oraclepack_i")
  fi
done

__oraclepack_forget() { # removes what stands in the way of a definition, or what the prelude removed
  case $1 in
    v*) builtin printf 'unset -n %s; unset -v %s\n' "${1:1}" "${1:1}" ;;
    f*) builtin printf 'unset -f -- %q\n' "${1:1}" ;;
    a*) builtin printf 'unalias -- %q 2>/dev/null || :\n' "${1:1}" ;;
  esac
}

__oraclepack_define() { # the changed ones of one kind, in the order in which bash lists them
  builtin local i
  for i in "${__oraclepack_keys[@]}"; do
    if [[ ${__oraclepack_after[i]} == "$1"* ]]; then
      builtin printf '%s' "${__oraclepack_after[i + 1]}"
    fi
  done
}

__oraclepack_switch() { # prints "COMMAND NAME" for every option of list $2 that is not in list $1
  builtin local rest="$2:" name
  while [[ $rest ]]; do
    name=${rest%%:*} rest=${rest#*:}
    case $name in
      '' | login_shell | restricted_shell | restricted | interactive) ;;
      *) [[ :$1: == *":$name:"* ]] || builtin printf '%s %s\n' "$3" "$name" ;;
    esac
  done
}

{
  if ((${#__oraclepack_warnings[@]})); then
    builtin printf '# warning: %s\n' "${__oraclepack_warnings[@]}"
  fi
  for __oraclepack_i in "${__oraclepack_keys[@]}"; do
    if [[ ${__oraclepack_after[__oraclepack_i]} != a* ]]; then
      __oraclepack_forget "${__oraclepack_after[__oraclepack_i]}"
    fi
  done
  for __oraclepack_key in "${!__oraclepack_was[@]}"; do
    if [[ ! ${__oraclepack_is[$__oraclepack_key]} ]]; then
      __oraclepack_forget "$__oraclepack_key"
    fi
  done
  __oraclepack_switch "${__oraclepack_now##*/}" "${__oraclepack_options##*/}" 'shopt -u'
  __oraclepack_switch "${__oraclepack_options##*/}" "${__oraclepack_now##*/}" 'shopt -s'
  __oraclepack_define v
  __oraclepack_define f
  __oraclepack_define a
  __oraclepack_define u
  if (($#)); then
    builtin printf 'set --'
    builtin printf ' %q' "$@"
    builtin printf '\n'
  fi
  builtin printf '# oraclepack: last\n%s\n' "$__oraclepack_signals"
  # In one group, so that neither xtrace nor verbose nor a DEBUG trap shows the rest of it.
  builtin printf '{\n%s\n:\n' "$__oraclepack_last"
  __oraclepack_switch "${__oraclepack_now%%/*}" "${__oraclepack_options%%/*}" 'set +o'
  __oraclepack_switch "${__oraclepack_options%%/*}" "${__oraclepack_now%%/*}" 'set -o'
  builtin printf '%s\n} 2>/dev/null\n# complete\n' "$__oraclepack_debug"
} >|"$__oraclepack_snapshot"

if [[ $__oraclepack_exit ]]; then
  builtin umask 077
  builtin printf '%s\n' "$__oraclepack_exit" >|"$__oraclepack_snapshot.exit"
fi
builtin exit 0
