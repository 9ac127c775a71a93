// Times of Meta's webhooks.
import { type Json, timestamp } from "#core"
import { numberOf } from "../received.ts"

/** Seconds since the epoch; never later than the delivery itself. */
export function timeOf(value: Json | undefined, receivedAt: string): string {
  const seconds = numberOf(value)
  if (seconds === undefined || seconds <= 0) return receivedAt
  return timestamp(Math.min(Math.floor(seconds * 1_000), Date.parse(receivedAt)))
}
