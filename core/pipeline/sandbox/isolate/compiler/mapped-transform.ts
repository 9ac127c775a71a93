// Converts a transform with a single expression over its event into data, so it needs no isolate. Returns null for any other
// transform.
import type { AnyNode, Function as FunctionNode, Program } from "acorn"
import { choices, conversions, type Expression, operators, stringMethods } from "../../mapping/expression.ts"

/** The text must contain only this function. */
export function mappedTransform(tree: Program, transform: FunctionNode): Expression | null {
  const [input] = transform.params
  if (tree.body.length !== 1 || transform.generator || transform.params.length > 1) return null
  if (tree.body[0]?.type === "VariableDeclaration" && tree.body[0].declarations.length !== 1) return null
  if (input !== undefined && input.type !== "Identifier") return null
  const result = resultOf(transform)
  try {
    return result && new Reader(input?.name, nameOf(tree)).read(result)
  } catch (error) {
    if (error instanceof NotPlain) return null
    throw error
  }
}

class NotPlain extends Error {}

function resultOf({ body }: FunctionNode): AnyNode | null {
  if (body.type !== "BlockStatement") return body
  const [only] = body.body
  return body.body.length === 1 && only?.type === "ReturnStatement" ? (only.argument ?? null) : null
}

/** Returns the only name at top level. */
function nameOf({ body: [only] }: Program): string | undefined {
  if (only?.type === "FunctionDeclaration") return only.id?.name
  const id = only?.type === "VariableDeclaration" ? only.declarations[0]?.id : undefined
  return id?.type === "Identifier" ? id.name : undefined
}

class Reader {
  readonly #event: string | undefined
  readonly #own: string | undefined

  constructor(event: string | undefined, own: string | undefined) {
    this.#event = event
    this.#own = own
  }

  read(node: AnyNode | null | undefined): Expression {
    switch (node?.type) {
      case "Literal":
        if (node.regex || node.bigint !== undefined) break
        return literal(node.value)
      case "Identifier":
        return this.#identifier(node.name)
      case "TemplateLiteral":
        return this.#template(node.quasis, node.expressions)
      case "ChainExpression":
        return { do: "chain", of: this.read(node.expression) }
      case "MemberExpression":
        return { do: "get", of: this.read(node.object), name: keyOf(node.property, node.computed), optional: node.optional }
      case "CallExpression":
        return this.#call(node.callee, node.arguments, node.optional)
      case "ObjectExpression":
        return { do: "object", fields: node.properties.map((property) => this.#field(property)) }
      case "ArrayExpression":
        return { do: "list", of: node.elements.map((element) => this.read(element)) }
      case "UnaryExpression":
        if (node.operator !== "!" && node.operator !== "-") break
        return { do: node.operator === "!" ? "not" : "minus", of: this.read(node.argument) }
      case "BinaryExpression": {
        const by = operators.find((operator) => operator === node.operator)
        if (by === undefined) break
        return { do: "operate", by, left: this.read(node.left), right: this.read(node.right) }
      }
      case "LogicalExpression": {
        const by = choices.find((operator) => operator === node.operator)
        if (by === undefined) break
        return { do: "choose", by, left: this.read(node.left), right: this.read(node.right) }
      }
      case "ConditionalExpression":
        return { do: "if", when: this.read(node.test), yes: this.read(node.consequent), no: this.read(node.alternate) }
    }
    throw new NotPlain()
  }

  #identifier(name: string): Expression {
    if (name === this.#event) return { do: "event" }
    if (name === "undefined") return { do: "undefined" }
    throw new NotPlain()
  }

  #template(quasis: readonly { value: { cooked?: string | null | undefined } }[], expressions: readonly AnyNode[]): Expression {
    const of = quasis.flatMap(({ value }, at) => {
      const expression = expressions[at]
      return [literal(value.cooked), ...(expression ? [this.read(expression)] : [])]
    })
    return { do: "text", of }
  }

  #call(callee: AnyNode, given: readonly AnyNode[], optional: boolean): Expression {
    const [argument] = given
    if (callee.type === "Identifier") {
      const to = conversions.find((name) => name === callee.name)
      const isShadowed = callee.name === this.#event || callee.name === this.#own
      if (to === undefined || isShadowed || optional || given.length !== 1) throw new NotPlain()
      return { do: "convert", to, of: this.read(argument) }
    }
    if (callee.type !== "MemberExpression" || callee.computed || optional || given.length > 0) throw new NotPlain()
    const called = keyOf(callee.property, false)
    const name = stringMethods.find((one) => one === called)
    if (name === undefined) throw new NotPlain()
    return { do: "method", of: this.read(callee.object), name, optional: callee.optional }
  }

  #field(property: AnyNode): { name: string | null; of: Expression } {
    if (property.type === "SpreadElement") return { name: null, of: this.read(property.argument) }
    if (property.type !== "Property" || property.kind !== "init" || property.method) throw new NotPlain()
    return { name: keyOf(property.key, property.computed), of: this.read(property.value) }
  }
}

function literal(value: unknown): Expression {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return { do: "value", value }
  if (typeof value === "number" && Number.isFinite(value)) return { do: "value", value }
  throw new NotPlain()
}

/** Returns the literal name of a property. Names that change the object's type or its JSON are refused. */
function keyOf(key: AnyNode, computed: boolean): string {
  const isName = key.type === "Identifier" && !computed
  const name = isName ? key.name : key.type === "Literal" && ["string", "number"].includes(typeof key.value) ? String(key.value) : undefined
  if (name === undefined || name === "__proto__" || name === "toJSON") throw new NotPlain()
  return name
}
