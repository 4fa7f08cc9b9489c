; Written by tools/generate_tree_sitter.py.
(identifier) @variable
["as" "ask" "assert" "default" "distribution" "expect" "experiment" "facet" "find" "given" "kind" "let" "log" "metric" "needs" "offers" "over" "param" "plot" "profile" "property" "reader" "reads" "requires" "sh" "table" "trait" "where" "with" "without"] @keyword
["and" "by" "else" "for" "if" "in" "is" "not" "of" "or" "then" "until"] @keyword.operator
"import" @keyword.import
"on" @keyword
["%" "*" "+" "-" ".." "/" "=" "|"] @operator
[(comparison_operator) (not_in)] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," "." ":"] @punctuation.delimiter
(comment) @comment
(string) @string
(number) @number
(field_name) @property
(function_name) @function
(call (path (identifier) @function.call))
(declaration (path (identifier) @type))
(declaration_on (path (identifier) @type))
(declaration (path) . (identifier) @variable)
(declaration_on (path) . (identifier) @variable)
(make (path (identifier) @type))
(make_on (path (identifier) @type))
(type_name (identifier) @type)
((identifier) @type.builtin (#any-of? @type.builtin "bool" "command" "count" "duration" "iops" "number" "path" "rate" "share" "size" "string" "version"))
((identifier) @boolean (#any-of? @boolean "on" "off"))
(word_on) @boolean
