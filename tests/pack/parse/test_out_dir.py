"""A pack whose answers go to another directory than its own."""

import pytest

from oraclepack.pack.model import Pack
from oraclepack.pack.parse.read_pack import parse_pack, uses_out_dir, with_out_dir
from tests.packs import pack_text

STEPS = """\
# 01) a
oracle --write-output "$out_dir/01.md" -p hi
# 02) b
oracle --write-output "${out_dir}/deep/02.md" -p hi
"""


def sent(bash: str, out_dir: str = "else where") -> Pack:
    return with_out_dir(parse_pack(pack_text(bash), "pack.md"), out_dir)


def outputs(pack: Pack) -> list[str | None]:
    return [output.path.value for step in pack.steps for output in step.outputs]


@pytest.mark.parametrize(
    ("prelude", "becomes"),
    [
        pytest.param("out_dir=docs", "out_dir='else where'", id="a plain word"),
        pytest.param('out_dir="docs/ä b"  # why', "out_dir='else where'  # why", id="in quotes"),
        pytest.param("export out_dir='x'", "export out_dir='else where'", id="exported"),
        pytest.param(
            "declare -r out_dir=x; ls", "declare -r out_dir='else where'; ls", id="read-only"
        ),
        pytest.param(
            'out_dir="docs/$(date +%F)"', "out_dir='else where'", id="what only bash knows"
        ),
        pytest.param(
            "out_dir=a; out_dir=b", "out_dir='else where'; out_dir='else where'", id="twice"
        ),
        pytest.param('out_dir="${out_dir:-docs}"', "out_dir='else where'", id="its own default"),
        pytest.param("true", "true", id="none at all"),
    ],
)
def test_the_assignment_of_the_prelude_says_something_else(prelude: str, becomes: str) -> None:
    before = parse_pack(pack_text(f"{prelude}\n{STEPS}"), "pack.md")

    after = sent(f"{prelude}\n{STEPS}")

    assert after.prelude is not None
    assert after.prelude.code == f"{becomes}\n"
    assert outputs(after) == ["else where/01.md", "else where/deep/02.md"]
    assert after.out_dir == "else where"
    assert after.pack_hash == before.pack_hash
    assert [step.span.line for step in after.steps] == [step.span.line for step in before.steps]


def test_a_step_that_repeats_the_pack_s_own_value_follows() -> None:
    own = "# 03) c\nout_dir=docs\noracle --write-output $out_dir/03.md -p hi\n"
    other = "# 04) d\nout_dir=mine\noracle --write-output $out_dir/04.md -p hi\n"

    after = sent(f"out_dir=docs\n{own}{other}", "new")

    assert outputs(after) == ["new/03.md", "mine/04.md"]


def test_a_value_that_is_made_of_the_variable_is_left_to_bash() -> None:
    after = sent(f'out_dir="$out_dir/sub"\n{STEPS}', "new")

    assert after.prelude is not None
    assert after.prelude.code == 'out_dir="$out_dir/sub"\n'
    assert outputs(after) == ["new/sub/01.md", "new/sub/deep/02.md"]


def test_text_that_only_looks_like_an_assignment_stays() -> None:
    prelude = "out_dir=docs\ncat <<'END'\nout_dir=docs\nEND\n# out_dir=docs\n"

    after = sent(f"{prelude}{STEPS}", "new")

    assert after.prelude is not None
    assert after.prelude.code == prelude.replace("out_dir=docs", "out_dir=new", 1)


@pytest.mark.parametrize(
    ("bash", "used"),
    [
        pytest.param(STEPS, True, id="said in a step"),
        pytest.param('mkdir -p "$out_dir"\n# 01) a\ntrue\n', True, id="said in the prelude"),
        pytest.param(
            "out_dir=x\n# 01) a\noracle --write-output x/1.md -p q\n", False, id="set only"
        ),
        pytest.param("# 01) a\necho $out_directory\n", False, id="another name"),
    ],
)
def test_whether_the_variable_matters(bash: str, *, used: bool) -> None:
    assert uses_out_dir(parse_pack(pack_text(bash), "pack.md")) is used
