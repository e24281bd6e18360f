; Definitions
(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
((function_definition name: (identifier) @_name) @private (#match? @_name "^_"))
((class_definition name: (identifier) @_name) @private (#match? @_name "^_"))

; Calls and what ends a function by an error
(call function: (_) @callee arguments: (_) @arguments) @call
(raise_statement (call function: (_) @name)) @raise
(raise_statement (identifier) @name) @raise

; Decisions
(if_statement condition: (_) @condition) @branch
(elif_clause condition: (_) @condition) @branch
[(conditional_expression) (for_statement) (while_statement) (case_clause) (for_in_clause) (except_clause)] @decision

; Imports
(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @local)) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @imported) @import
(import_from_statement module_name: (_) @module
  name: (aliased_import name: (dotted_name) @imported alias: (identifier) @local)) @import
(import_from_statement module_name: (_) @module (wildcard_import)) @import

; Prose
(comment) @comment
(module . (comment)* . (expression_statement . (string) @comment .))
(block . (comment)* . (expression_statement . (string) @comment .))
