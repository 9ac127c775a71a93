// Parses the input of a call with its zod schema. Reports all problems at once, each with a dotted path.
import type { z } from "zod"
import { AppError } from "../../kernel/errors.ts"
import { protoKey } from "../../kernel/json.ts"
import { maxLevels, tooDeep } from "../../kernel/json-shape.ts"
import { dotted, type RefusedValue, zodProblems } from "../../kernel/zod-problems.ts"

/**
 * Throws `invalid_argument`. `details.fields` has the first hundred problems, `details.problems` the total. Input with too deep
 * nesting is refused before parsing.
 */
export async function parseInput<S extends z.ZodType>(schema: S, raw: unknown): Promise<z.output<S>> {
  refuseDeepNesting(raw)
  const parsed = await schema.safeParseAsync(raw)
  if (!parsed.success) throw refusal({ schema, value: raw, issues: parsed.error.issues })
  const reserved = protoKey(raw)
  if (!reserved) return parsed.data
  throw refusal({
    schema,
    value: raw,
    issues: [{ code: "custom", path: reserved, message: 'The name "__proto__" is reserved.', input: raw }],
  })
}

function refusal(refused: RefusedValue): AppError {
  const { problems, count } = zodProblems(refused)
  const fields = problems.map(({ path, message }) => ({ path: dotted(path), message }))
  const [first] = fields
  const place = first?.path ? `"${first.path}": ` : ""
  const more = count > 1 ? ` (and ${count - 1} more, see details.fields)` : ""
  return new AppError("invalid_argument", `${place}${first?.message ?? "The input is invalid."}${more}`, {
    reason: "invalid_fields",
    fields,
    ...(count > fields.length ? { problems: count } : {}),
  })
}

// Maximum nesting of an input. JSON.parse accepts any depth. Zod, digests and audit records recurse and would overflow the stack.

/**
 * Throws `invalid_argument` for an input with more than 100 levels, including the input itself. Iterates over levels without
 * recursion.
 */
function refuseDeepNesting(input: unknown): void {
  let level = [input].filter(isNested)
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= maxLevels) throw tooDeep()
    level = level.flatMap((value) => Object.values(value).filter(isNested))
  }
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null
}
