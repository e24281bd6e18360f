; Definitions
(function_definition name: (word) @name) @function

; Calls
(command name: (command_name) @callee) @call

; Decisions
(if_statement condition: (_) @condition) @branch
[(elif_clause) (for_statement) (while_statement) (c_style_for_statement) (case_item)] @decision

; Imports
(command name: (command_name) @_source . argument: (_) @module (#any-of? @_source "source" ".")) @import

; Prose
(comment) @comment
