// The input of a call through its zod schema: every problem at once, each with a dotted path.
import type { z } from "zod"
import { AppError } from "../../kernel/errors.ts"
import { protoKey } from "../../kernel/json.ts"
import { maxLevels, tooDeep } from "../../kernel/json-shape.ts"
import { dotted, type RefusedValue, zodProblems } from "../../kernel/zod-problems.ts"

/** Throws `invalid_argument`: with the first hundred problems in `details.fields` and how many there are in `details.problems`, or for an input that nests too deep to be looked at. */
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

// How deep an input may nest. JSON.parse reads any depth, and what walks the value afterwards (zod, digests, the audit
// record) does so by recursion, which would end in an overflow of the stack.

/** Throws `invalid_argument` for an input of more than 100 levels, itself counted. Level by level, so that it holds at any depth. */
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
