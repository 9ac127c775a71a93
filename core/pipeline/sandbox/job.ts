// A call to the sandbox while it waits and runs, and its text form.

import { createHash } from "node:crypto"
import type { WrittenLine } from "../../kernel/log-lines.ts"
import type { ProgramSource } from "./compiler.ts"
import type { Program, SandboxCall, SandboxResult } from "./sandbox.ts"
import { withContextMark } from "./transform-mark.ts"
import { pack } from "./wire.ts"

export interface Job {
  readonly key: string
  readonly call: SandboxCall
  readonly resolve: (result: SandboxResult) => void
  readonly queuedAt: number
  /** Number of children lost during this job without a known culprit. */
  losses: number
  /** Runs in its own group, because its previous group crashed a child. */
  alone: boolean
}

/** Key of isolates: a pipeline of an organization. */
export function keyOf(organization: string, pipelineId: string): string {
  return `${organization}/${pipelineId}`
}

export function batchOf(program: Program, jobs: readonly Job[]): string {
  const contexts = wantsContext(program)
  const parts: string[] = []
  for (const { call } of jobs) {
    parts.push(`${call.script ? "r" : call.wantsPayload ? "p" : "-"}${call.receivedAt}`, call.body, contexts ? call.context : "", call.seed)
  }
  return pack(parts)
}

/** Decodes the five strings of an event's result from the isolate (isolate/runner.ts). */
export function resultOf(call: SandboxCall, strings: readonly string[]): SandboxResult {
  const [meta = "", event = "", payload = "", envelope = "", lines = ""] = strings
  const result = meta.charAt(0) === "o" ? successFrom(call, meta, event, payload, envelope) : failureFrom(event)
  return lines === "" ? result : { ...result, logs: JSON.parse(lines) as WrittenLine[] }
}

function successFrom(call: SandboxCall, meta: string, event: string, payload: string, envelope: string): SandboxResult {
  const test = meta.charAt(1)
  const payloadMark = meta.charAt(3)
  return {
    ok: true,
    event: meta.charAt(2) === "s" ? call.body : event,
    payload: payloadMark === "s" ? call.body : payloadMark === "p" ? payload : null,
    envelope: envelope === "" ? null : envelope,
    isTest: test === "-" ? null : test === "t",
  }
}

/** Decodes a failure from an isolate or child: the result without `ok`. */
export function failureFrom(text: string): SandboxResult {
  return { ok: false, ...JSON.parse(text) } as SandboxResult
}

export function unavailable(message: string): { ok: false; kind: "unavailable"; message: string; retryAfterS: number } {
  return { ok: false, kind: "unavailable", message, retryAfterS: 1 }
}

/** Increase this when the format of compiled programs changes. */
const form = "4"

/**
 * Returns the digest of a program. It covers the organization, schema, transform and the format of the compiled text. Each
 * organization compiles in its own process. A changed format never reads programs of an older format.
 */
export function digestOf({ organization, schema, transform, entry }: ProgramSource): string {
  const text = JSON.stringify([form, organization, schema ?? null, transform, ...(entry === undefined ? [] : [entry])])
  return createHash("sha256").update(text).digest("hex")
}

export function wantsContext(program: Program): boolean {
  return program.transform?.startsWith(withContextMark) ?? false
}
