// A schema of plain keywords as data. It accepts only surely valid values. For other values the validator in an isolate decides
// and names the problems.
import { z } from "zod"
import { isUsualEmail } from "../text/usual-email.ts"

export const jsonTypes = ["array", "boolean", "integer", "null", "number", "object", "string"] as const
export type JsonType = (typeof jsonTypes)[number]

export interface Check {
  readonly types?: readonly JsonType[] | undefined
  readonly oneOf?: readonly (string | number | boolean | null)[] | undefined
  readonly email?: boolean | undefined
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
  readonly minItems?: number | undefined
  readonly maxItems?: number | undefined
  readonly items?: Check | undefined
  readonly required?: readonly string[] | undefined
  readonly properties?: readonly (readonly [name: string, check: Check])[] | undefined
  /** True if an object must not have other properties. */
  readonly closed?: boolean | undefined
}

/** Longer lists are too slow to search per value. */
export const maxListed = 50

export const Checks: z.ZodType<Check> = z.lazy(() =>
  z.strictObject({
    types: z.array(z.enum(jsonTypes)).optional(),
    oneOf: z
      .array(z.union([z.string(), z.number(), z.boolean(), z.null()]))
      .max(maxListed)
      .optional(),
    email: z.boolean().optional(),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    minItems: z.number().optional(),
    maxItems: z.number().optional(),
    items: Checks.optional(),
    required: z.array(z.string()).optional(),
    properties: z.array(z.tuple([z.string(), Checks])).optional(),
    closed: z.boolean().optional(),
  }),
)

type Test = (value: unknown) => boolean

/** Compiles a check to a function. Each value of a body meets at most one check, so the time is bounded by the body's length. */
export function checker(check: Check): Test {
  const { types, oneOf, items, required = [], properties = [], closed } = check
  const ofString = stringTest(check)
  const [lowest, highest] = [check.minimum ?? Number.NEGATIVE_INFINITY, check.maximum ?? Number.POSITIVE_INFINITY]
  const [fewest, most] = [check.minItems ?? 0, check.maxItems ?? Number.POSITIVE_INFINITY]
  const ofItem = items && checker(items)
  const known = properties.map(([name, one]) => [name, checker(one)] as const)
  const names = new Set(properties.map(([name]) => name))
  const inside = (value: object): boolean => {
    if (Array.isArray(value)) return value.length >= fewest && value.length <= most && (!ofItem || value.every(ofItem))
    for (const name of required) if (!Object.hasOwn(value, name)) return false
    for (const [name, test] of known) if (Object.hasOwn(value, name) && !test((value as Record<string, unknown>)[name])) return false
    return !closed || Object.keys(value).every((name) => names.has(name))
  }
  return (value) => {
    if (types && !types.some((type) => isOfType(value, type))) return false
    if (oneOf && !oneOf.includes(value as string)) return false
    if (typeof value === "string") return ofString(value)
    if (typeof value === "number") return value >= lowest && value <= highest
    return typeof value !== "object" || value === null || inside(value)
  }
}

function stringTest({ minLength = 0, maxLength = Number.POSITIVE_INFINITY, email }: Check): (text: string) => boolean {
  const bounded = minLength > 0 || maxLength !== Number.POSITIVE_INFINITY
  return (text) => {
    if (bounded) {
      const length = charactersOf(text)
      if (length < minLength || length > maxLength) return false
    }
    return !email || isUsualEmail(text)
  }
}

/** Counts code points, as in JSON Schema. */
function charactersOf(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length - 1; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) {
      count--
      at++
    }
  }
  return count
}

function isOfType(value: unknown, type: JsonType): boolean {
  switch (type) {
    case "array":
      return Array.isArray(value)
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value)
    case "null":
      return value === null
    case "integer":
      return Number.isInteger(value)
    case "number":
      return Number.isFinite(value)
    default:
      return typeof value === type
  }
}
