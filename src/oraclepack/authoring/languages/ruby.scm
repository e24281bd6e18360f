; Definitions
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(class name: (_) @name) @class
(module name: (_) @name) @class
((method name: (_) @_name) @private (#match? @_name "^_"))

; Calls and what ends a function by an error
(call receiver: (_)? @receiver method: (_) @callee arguments: (_)? @arguments) @call
(call method: (identifier) @_raise arguments: (argument_list . (_) @name) (#any-of? @_raise "raise" "fail")) @raise

; Decisions
[(if condition: (_) @condition) (unless condition: (_) @condition) (elsif condition: (_) @condition)
 (if_modifier condition: (_) @condition) (unless_modifier condition: (_) @condition)] @branch
[(conditional) (while) (until) (for) (when) (rescue)] @decision

; Imports
(call method: (identifier) @_require arguments: (argument_list . (string (string_content) @module))
  (#eq? @_require "require")) @import
(call method: (identifier) @_require arguments: (argument_list . (string (string_content) @relative))
  (#eq? @_require "require_relative")) @import

; Prose
(comment) @comment
