// A connection's health, and its change after a check.
import { z } from "zod"
import { timestamp } from "#core"
import type { Proof } from "./proof.ts"

export const healthFields = {
  status: z.enum(["unknown", "healthy", "failing"]).describe("`unknown`: not checked since it was connected or rotated."),
  reason: z.string().describe("Of the last failed check; empty where none failed."),
  message: z.string(),
  since: z.string().nullable().describe("When the status became what it is."),
  checked_at: z.string().nullable(),
}

export interface Health extends z.infer<z.ZodObject<typeof healthFields>> {
  /** Consecutive failed checks. */
  failures: number
}

export const unknownHealth: Health = { status: "unknown", reason: "", message: "", since: null, checked_at: null, failures: 0 }

/** Consecutive failures until a temporary error counts as failing. */
const transientFailures = 2

/** Returns a failing health without a check: the authorization server or broker reported the end of access. */
export function endedHealth(before: Health, problem: string, at: string): Health {
  const since = before.status === "failing" ? before.since : at
  const message = `${problem}. Connect it again with rotate_credentials.`
  return { status: "failing", reason: "authorization_expired", message, since, checked_at: at, failures: before.failures + 1 }
}

const silentReason = "authorization_server_silent"

/** Returns a failing health without a check: the authorization server did not answer a refresh, so calls are impossible. */
export function silentHealth(before: Health, problem: string, at: string): Health {
  const since = before.status === "failing" ? before.since : at
  const message = `${problem} Check the authorization server. Calls go on by themselves once it answers.`
  return { status: "failing", reason: silentReason, message, since, checked_at: at, failures: before.failures + 1 }
}

export function isSilentHealth({ status, reason }: Health): boolean {
  return status === "failing" && reason === silentReason
}

/**
 * Returns the health after a check. A rate limit proves nothing about the credentials. Temporary errors count from the second
 * time on.
 */
export function healthAfter(before: Health, proof: Proof, now: number): Health {
  const at = timestamp(now)
  if (proof.reason === "rate_limited") return { ...before, checked_at: at }
  if (proof.ok) {
    const since = before.status === "healthy" ? before.since : at
    return { status: "healthy", reason: "", message: "", since, checked_at: at, failures: 0 }
  }
  const { reason, message } = proof
  const failures = before.failures + 1
  const isFailing = before.status === "failing" || !proof.transient || failures >= transientFailures
  if (!isFailing) return { ...before, reason, message, checked_at: at, failures }
  return { status: "failing", reason, message, since: before.status === "failing" ? before.since : at, checked_at: at, failures }
}
