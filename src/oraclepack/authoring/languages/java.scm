; Definitions
(method_declaration name: (identifier) @name) @function
(constructor_declaration name: (identifier) @name) @function
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(method_declaration (modifiers) @_modifiers (#match? @_modifiers "private")) @private
(class_declaration (modifiers) @_modifiers (#match? @_modifiers "private")) @private

; Calls and what ends a function by an error
(method_invocation object: (_)? @receiver name: (identifier) @callee arguments: (_) @arguments) @call
(object_creation_expression type: (_) @callee arguments: (_) @arguments) @call
(throw_statement (object_creation_expression type: (_) @name)) @raise

; Decisions
(if_statement condition: (_) @condition) @branch
[(ternary_expression) (for_statement) (enhanced_for_statement) (while_statement) (do_statement) (switch_label) (catch_clause)] @decision

; Imports
(import_declaration (scoped_identifier name: (identifier) @imported) @module) @import

; Prose
[(line_comment) (block_comment)] @comment
