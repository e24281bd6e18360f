"""What a prelude sets reaches every step exactly, and nothing else does."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oraclepack.shell.attempt import AttemptEnd
from oraclepack.shell.prelude_snapshot import exit_trap
from tests.bashes import Bench

SHOW = "declare -p x 2>&1"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("prelude", "step", "expected"),
    [
        pytest.param("x=1", SHOW, 'declare -- x="1"\n', id="a plain value"),
        pytest.param("x=", SHOW, 'declare -- x=""\n', id="an empty value"),
        pytest.param("x='a b  c'", 'echo "$x"', "a b  c\n", id="spaces"),
        pytest.param("x=$'a\\nb\\n'", 'printf "[%s]" "$x"', "[a\nb\n]", id="line breaks"),
        pytest.param('x="it\'s"', 'echo "$x"', "it's\n", id="a single quote"),
        pytest.param("x='say \"hi\"'", 'echo "$x"', 'say "hi"\n', id="double quotes"),
        pytest.param("x='$HOME `id` $(id)'", 'echo "$x"', "$HOME `id` $(id)\n", id="no expansion"),
        pytest.param("x='a\\b\\\\c'", 'echo "$x"', "a\\b\\\\c\n", id="backslashes"),
        pytest.param("x='!!'", 'echo "$x"', "!!\n", id="an exclamation mark"),
        pytest.param("x='grüße – 日本'", 'echo "$x"', "grüße – 日本\n", id="unicode"),
        pytest.param("x=$'\\t\\e\\001'", 'printf %q "$x"', "$'\\t\\E\\001'", id="control signs"),
        pytest.param("x=$'\\xff'", 'printf %q "$x"', "$'\\377'", id="bytes that are no text"),
        pytest.param(
            "x=$'a\\ndeclare -x y=\"2\"'", "echo ${y-none}", "none\n", id="a value like a record"
        ),
        pytest.param(
            "x='a IFS=b __oraclepack_'", 'echo "$x"', "a IFS=b __oraclepack_\n", id="ours"
        ),
        pytest.param("x='a=b -c=d'", 'echo "$x"', "a=b -c=d\n", id="equal signs"),
        pytest.param("export x=1", SHOW, 'declare -x x="1"\n', id="an export"),
        pytest.param("export x", SHOW, "declare -x x\n", id="an export without a value"),
        pytest.param("x=1", "env | grep -c ^x=", "0\nexit 1\n", id="not exported stays so"),
        pytest.param("declare -i x=5", "x+=3; echo $x", "8\n", id="an integer"),
        pytest.param("declare -l x=ABC", "x=DEF; echo $x", "def\n", id="lower case"),
        pytest.param("declare -u x=abc", "x=def; echo $x", "DEF\n", id="upper case"),
        pytest.param("readonly x=1", SHOW, 'declare -r x="1"\n', id="read-only"),
        pytest.param("declare -n x=y; y=7", "echo $x; x=8; echo $y", "7\n8\n", id="a nameref"),
        pytest.param(
            "x=(a 'b c' '')", SHOW, 'declare -a x=([0]="a" [1]="b c" [2]="")\n', id="list"
        ),
        pytest.param("x=([3]=a [7]=b)", 'echo "${!x[@]}"', "3 7\n", id="a list with gaps"),
        pytest.param("x=()", SHOW, "declare -a x=()\n", id="an empty list"),
        pytest.param("declare -a x", SHOW, "declare -a x\n", id="a list without a value"),
        pytest.param(
            "x=($'a\\nb' '*')", "printf '<%s>' \"${x[@]}\"", "<a\nb><*>", id="list of odd"
        ),
        pytest.param("declare -A x=([k]=v)", 'echo "${x[k]}"', "v\n", id="a map"),
        pytest.param(
            "declare -A x=(['a ]b']=1 ['@']=2 [\"q'\\\"\"]=3 ['$k']=4)",
            "for k in 'a ]b' '@' \"q'\\\"\" '$k'; do echo \"${x[$k]}\"; done",
            "1\n2\n3\n4\n",
            id="a map with odd keys",
        ),
        pytest.param("declare -A x", "x[a b]=1; echo ${!x[@]}", "a b\n", id="an undefined map"),
        pytest.param("declare -ai x=(1+1)", 'echo "${x[0]}"', "2\n", id="a list of integers"),
        pytest.param('f() { echo "f:$1"; }', "f 1", "f:1\n", id="a function"),
        pytest.param("my-f.x() { echo m; }", "my-f.x", "m\n", id="a function with an odd name"),
        pytest.param("f() { cat <<E\n$1 'q\nE\n}", "f z", "z 'q\n", id="a heredoc in a function"),
        pytest.param("f() { echo e; }; export -f f", "bash -c f", "e\n", id="an exported function"),
        pytest.param(
            "shopt -s extglob\nf() { [[ $1 == +(a|b) ]] && echo y; }", "f ab", "y\n", id="extglob"
        ),
        pytest.param("set -e", "false; echo no", "exit 1\n", id="errexit"),
        pytest.param("set -o pipefail", "false | true; echo $?", "1\n", id="pipefail"),
        pytest.param("set -f", "echo *", "*\n", id="noglob"),
        pytest.param("set +B", "echo {a,b}", "{a,b}\n", id="an option switched off"),
        pytest.param("set -C", "rm -f f; echo a >f; echo b >f; cat f", None, id="noclobber"),
        pytest.param("set -x", "echo a", "a\n+ echo a\n", id="xtrace shows the step alone"),
        pytest.param("set -v", "echo a", "a\necho a\n", id="verbose shows nothing of ours"),
        pytest.param("set -o posix", "set -o | grep -c 'posix.*on'", "1\n", id="posix mode"),
        pytest.param("set -T", "shopt -po functrace", "set -o functrace\n", id="functrace"),
        pytest.param("shopt -s nullglob", "echo no*such", "\n", id="a shopt"),
        pytest.param("shopt -u sourcepath", "shopt sourcepath", None, id="a shopt switched off"),
        pytest.param(
            "shopt -s expand_aliases\nalias hi='echo \"a b\"'", "hi c", "a b c\n", id="an alias"
        ),
        pytest.param("umask 027", "umask", "0027\n", id="the umask"),
        pytest.param("IFS=,", "x=a,b; set -- $x; echo $#", "2\n", id="IFS"),
        pytest.param("unset IFS", "echo ${IFS-unset}", "unset\n", id="IFS removed"),
        pytest.param("set -- 'a b' c", 'echo "$# $1"', "2 a b\n", id="positional parameters"),
        pytest.param("trap 'echo usr' USR1", "kill -USR1 $$", "usr\n", id="a signal trap"),
        pytest.param("trap 'echo err' ERR", "false; true", "err\n", id="an ERR trap"),
        pytest.param("trap 'echo r' RETURN", "f() { :; }; f", "", id="a RETURN trap is not ours"),
        pytest.param("trap 'echo d' DEBUG", "true", "d\n", id="a DEBUG trap sees the step alone"),
        pytest.param("set -T; trap 'echo d' DEBUG", "true", "d\n", id="a DEBUG trap that spreads"),
        pytest.param("unset LANG", "echo ${LANG-none}", "none\n", id="a variable removed"),
        pytest.param("export -n LANG", "env | grep -c ^LANG", "0\nexit 1\n", id="no more exported"),
        pytest.param("cd /", "pwd -P | grep -c ^/$", "0\nexit 1\n", id="the directory stays"),
        pytest.param("[[ -f none ]] && x=1", "echo ok", "ok\n", id="a last test that fails"),
        pytest.param("set -e\n[[ -f none ]] && x=1", "echo ok", "ok\n", id="the same with errexit"),
        pytest.param("set -eu; x=1", "echo $x", "1\n", id="errexit and nounset do no harm"),
        pytest.param("x=1 # end", "echo $x", "1\n", id="a comment without a line end"),
        pytest.param("x=1 \\", "echo $x", "1\n", id="a backslash at the end"),
        pytest.param(
            "declare() { :; }; printf() { :; }; x=1", "echo $x", "1\n", id="odd functions"
        ),
        pytest.param("exec >/dev/null; x=1", "echo $x", "1\n", id="a redirection stays behind"),
    ],
)
def test_state_reaches_a_step(bench: Bench, prelude: str, step: str, expected: str | None) -> None:
    plain = bench.out(f"{prelude}\n{step}") if expected is None else expected

    assert bench.after(prelude, step) == plain.replace("line 2", "line 1")


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\0", b"")), max_size=20))
def test_any_value_arrives_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, values: list[bytes]
) -> None:
    bench = Bench(tmp_path_factory.mktemp("any"))
    quoted = b" ".join(b"'" + value.replace(b"'", b"'\\''") + b"'" for value in values)
    outcome, snapshot = bench.prelude(b"x=(" + quoted + b")\ny=${x[0]-}\n")
    assert outcome.ok

    attempt = bench.attempt('printf "%s\\0" "$y" "${x[@]}"', restore=str(snapshot))
    bench.run(attempt)

    said = Path(attempt.stdout_log).read_bytes().split(b"\0")[:-1]
    assert said == [values[0] if values else b"", *values]


@pytest.mark.parametrize(
    ("prelude", "reason", "code"),
    [
        pytest.param("exit 3", AttemptEnd.EXITED, 3, id="it exits"),
        pytest.param("set -e; false; x=1", AttemptEnd.EXITED, 1, id="errexit ends it"),
        pytest.param("echo )", AttemptEnd.EXITED, 2, id="bash cannot read it"),
        pytest.param("exit 0", AttemptEnd.INCOMPLETE, 0, id="it leaves early"),
        pytest.param("exec true", AttemptEnd.INCOMPLETE, 0, id="it becomes another program"),
        pytest.param("cat <<E\nhi", AttemptEnd.INCOMPLETE, 0, id="its heredoc has no end"),
    ],
)
def test_a_prelude_that_does_not_reach_its_end_has_failed(
    bench: Bench, prelude: str, reason: AttemptEnd, code: int
) -> None:
    outcome, snapshot = bench.prelude(prelude)

    assert (outcome.ok, outcome.reason, outcome.exit_code) == (False, reason, code)
    assert not snapshot.exists()


def test_the_snapshot_holds_only_what_the_prelude_changed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, extra={"API_KEY": "hunter2"})
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.bash_profile").write_text("profile_secret=hunter3\n")

    _, snapshot = bench.prelude("x=1")

    text = snapshot.read_text()
    assert "hunter" not in text
    assert [line for line in text.splitlines() if "declare" in line] == ['declare -- x="1"']
    assert snapshot.stat().st_mode & 0o777 == 0o600


def test_bash_changes_some_variables_by_itself(bench: Bench) -> None:
    idle = "RANDOM=1; SECONDS=5; true | false; read -r y <<<a; unset y; getopts a z -a; unset z\n:"

    _, snapshot = bench.prelude(idle)

    assert "declare" not in snapshot.read_text()


def test_a_step_sees_nothing_of_ours(bench: Bench) -> None:
    look = "(compgen -v; compgen -A function) | grep __oraclepack; echo ${BASH_ENV-no}"

    assert bench.after("x=1", look) == "no\n"


def test_shells_below_a_step_do_not_get_what_is_not_exported(bench: Bench) -> None:
    (bench.root / "sub.sh").write_text("echo ${x-none}\n")

    assert bench.after("x=1", "bash -c 'echo ${x-none}'; bash sub.sh") == "none\nnone\n"


def test_shells_of_the_login_profile_do_not_restore(bench: Bench) -> None:
    bench.home.mkdir()
    (bench.home / ".bash_profile").write_text("bash -c 'echo profile ${x-none}'\n")

    assert bench.after("x=1", "echo step $x") == "profile none\nstep 1\n"


@pytest.mark.parametrize("spelling", ["{}/env.sh", "$HOME/env.sh"])
def test_the_users_bash_env_is_honoured(tmp_path: Path, spelling: str) -> None:
    bench = Bench(tmp_path, extra={"BASH_ENV": spelling.format(tmp_path / "home")})
    (tmp_path / "home").mkdir()
    (tmp_path / "home/env.sh").write_text("echo env\n")

    assert bench.after("x=1", "echo $x; bash -c 'echo below'") == "env\n1\nenv\nbelow\n"


def test_a_directory_stays_first_on_path_whatever_the_prelude_does(bench: Bench) -> None:
    said = bench.after(
        "PATH=/prelude:$PATH",
        "echo ${PATH%%:*}; PATH=$PATH bash -c 'echo ${PATH%%:*}'",
        first_on_path="/first dir",
    )

    assert said == "/first dir\n/first dir\n"


def test_the_exit_trap_waits_for_the_end_of_the_pack(bench: Bench) -> None:
    outcome, snapshot = bench.prelude("tmp=a; trap 'echo tidy $tmp' EXIT; echo > trace")
    assert outcome.ok

    assert bench.out("echo step", restore=str(snapshot)) == "step\n"
    script = exit_trap(snapshot)
    assert script is not None
    assert bench.out(script.read_bytes(), restore=str(snapshot)) == "tidy a\n"


def test_warnings_name_what_is_not_carried_over(bench: Bench) -> None:
    outcome, _ = bench.prelude("cd /; exec >/dev/null")

    assert [warning.split(";")[0] for warning in outcome.warnings] == [
        "the prelude changes the directory",
        "the prelude redirects its output",
    ]


def test_a_profile_sourced_once_reaches_steps_that_do_not_source_it(bench: Bench) -> None:
    bench.home.mkdir()
    profile = "echo profile >>$HOME/count\nexport P=1\np() { echo p$1; }\nPATH=/profile:$PATH\n"
    (bench.home / ".bash_profile").write_text(profile)

    said = bench.after("x=2", "p $P$x; echo ${PATH%%:*}; shopt login_shell | cut -f2", login=False)

    assert said == "p12\n/profile\noff\n"
    assert (bench.home / "count").read_text() == "profile\n"


def test_a_long_prelude_is_captured_too(bench: Bench) -> None:
    long = "#" + "x" * 200_000 + "\nx=1"

    assert bench.after(long, "echo $x") == "1\n"


@pytest.mark.parametrize("theirs", ["", "{}/gateway.sh"])
def test_a_profile_that_takes_bash_env_for_itself_does_not_keep_us_out(
    tmp_path: Path, theirs: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "modules.sh").write_text("m=modules\n")
    (home / "gateway.sh").write_text("g=gateway\n")
    (home / ".bash_profile").write_text("export BASH_ENV=~/modules.sh\np=profile\n")
    extra = {"BASH_ENV": theirs.format(home)} if theirs else {}

    said = Bench(tmp_path, extra=extra).after(
        "x=1", "echo $x $p $m ${g-} ${PATH%%:*}; echo ${BASH_ENV##*/}", first_on_path="/first"
    )

    expected = "1 profile modules gateway /first\ngateway.sh\n"
    assert said == (expected if theirs else "1 profile modules /first\nmodules.sh\n")


def test_a_system_without_files_in_memory_works_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setenv("TMPDIR", str(bench.root))
    monkeypatch.setattr("tempfile.tempdir", None)

    assert bench.after("x=1", f"echo $x\n#{'x' * 200_000}") == "1\n"
    assert not list(bench.root.glob("tmp*"))
