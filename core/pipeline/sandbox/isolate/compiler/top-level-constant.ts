// Checks that a top-level constant is computed without the author's code. Otherwise it could change between events.
import type { AnyNode, Expression } from "acorn"
import type { ProgramProblem } from "../../sandbox.ts"

type Node = AnyNode | Expression

/**
 * Returns the first non-constant part: calls, mutable collections, stateful regexes, or operators that convert an object.
 * `primitives` names the earlier constants without objects.
 */
export function notConstant(node: Node, primitives: ReadonlySet<string>): ProgramProblem | undefined {
  const own = problemOf(node)
  if (own) return own
  for (const part of partsOf(node) ?? []) {
    const wrong = part ? notConstant(part, primitives) : undefined
    if (wrong) return wrong
  }
  const object = coercedOf(node).find((part) => !isPrimitive(part, primitives))
  const message =
    "Operators, templates and computed names in a top-level constant allow strings and numbers only; move it into the function"
  return object && at(object, message)
}

function problemOf(node: Node): ProgramProblem | undefined {
  if (node.type === "Literal" && "regex" in node && node.regex) {
    const flag = /[gy]/.exec(node.regex.flags)?.[0]
    const message = `A regular expression with flag ${flag} keeps state between events; write it inside the function`
    return flag === undefined ? undefined : at(node, message)
  }
  if (node.type === "UnaryExpression" && node.operator === "delete") return at(node, "`delete` is not allowed in a top-level constant")
  if (node.type === "Property" && node.kind !== "init") return at(node, "Getters and setters are not allowed in a top-level constant")
  if (partsOf(node)) return undefined
  const only = "only plain values, lists, objects and functions are. Move it into the function"
  return at(node, `${kindOf(node)} is not allowed in a top-level constant: ${only}`)
}

/** Returns the parts of a node. Returns undefined if the node is not allowed in a constant. */
function partsOf(node: Node): readonly (Node | null)[] | undefined {
  switch (node.type) {
    case "Literal":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
    case "TemplateElement":
    case "Identifier":
      return []
    case "TemplateLiteral":
      return node.expressions
    case "UnaryExpression":
    case "SpreadElement":
      return [node.argument]
    case "BinaryExpression":
    case "LogicalExpression":
      return [node.left, node.right]
    case "ConditionalExpression":
      return [node.test, node.consequent, node.alternate]
    case "ParenthesizedExpression":
      return [node.expression]
    case "ArrayExpression":
      return node.elements
    case "ObjectExpression":
      return node.properties
    case "Property":
      return node.computed ? [node.key, node.value] : [node.value]
    case "CallExpression":
      return isFreeze(node.callee) && node.arguments.length === 1 ? node.arguments : undefined
  }
  return undefined
}

/** Returns the parts that are converted to a primitive. The conversion runs an object's `valueOf` or `toString`. */
function coercedOf(node: Node): readonly Node[] {
  switch (node.type) {
    case "TemplateLiteral":
      return node.expressions
    case "UnaryExpression":
      return ["+", "-", "~"].includes(node.operator) ? [node.argument] : []
    case "BinaryExpression":
      return ["===", "!=="].includes(node.operator) ? [] : [node.left, node.right]
    case "Property":
      return node.computed ? [node.key] : []
  }
  return []
}

/** Returns true if a constant is not an object: a text, a number, or a result of operators on them. */
export function isPrimitive(node: Node, primitives: ReadonlySet<string>): boolean {
  const all = (...nodes: Node[]) => nodes.every((each) => isPrimitive(each, primitives))
  switch (node.type) {
    case "Literal":
      return !("regex" in node && node.regex)
    case "TemplateLiteral":
    case "UnaryExpression":
    case "BinaryExpression":
      return true
    case "LogicalExpression":
      return all(node.left, node.right)
    case "ConditionalExpression":
      return all(node.consequent, node.alternate)
    case "ParenthesizedExpression":
      return all(node.expression)
    case "Identifier":
      return primitives.has(node.name) || ["undefined", "NaN", "Infinity"].includes(node.name)
  }
  return false
}

function isFreeze(node: AnyNode): boolean {
  return (
    node.type === "MemberExpression" &&
    !node.computed &&
    node.object.type === "Identifier" &&
    node.object.name === "Object" &&
    node.property.type === "Identifier" &&
    node.property.name === "freeze"
  )
}

const kinds: Record<string, string> = {
  ClassDeclaration: "A class",
  ExpressionStatement: "A statement that runs",
  CallExpression: "A call",
  NewExpression: "`new`",
  MemberExpression: "Reading a property",
  ClassExpression: "A class",
  TaggedTemplateExpression: "A tagged template",
  AssignmentExpression: "An assignment",
}

/** Returns the words for a node's kind in a problem. */
export function kindOf(node: AnyNode): string {
  return kinds[node.type] ?? `A ${node.type.replace(/(Statement|Declaration|Expression)$/, (word) => ` ${word.toLowerCase()}`)}`
}

export function at(node: AnyNode, message: string): ProgramProblem {
  const start = node.loc?.start
  const place = start ? { line: start.line, column: start.column + 1 } : {}
  return { part: "transform", message: /[.!?]$/.test(message) ? message : `${message}.`, ...place }
}
