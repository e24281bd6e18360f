; What C++ has beyond C
(class_specifier name: (_) @name body: (_)) @class
(function_definition declarator: (reference_declarator
  (function_declarator declarator: (_) @name parameters: (_) @parameters))) @function
(throw_statement (call_expression function: (_) @name)) @raise
[(for_range_loop) (catch_clause)] @decision
