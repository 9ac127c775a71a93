// An expression of a transform as data, and its function. For plain values it behaves like JavaScript. JavaScript may also throw,
// call an object's methods or read a prototype. The function then throws NotMapped, and the isolate runs the transform.
import { z } from "zod"

export const stringMethods = ["toLowerCase", "toUpperCase", "trim", "trimEnd", "trimStart"] as const
export const conversions = ["Boolean", "Number", "String"] as const
export const operators = ["!==", "!=", "%", "*", "+", "-", "/", "<", "<=", "===", "==", ">", ">="] as const
export const choices = ["&&", "??", "||"] as const

export type Expression =
  | { readonly do: "event" | "undefined" }
  | { readonly do: "value"; readonly value: string | number | boolean | null }
  | { readonly do: "get"; readonly of: Expression; readonly name: string; readonly optional: boolean }
  | { readonly do: "method"; readonly of: Expression; readonly name: (typeof stringMethods)[number]; readonly optional: boolean }
  /** If an optional part in it ends early, the whole chain is undefined. */
  | { readonly do: "chain" | "not" | "minus"; readonly of: Expression }
  | { readonly do: "convert"; readonly to: (typeof conversions)[number]; readonly of: Expression }
  | { readonly do: "text" | "list"; readonly of: readonly Expression[] }
  /** A null name spreads the fields of an object. */
  | { readonly do: "object"; readonly fields: readonly { readonly name: string | null; readonly of: Expression }[] }
  | { readonly do: "operate"; readonly by: (typeof operators)[number]; readonly left: Expression; readonly right: Expression }
  | { readonly do: "choose"; readonly by: (typeof choices)[number]; readonly left: Expression; readonly right: Expression }
  | { readonly do: "if"; readonly when: Expression; readonly yes: Expression; readonly no: Expression }

export const Expressions: z.ZodType<Expression> = z.lazy(() => {
  const of = Expressions
  return z.discriminatedUnion("do", [
    z.strictObject({ do: z.enum(["event", "undefined"]) }),
    z.strictObject({ do: z.literal("value"), value: z.union([z.string(), z.number(), z.boolean(), z.null()]) }),
    z.strictObject({ do: z.literal("get"), of, name: z.string(), optional: z.boolean() }),
    z.strictObject({ do: z.literal("method"), of, name: z.enum(stringMethods), optional: z.boolean() }),
    z.strictObject({ do: z.enum(["chain", "not", "minus"]), of }),
    z.strictObject({ do: z.literal("convert"), to: z.enum(conversions), of }),
    z.strictObject({ do: z.enum(["text", "list"]), of: z.array(of) }),
    z.strictObject({ do: z.literal("object"), fields: z.array(z.strictObject({ name: z.string().nullable(), of })) }),
    z.strictObject({ do: z.literal("operate"), by: z.enum(operators), left: of, right: of }),
    z.strictObject({ do: z.literal("choose"), by: z.enum(choices), left: of, right: of }),
    z.strictObject({ do: z.literal("if"), when: of, yes: of, no: of }),
  ])
})

/** The isolate must compute the result. */
class NotMapped extends Error {}

type Primitive = string | number | boolean | null | undefined
type Evaluate = (event: unknown) => unknown

/** Returned by an optional part that ends early, for its chain. */
const ended = Symbol("ended")

/** Counts reads of the event or its parts. It bounds the result's length relative to the event. */
export function readsIn(expression: Expression): number {
  return expression.do === "event" ? 1 : partsOf(expression).reduce((sum, part) => sum + readsIn(part), 0)
}

function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.do) {
    case "event":
    case "undefined":
    case "value":
      return []
    case "text":
    case "list":
      return expression.of
    case "object":
      return expression.fields.map(({ of }) => of)
    case "operate":
    case "choose":
      return [expression.left, expression.right]
    case "if":
      return [expression.when, expression.yes, expression.no]
    default:
      return [expression.of]
  }
}

