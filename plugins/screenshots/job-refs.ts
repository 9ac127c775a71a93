// What is needed to stage the jobs; what they do is in jobs.ts.
import { z } from "zod"
import { Uuid } from "#core"

const payload = z.strictObject({ id: Uuid })

/** Retried only where the fault is ours: the caller is waiting. */
const retry = { max_attempts: 3, initial_delay_ms: 1_000, factor: 4, max_delay_ms: 60_000 }

export const renderRef = { type: "screenshots.render", payload, retry }
export const expireRef = { type: "screenshots.expire", payload }
