; Definitions
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (_) @name) @function
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)] @function)
(assignment_expression left: (identifier) @name
  right: [(arrow_function) (function_expression) (generator_function)] @function)
(assignment_expression left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (generator_function)] @function)
(pair key: (property_identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)] @function)
(class_declaration name: (_) @name) @class

; What a module hands out
(export_statement declaration: (_) @public)
(export_statement value: (_) @public)
(export_statement declaration: (_ (variable_declarator value: (_) @public)))
(export_specifier name: (identifier) @exported)
((method_definition name: (_) @_name) @public (#not-match? @_name "^[#_]"))
(assignment_expression left: (member_expression) right: [(arrow_function) (function_expression)] @public)
(assignment_expression left: (_) @_left right: (identifier) @exported (#match? @_left "^(module\\.)?exports"))
(assignment_expression left: (_) @_left
  right: (object (shorthand_property_identifier) @exported) (#match? @_left "^(module\\.)?exports"))
(assignment_expression left: (_) @_left
  right: (object (pair value: (identifier) @exported)) (#match? @_left "^(module\\.)?exports"))

; Calls and what ends a function by an error
(call_expression function: (_) @callee arguments: (arguments) @arguments) @call
(new_expression constructor: (_) @callee arguments: (_)? @arguments) @call
(throw_statement (new_expression constructor: (_) @name)) @raise

; Decisions
(if_statement condition: (_) @condition) @branch
[(ternary_expression) (for_statement) (for_in_statement) (while_statement) (do_statement) (switch_case) (catch_clause)] @decision

; Imports
(import_statement source: (string (string_fragment) @module)) @import
(import_statement (import_clause (identifier) @default) source: (string (string_fragment) @module)) @import
(import_statement (import_clause (namespace_import (identifier) @local)) source: (string (string_fragment) @module)) @import
(import_statement (import_clause (named_imports (import_specifier name: (_) @imported alias: (identifier)? @local)))
  source: (string (string_fragment) @module)) @import
(export_statement source: (string (string_fragment) @module)) @import
(export_statement (export_clause (export_specifier name: (_) @imported alias: (_)? @local))
  source: (string (string_fragment) @module)) @import
(call_expression function: [(identifier) (import)] @_call arguments: (arguments . (string (string_fragment) @module))
  (#any-of? @_call "require" "import")) @import
(variable_declarator name: (identifier) @local
  value: (call_expression function: (identifier) @_call arguments: (arguments . (string (string_fragment) @module)))
  (#eq? @_call "require")) @import
(variable_declarator name: (identifier) @local
  value: (member_expression
    object: (call_expression function: (identifier) @_call arguments: (arguments . (string (string_fragment) @module)))
    property: (property_identifier) @imported)
  (#eq? @_call "require")) @import
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @imported)
  value: (call_expression function: (identifier) @_call arguments: (arguments . (string (string_fragment) @module)))
  (#eq? @_call "require")) @import

; Prose
(comment) @comment