export function evaluator(expression: Expression): Evaluate {
  switch (expression.do) {
    case "event":
      return (event) => event
    case "undefined":
      return () => undefined
    case "value": {
      const { value } = expression
      return () => value
    }
    case "get":
      return getter(expression.name, expression.optional, evaluator(expression.of))
    case "method":
      return method(expression.name, expression.optional, evaluator(expression.of))
    case "operate":
      return operation(expression.by, evaluator(expression.left), evaluator(expression.right))
    case "object":
      return object(expression.fields.map(({ name, of }) => ({ name, value: evaluator(of) })))
    case "text":
    case "list":
      return expression.do === "list" ? list(expression.of.map(evaluator)) : text(expression.of.map(evaluator))
    case "choose":
      return choice(expression.by, evaluator(expression.left), evaluator(expression.right))
    case "if": {
      const [when, yes, no] = [evaluator(expression.when), evaluator(expression.yes), evaluator(expression.no)]
      return (event) => (when(event) ? yes(event) : no(event))
    }
    case "convert":
      return conversion(expression.to, evaluator(expression.of))
    default:
      return unary(expression.do, evaluator(expression.of))
  }
}

function unary(kind: "chain" | "not" | "minus", of: Evaluate): Evaluate {
  if (kind === "not") return (event) => !of(event)
  if (kind === "minus") return (event) => -(plain(of(event)) as number)
  return (event) => {
    const value = of(event)
    return value === ended ? undefined : value
  }
}

function getter(name: string, optional: boolean, of: Evaluate): Evaluate {
  return (event) => {
    const value = of(event)
    if (value === ended) return ended
    if (value === undefined || value === null) {
      if (optional) return ended
      throw new NotMapped()
    }
    if (typeof value === "object") {
      if (Object.hasOwn(value, name)) return (value as Record<string, unknown>)[name]
      if (!(name in value)) return undefined
    } else if (typeof value === "string" && name === "length") return value.length
    throw new NotMapped()
  }
}

function method(name: (typeof stringMethods)[number], optional: boolean, of: Evaluate): Evaluate {
  return (event) => {
    const value = of(event)
    if (typeof value === "string") return value[name]()
    if (value === ended || (optional && (value === undefined || value === null))) return ended
    throw new NotMapped()
  }
}

function operation(by: (typeof operators)[number], left: Evaluate, right: Evaluate): Evaluate {
  if (by === "===") return (event) => left(event) === right(event)
  if (by === "!==") return (event) => left(event) !== right(event)
  const operate = operate2[by]
  return (event) => operate(plain(left(event)) as number, plain(right(event)) as number)
}

// The types say number, but JavaScript applies the same operators to all plain values, like the author's own text.
const operate2: Record<Exclude<(typeof operators)[number], "===" | "!==">, (a: number, b: number) => unknown> = {
  // biome-ignore lint/suspicious/noDoubleEquals: what the author wrote.
  "==": (a, b) => a == b,
  // biome-ignore lint/suspicious/noDoubleEquals: what the author wrote.
  "!=": (a, b) => a != b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "%": (a, b) => a % b,
}

function choice(by: (typeof choices)[number], left: Evaluate, right: Evaluate): Evaluate {
  if (by === "&&") return (event) => left(event) && right(event)
  return by === "||" ? (event) => left(event) || right(event) : (event) => left(event) ?? right(event)
}

function conversion(to: (typeof conversions)[number], of: Evaluate): Evaluate {
  if (to === "Boolean") return (event) => Boolean(of(event))
  return to === "Number" ? (event) => Number(plain(of(event))) : (event) => String(plain(of(event)))
}

function text(parts: readonly Evaluate[]): Evaluate {
  return (event) => {
    let whole = ""
    for (const part of parts) whole += String(plain(part(event)))
    return whole
  }
}

function list(elements: readonly Evaluate[]): Evaluate {
  return (event) => elements.map((element) => element(event))
}

function object(fields: readonly { readonly name: string | null; readonly value: Evaluate }[]): Evaluate {
  return (event) => {
    const made: Record<string, unknown> = {}
    for (const { name, value: of } of fields) {
      const value = of(event)
      if (name !== null) made[name] = value
      else if (value !== undefined && value !== null) takeOver(made, value)
    }
    return made
  }
}

function takeOver(made: Record<string, unknown>, value: unknown): void {
  if (typeof value !== "object" || value === null || Array.isArray(value) || Object.hasOwn(value, "__proto__")) throw new NotMapped()
  Object.assign(made, value)
}

/** Refuses objects, because their conversion to text or number may run code. */
function plain(value: unknown): Primitive {
  if (typeof value === "object" && value !== null) throw new NotMapped()
  return value as Primitive
}
