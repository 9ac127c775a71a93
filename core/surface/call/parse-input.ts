// The input of a call through its zod schema: every problem at once, each with a dotted path.
import type { z } from "zod"
import { AppError } from "../../kernel/errors.ts"
import { dotted, type Refused, zodProblems } from "../../kernel/zod-problems.ts"
import { refuseDeepNesting } from "./nesting.ts"

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

function refusal(refused: Refused): AppError {
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

/** zod leaves a key `__proto__` out without a word, wherever it stands. */
function protoKey(value: unknown): string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const below = key === "__proto__" ? [] : protoKey(inner)
    if (below) return [key, ...below]
  }
  return undefined
}
