from tidy.rules import compile_rules, first_match


def test_first_rule_wins():
    rules = compile_rules({"rules": [{"glob": "*.pdf", "to": "papers"}]})
    assert first_match(rules, "a.pdf").target == "papers"
