// Prefix of a compiled transform's text. It marks transforms with a second argument, because the parent sends the argument only
// for these. The compiler writes it in its isolate, and the parent reads it.

export const withContextMark = "(/* event, context */function()"
export const withoutContextMark = "(/* event */function()"
