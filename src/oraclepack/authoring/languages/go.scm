; Definitions
(function_declaration name: (identifier) @name) @function
(method_declaration receiver: (_) @home name: (_) @name) @function
(type_spec name: (type_identifier) @name type: [(struct_type) (interface_type)]) @class
((function_declaration name: (identifier) @_name) @private (#match? @_name "^[^A-Z]"))
((method_declaration name: (_) @_name) @private (#match? @_name "^[^A-Z]"))
((type_spec name: (type_identifier) @_name) @private (#match? @_name "^[^A-Z]"))

; Calls and what ends a function by an error
(call_expression function: (_) @callee arguments: (_) @arguments) @call
((call_expression function: (identifier) @name) @raise (#eq? @name "panic"))
(return_statement (expression_list (call_expression function: (_) @name)) (#any-of? @name "errors.New" "fmt.Errorf")) @raise

; Decisions
(if_statement condition: (_) @condition) @branch
[(for_statement) (expression_case) (type_case) (communication_case)] @decision

; Imports
(import_spec path: (_) @module) @import
(import_spec name: (package_identifier) @local path: (_) @module) @import

; Prose
(comment) @comment
