// How deep an input may nest. JSON.parse reads any depth, and what walks the value afterwards (zod, digests, the audit
// record) does so by recursion, which would end in an overflow of the stack.
import { AppError } from "../../kernel/errors.ts"

const maxLevels = 100

/** Throws `invalid_argument` for an input of more than 100 levels, itself counted. Level by level, so that it holds at any depth. */
export function refuseDeepNesting(input: unknown): void {
  let level = [input].filter(isNested)
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= maxLevels)
      throw new AppError("invalid_argument", `The input is nested more than ${maxLevels} levels deep.`, { reason: "body_too_deep" })
    level = level.flatMap((value) => Object.values(value).filter(isNested))
  }
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null
}
