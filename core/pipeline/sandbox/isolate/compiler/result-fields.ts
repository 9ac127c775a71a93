// Derives the fields of a transform's result from its syntax tree: returned object literals, and variables initialised with one.
// Returns no result for anything else, so its answers are reliable.
import type { AnyNode, Function as FunctionNode } from "acorn"
import type { ResultFields } from "../../sandbox.ts"

interface Shape {
  readonly names: Set<string>
  withEvent: boolean
  exact: boolean
}

const maxNames = 200
/** Keys that change an object's type or its JSON. */
const special = new Set(["__proto__", "toJSON"])

/** Returns null if the source does not determine the fields. */
export function resultFieldsOf(transform: FunctionNode): ResultFields | null {
  const [input] = transform.params
  const shape: Shape = { names: new Set(), withEvent: false, exact: true }
  const reader = new ResultReader(transform.body, input?.type === "Identifier" ? input.name : undefined, shape)
  const results = transform.body.type === "BlockStatement" ? returnedIn(transform.body) : [transform.body]
  try {
    if (!results.some(isValue) || !results.every((result) => reader.add(result))) return null
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
  const { names, withEvent, exact } = shape
  return names.size > maxNames ? null : { names: [...names], withEvent, exact }
}

class ResultReader {
  readonly #body: AnyNode
  readonly #event: string | undefined
  readonly #shape: Shape
  readonly #seen = new Set<string>()

  constructor(body: AnyNode, event: string | undefined, shape: Shape) {
    this.#body = body
    this.#event = event
    this.#shape = shape
  }

  /** Adds the fields of a returned or spread node. Returns false if the fields are unknown. */
  add(node: AnyNode | null): boolean {
    if (!isValue(node)) return true
    switch (node.type) {
      case "ObjectExpression":
        return node.properties.every((property) => this.#addProperty(property))
      case "ConditionalExpression":
        return this.add(node.consequent) && this.add(node.alternate)
      case "LogicalExpression":
        return (node.operator === "&&" || this.add(node.left)) && this.add(node.right)
      case "SequenceExpression":
        return this.add(node.expressions.at(-1) ?? null)
      case "Identifier":
        return this.#addVariable(node.name)
    }
    return false
  }

  #addProperty(property: AnyNode): boolean {
    if (property.type === "SpreadElement") return this.add(property.argument)
    if (property.type !== "Property") return false
    const { key, computed } = property
    const name = !computed && key.type === "Identifier" ? key.name : key.type === "Literal" ? String(key.value) : undefined
    if (name === undefined || special.has(name)) return false
    this.#shape.names.add(name)
    return true
  }

  /** Accepts the event itself, or a variable declared once with an object literal. */
  #addVariable(name: string): boolean {
    if (this.#seen.has(name)) return true
    this.#seen.add(name)
    const uses = usesOf(name, this.#body)
    for (const field of uses.assigned) this.#shape.names.add(field)
    if (uses.reassigned || uses.assigned.some((field) => special.has(field))) return false
    if (uses.escapes) this.#shape.exact = false
    if (name === this.#event) {
      this.#shape.withEvent = true
      return uses.declared.length === 0
    }
    const [declared] = uses.declared
    return uses.declared.length === 1 && declared?.type === "ObjectExpression" && this.add(declared)
  }
}

interface Uses {
  /** Initial value of each declaration. */
  readonly declared: (AnyNode | null | undefined)[]
  /** `name.field = …` */
  readonly assigned: string[]
  reassigned: boolean
  /** True if other code may add fields. */
  escapes: boolean
}

function usesOf(name: string, body: AnyNode): Uses {
  const uses: Uses = { declared: [], assigned: [], reassigned: false, escapes: false }
  walk(body, [], (node, parents) => {
    if (node.type === "Identifier" && node.name === name) note(node, parents, uses)
  })
  return uses
}

function note(node: AnyNode, parents: readonly AnyNode[], uses: Uses): void {
  const parent = parents.at(-1)
  const grandparent = parents.at(-2)
  switch (parent?.type) {
    case "MemberExpression":
      if (parent.object !== node) uses.escapes ||= parent.computed
      else if (grandparent?.type === "AssignmentExpression" && grandparent.left === parent) {
        const { property, computed } = parent
        if (!computed && property.type === "Identifier") uses.assigned.push(property.name)
        else uses.escapes = true
      }
      return
    case "VariableDeclarator":
      if (parent.id === node) uses.declared.push(parent.init)
      else uses.escapes ||= parent.id.type !== "ObjectPattern"
      return
    case "AssignmentExpression":
      if (parent.left === node) uses.reassigned = true
      else uses.escapes = true
      return
    case "Property":
      // `{ name: … }` does not use the variable, but `{ name }` does.
      uses.escapes ||= parent.value === node || parent.computed
      return
    case "SpreadElement":
      uses.escapes ||= grandparent?.type !== "ObjectExpression"
      return
    case "ReturnStatement":
    case "IfStatement":
    case "UnaryExpression":
    case "BinaryExpression":
    case "LogicalExpression":
    case "ConditionalExpression":
    case "SequenceExpression":
      return
    case undefined:
      return
  }
  uses.escapes = true
}

/** Returns the function's own return values, without nested functions. */
function returnedIn(body: AnyNode): (AnyNode | null)[] {
  const found: (AnyNode | null)[] = []
  walk(body, [], (node, parents) => {
    if (node.type === "ReturnStatement" && !parents.some(isFunction)) found.push(node.argument ?? null)
  })
  return found
}

/** Returns false for null and undefined. Both drop the event. */
function isValue(node: AnyNode | null): node is AnyNode {
  if (node === null || (node.type === "Identifier" && node.name === "undefined")) return false
  return !(node.type === "Literal" && node.value === null && !("regex" in node && node.regex))
}

function isFunction({ type }: AnyNode): boolean {
  return type === "FunctionDeclaration" || type === "FunctionExpression" || type === "ArrowFunctionExpression"
}

function walk(node: AnyNode, parents: AnyNode[], visit: (node: AnyNode, parents: readonly AnyNode[]) => void): void {
  visit(node, parents)
  parents.push(node)
  for (const value of Object.values(node) as unknown[]) {
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) if (isNode(each)) walk(each, parents, visit)
  }
  parents.pop()
}

/** Returns true if a member of a node is a node. */
export function isNode(value: unknown): value is AnyNode {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
}
