// How deep an input may nest. JSON.parse reads any depth, and what walks the value afterwards (zod, digests, the audit
// record) does so by recursion, which would end in an overflow of the stack.
import { maxLevels } from "../../kernel/json-shape.ts"
import { tooDeep } from "../../kernel/too-complex.ts"

/** Throws `invalid_argument` for an input of more than 100 levels, itself counted. Level by level, so that it holds at any depth. */
export function refuseDeepNesting(input: unknown): void {
  let level = [input].filter(isNested)
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= maxLevels) throw tooDeep()
    level = level.flatMap((value) => Object.values(value).filter(isNested))
  }
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null
}
