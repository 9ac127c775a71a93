// Stores the files of a form before the commit of their event, and releases them if the commit fails.
import type { Reply } from "../../contract/action.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"
import type { FileKeeper, FilesOfEvent } from "../event-files.ts"
import type { Execution } from "../run/execution.ts"
import type { EventContext } from "./event.ts"
import type { Rejector } from "./reject.ts"

interface FileServices {
  readonly keeper: FileKeeper
  readonly log: Logger
  readonly reject: Rejector
  /** Commits the event. */
  readonly write: () => Promise<Reply | undefined>
}

export async function commitWithFiles(
  { keeper, log, reject, write }: FileServices,
  event: EventContext,
  execution: Execution,
): Promise<Reply | undefined> {
  const files = filesOf(event)
  try {
    const rowIds = execution.rows.map(({ row_id }) => row_id)
    await keeper.keep(execution.work, files, event.files, rowIds)
  } catch (error) {
    if (!(error instanceof AppError) || error.status !== 413) throw error
    event.entry.rows = []
    return await reject.rejected(event, error)
  }
  let isStored = false
  try {
    const reply = await write()
    isStored = event.entry.status === "accepted" && event.entry.repeat_of === null
    return reply
  } finally {
    if (!isStored) await release()
  }

  /** On failure, a job of the keeper removes the files later. */
  async function release(): Promise<void> {
    try {
      await keeper.release(files, event.files)
    } catch (error) {
      log.warn({ err: error, execution: event.executionId }, "files of an event without a commit are removed later")
    }
  }
}

export function filesOf({ stored, executionId, receivedAt }: EventContext): FilesOfEvent {
  return { organization: stored.organization.id, pipelineId: stored.id, executionId, receivedAt }
}
