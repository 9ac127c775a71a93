// The check of a record: the expected value, the value in DNS, and the fix.
import { z } from "zod"
import type { Answer } from "../dns/lookup.ts"
import type { ExpectedRecord } from "../registrations.ts"

const problems = [
  "missing",
  "name_doubled",
  "quoted",
  "escaped",
  "refused",
  "several",
  "split",
  "truncated",
  "different",
  "too_many_lookups",
  "too_many_void_lookups",
  "broken_include",
  "proxied",
] as const

export const RecordCheck = z.object({
  record: z.enum(["dkim", "spf", "return_path", "dmarc", "mx"]),
  name: z.string(),
  type: z.string(),
  state: z.enum(["ok", "wrong", "unknown"]).describe("`unknown`: DNS did not tell, which counts for nothing."),
  problem: z.enum(problems).nullable(),
  expected: z.string(),
  found: z.array(z.string()),
  where: z
    .enum(["authoritative", "cache", "nowhere"])
    .describe("Whether the answer is the name server's own or a cache's; `nowhere`: there was no answer."),
  ttl_s: z.int().nullable().describe("Seconds for which the answer may still be cached."),
  fix: z.string().describe("What to do; empty where nothing is."),
})
export type RecordCheck = z.output<typeof RecordCheck>

/** A mistake in a record, and its fix. */
export interface Fault {
  readonly problem: (typeof problems)[number]
  readonly fix: string
}

/** Returns the check of a record. `fault`: undefined for a correct record, an Error if DNS did not answer a required question. */
export function checkOf(expected: ExpectedRecord, answer: Answer, fault: Fault | Error | undefined): RecordCheck {
  const about = { record: expected.kind, name: expected.name, type: expected.type, expected: expected.value }
  const seen = answer.known
    ? { found: [...answer.values], where: answer.authoritative ? ("authoritative" as const) : ("cache" as const), ttl_s: answer.ttl }
    : { found: [], where: "nowhere" as const, ttl_s: null }
  const unknown = !answer.known ? answer.why : fault instanceof Error ? fault.message : undefined
  if (unknown !== undefined)
    return { ...about, ...seen, state: "unknown", problem: null, fix: `Nothing yet: DNS did not tell (${unknown}).` }
  if (fault === undefined || fault instanceof Error) return { ...about, ...seen, state: "ok", problem: null, fix: "" }
  const wait =
    seen.where === "cache" && seen.ttl_s ? ` The answer is from a cache; a record that was just changed shows within ${seen.ttl_s} s.` : ""
  return { ...about, ...seen, state: "wrong", problem: fault.problem, fix: `${fault.fix}${wait}` }
}
