// What makes a program the same: its digest covers schema, transform and the form of the compiled text, so that a
// change of that form never meets programs of an older one.
import { createHash } from "node:crypto"
import type { Program } from "./sandbox.ts"
import { withContextMark } from "./transform-mark.ts"

/** Raise when compiled programs look different from before. */
const form = "1"

export function digestOf(schema: unknown, transform: string | null): string {
  const text = JSON.stringify([form, schema ?? null, transform])
  return createHash("sha256").update(text).digest("hex")
}

export function wantsContext(program: Program): boolean {
  return program.transform?.startsWith(withContextMark) ?? false
}
