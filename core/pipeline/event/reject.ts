// The ways in which an event ends other than by being carried out: each leaves the entry that tells why, and an answer
// that tells its sender what to do.
import { type Clock, timestamp } from "../../kernel/clock.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"
import { noteOutcome, noteReply } from "../journal/draft.ts"
import type { JournalEntry } from "../journal/entry.ts"
import type { KeptEvent } from "../journal/kept.ts"
import type { Rejections } from "../journal/rejections.ts"
import type { SandboxResult } from "../sandbox/sandbox.ts"
import type { StoredPipeline } from "../source.ts"
import { type Answer, answerError, errorReply } from "./answer.ts"
import type { Conclude } from "./commit.ts"

export interface RefusalServices {
  readonly clock: Clock
  readonly log: Logger
  readonly rejections: Rejections
  readonly conclude: Conclude
}

const transformCauses = {
  threw: "transform_threw",
  timeout: "transform_timeout",
  memory: "transform_memory",
  bad_result: "transform_result",
} as const

export class Refusals {
  readonly #services: RefusalServices

  constructor(services: RefusalServices) {
    this.#services = services
  }

  /** The sender's fault. `keep`: what the event may be replayed from. */
  async rejected(stored: StoredPipeline, entry: JournalEntry, error: AppError, cause: string, keep?: KeptEvent): Promise<Answer> {
    const { rejections, conclude } = this.#services
    if (rejections.takesOwnEntry(entry.pipeline_id)) {
      noteRejection(entry, error, cause)
      await conclude.entryOnly(stored, entry, keep)
    } else this.counted(stored, entry, error, cause)
    return answerError(error)
  }

  /** One of many: counted in one entry a cause and minute. */
  counted(stored: StoredPipeline, entry: JournalEntry, error: AppError, cause: string): void {
    noteRejection(entry, error, cause)
    this.#services.rejections.fold(stored.organization.id, entry)
  }

  /** What schema, transform or the sandbox itself made of it. `event` is as senders may see it, without proof. */
  bySandbox(
    stored: StoredPipeline,
    entry: JournalEntry,
    event: KeptEvent,
    result: SandboxResult & { ok: false },
  ): Promise<Answer> | Answer {
    if (result.kind === "malformed" || result.kind === "invalid") {
      entry.schema_errors = result.errors.map(({ pointer, message }) => ({ pointer, message }))
      const fields = result.errors.map(({ pointer, message }) => ({ path: pointer, message }))
      const reason = result.kind === "malformed" ? "malformed_body" : "schema_mismatch"
      const error = new AppError("invalid_argument", result.message, { reason, fields })
      return this.rejected(stored, entry, error, reason, result.kind === "malformed" ? undefined : event)
    }
    if (result.kind === "unavailable") {
      noteOutcome(entry, "failed", "unavailable")
      return answerError(new AppError("unavailable", "The event could not be processed now.", {}, { retryAfterS: result.retryAfterS ?? 1 }))
    }
    if (result.kind === "penalty") {
      const message = "This pipeline's code has run away repeatedly and is paused."
      const error = new AppError("resource_exhausted", message, { reason: "penalty" }, { retryAfterS: result.retryAfterS ?? 5 })
      this.counted(stored, entry, error, "penalty")
      return answerError(error)
    }
    const cause = transformCauses[result.kind]
    noteOutcome(entry, "failed", cause, { code: "failed_precondition", message: result.message })
    const error = new AppError("failed_precondition", "The pipeline could not make sense of the event.", {
      reason: cause,
      cause: result.message,
      ...lineOf(result),
      execution_id: entry.id,
    })
    noteReply(entry, errorReply(error))
    return this.#services.conclude.entryOnly(stored, entry, event).then(() => answerError(error))
  }

  /** Our fault: storage is away, or there is a defect. */
  broken(entry: JournalEntry, error: unknown): Answer {
    const known = asAppError(error)
    if (known.code === "unavailable" || known.code === "resource_exhausted" || known.code === "deadline_exceeded") {
      noteOutcome(entry, "failed", "unavailable")
      return answerError(
        new AppError(
          "unavailable",
          "The event could not be stored now; send it again.",
          { reason: known.details.reason ?? known.code },
          { retryAfterS: known.retryAfterS ?? 1 },
        ),
      )
    }
    this.#services.log.error({ err: error, execution: entry.id }, "an event broke its way through the engine")
    noteOutcome(entry, "failed", "internal")
    return answerError(
      new AppError("internal", "Something went wrong on our side.", { execution_id: entry.id, at: timestamp(this.#services.clock.now()) }),
    )
  }
}

/** The verdict's own words, where it is what refuses, say more than the sender is told. */
function noteRejection(entry: JournalEntry, error: AppError, cause: string): void {
  noteOutcome(entry, "rejected", cause, { code: error.code, message: entry.verdict.message || error.message })
  noteReply(entry, errorReply(error))
}

function lineOf(result: SandboxResult): { line?: number } {
  return "line" in result && result.line !== undefined ? { line: result.line } : {}
}
