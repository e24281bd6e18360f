"""How the grammars of tree-sitter name what the survey looks for.

The names hardly collide between languages, so one table serves all of them; where they do, the
reader asks for the language.
"""

GRAMMARS = {
    "JavaScript": ("tree_sitter_javascript", "language"),
    "TypeScript": ("tree_sitter_typescript", "language_typescript"),
    "TSX": ("tree_sitter_typescript", "language_tsx"),
    "Go": ("tree_sitter_go", "language"),
    "Rust": ("tree_sitter_rust", "language"),
    "Java": ("tree_sitter_java", "language"),
    "C": ("tree_sitter_c", "language"),
    "C++": ("tree_sitter_cpp", "language"),
    "Ruby": ("tree_sitter_ruby", "language"),
    "Shell": ("tree_sitter_bash", "language"),
}
"""Language to package and function. Only the one for the shell is always installed."""

FUNCTIONS = frozenset(
    {"function_declaration", "generator_function_declaration", "method_definition"}
    | {"method_declaration", "constructor_declaration", "function_item", "function_definition"}
    | {"method", "singleton_method"}
)
FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function"})
"""Functions that get their name from what they are assigned to."""
CLOSURES = frozenset({"func_literal", "closure_expression", "lambda_expression"})
"""Functions that never have a name."""
CLASSES = frozenset(
    {"class_declaration", "abstract_class_declaration", "interface_declaration", "class"}
    | {"class_specifier", "struct_specifier", "struct_item", "trait_item", "record_declaration"}
    | {"type_spec", "module", "impl_item"}
)
ENUMS = frozenset({"enum_declaration", "enum_item", "enum_specifier"})
ENUM_MEMBERS = frozenset(
    {"enum_constant", "enum_variant", "enumerator", "property_identifier", "enum_assignment"}
)
CALLS = frozenset(
    {"call_expression", "method_invocation", "call", "new_expression", "command"}
    | {"object_creation_expression", "macro_invocation"}
)
BRANCHES = frozenset(
    {"if_statement", "if_expression", "if", "unless", "elsif", "if_modifier", "unless_modifier"}
    | {"elif_clause", "ternary_expression", "conditional_expression", "switch_case", "case_item"}
    | {"expression_case", "type_case", "match_arm", "when", "case_statement", "switch_label"}
    | {"communication_case"}
)
CONDITIONS = frozenset({"if_statement", "if_expression", "if", "unless", "elsif", "if_modifier"})
LOOPS = frozenset(
    {"for_statement", "for_in_statement", "while_statement", "do_statement", "for_expression"}
    | {"enhanced_for_statement", "while_expression", "loop_expression", "while", "until", "for"}
    | {"c_style_for_statement", "for_range_loop"}
)
HANDLERS = frozenset({"catch_clause", "rescue"})
TRIES = frozenset({"try_statement", "begin", "try_with_resources_statement"})
THROWS = frozenset({"throw_statement"})
RETURNS = frozenset({"return_statement", "return_expression", "return"})
COMMENTS = frozenset({"comment", "line_comment", "block_comment"})
STRINGS = frozenset(
    {"string", "string_literal", "interpreted_string_literal", "raw_string_literal"}
    | {"template_string", "raw_string"}
)
ASSIGNMENTS = frozenset({"assignment_expression", "assignment_statement", "assignment"})
VALUES = frozenset(
    {"variable_declarator", "var_spec", "const_spec", "static_item", "const_item", "preproc_def"}
    | {"variable_assignment"}
)
"""What declares a name at module level."""
MUTABLE_VALUES = frozenset(
    {"object", "array", "composite_literal", "new_expression", "hash", "array_creation_expression"}
)
TIMERS = frozenset({"setInterval", "setTimeout"})
TASK_CALLS = TIMERS | frozenset(
    {"thread::spawn", "std::thread::spawn"}
    | {"tokio::spawn", "spawn", "Thread.new", "pthread_create", "Thread", "Worker", "std::thread"}
)
MUTATORS = frozenset(
    {"push", "set", "delete", "add", "splice", "unshift", "pop", "shift", "clear", "store", "put"}
)
ENV_CALLS = frozenset(
    {"os.Getenv", "os.LookupEnv", "env::var", "std::env::var", "System.getenv", "getenv"}
    | {"ENV.fetch", "std::getenv"}
)
LOG_ROOTS = frozenset(
    {"console", "logger", "log", "Log", "LOG", "LOGGER", "slog", "tracing", "warn", "error", "info"}
    | {"Rails.logger", "pino", "winston", "syslog"}
)
