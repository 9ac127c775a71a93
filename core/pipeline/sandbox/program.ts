// What makes a program the same: its digest covers the organization, whose own process compiled it, schema, transform and
// the form of the compiled text, so that a change of that form never meets programs of an older one.
import { createHash } from "node:crypto"
import type { ProgramSource } from "./compiler.ts"
import type { Program } from "./sandbox.ts"
import { withContextMark } from "./transform-mark.ts"

/** Raise when compiled programs look different from before. */
const form = "4"

export function digestOf({ organization, schema, transform, entry }: ProgramSource): string {
  const text = JSON.stringify([form, organization, schema ?? null, transform, ...(entry === undefined ? [] : [entry])])
  return createHash("sha256").update(text).digest("hex")
}

export function wantsContext(program: Program): boolean {
  return program.transform?.startsWith(withContextMark) ?? false
}
