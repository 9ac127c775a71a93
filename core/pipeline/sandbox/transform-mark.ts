// How a compiled transform's text begins, which says whether it takes a second argument: the parent sends it only then.
// Read by the compiler inside its isolate and by the parent.

export const withContextMark = "(/* event, context */function()"
export const withoutContextMark = "(/* event */function()"
