; Definitions
(function_definition declarator: (function_declarator declarator: (_) @name parameters: (_) @parameters)) @function
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator declarator: (_) @name parameters: (_) @parameters))) @function
(struct_specifier name: (type_identifier) @name body: (_)) @class
(function_definition (storage_class_specifier) @_storage (#eq? @_storage "static")) @private

; Calls
(call_expression function: (_) @callee arguments: (_) @arguments) @call

; Decisions
(if_statement condition: (_) @condition) @branch
[(conditional_expression) (for_statement) (while_statement) (do_statement) (case_statement)] @decision

; Imports
(preproc_include path: (string_literal) @module) @import

; Prose
(comment) @comment
