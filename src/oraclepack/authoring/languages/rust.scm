; Definitions
(function_item name: (identifier) @name) @function
(struct_item name: (_) @name) @class
(trait_item name: (_) @name) @class
(impl_item type: (_) @name) @class
(function_item (visibility_modifier)) @public
(struct_item (visibility_modifier)) @public
(trait_item (visibility_modifier)) @public
(impl_item) @public
(trait_item body: (_ (function_item) @public))

; Calls and what ends a function by an error
(call_expression function: (_) @callee arguments: (_) @arguments) @call
((macro_invocation macro: (_) @name) @raise (#any-of? @name "panic" "bail" "unreachable"))

; Decisions
(if_expression condition: (_) @condition) @branch
[(for_expression) (while_expression) (loop_expression) (match_arm)] @decision

; Imports
(use_declaration argument: (_) @paths) @import
(mod_item name: (identifier) @submodule !body) @import

; Tests stand beside the code
((attribute_item) @test (#match? @test "^#\\[(cfg\\((all\\()?test|([a-z_]+::)*test\\b)"))

; Prose
[(line_comment) (block_comment)] @comment
