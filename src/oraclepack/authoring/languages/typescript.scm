; What TypeScript has beyond JavaScript
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @class
((method_definition (accessibility_modifier) @_access) @private (#any-of? @_access "private" "protected"))
