// Port for files in forms. A plugin stores the files, and the engine stores references in the event.
import type { UnitOfWork } from "../contract/unit-of-work.ts"
import { token } from "../kernel/di.ts"

/** A file as received. */
export interface ReceivedFile {
  /** Name of the form field. */
  readonly field: string
  /** Name from the sender, or "". */
  readonly name: string
  /** Media type from the sender. */
  readonly type: string
  readonly bytes: Uint8Array
}

/** Replaces a file in the event. */
export interface FileReference {
  readonly key: string
  readonly name: string
  readonly type: string
  readonly size: number
}

/** An accepted event with files. */
export interface FilesOfEvent {
  readonly organization: string
  readonly pipelineId: string
  readonly executionId: string
  /** RFC 3339. */
  readonly receivedAt: string
}

/** Stores the files of events. */
export interface FileKeeper {
  /** Maximum total bytes of all files of an event. */
  readonly maxEventBytes: number
  /** Returns a reference for each file, in order. Throws `resource_exhausted` for a file or an event that is too large. */
  refer(event: FilesOfEvent, files: readonly ReceivedFile[]): readonly FileReference[]
  /** Reserves and stores the files, and stages their records. Throws `resource_exhausted` beyond a quota. */
  keep(work: UnitOfWork, event: FilesOfEvent, files: readonly ReceivedFile[], rowIds: readonly string[]): Promise<void>
  /** Removes files of an event that failed after `keep`, and frees their bytes. Files of a committed event stay. */
  release(event: FilesOfEvent, files: readonly ReceivedFile[]): Promise<void>
}

/** The plugin that stores files of events, if one is loaded. */
export interface EventFiles {
  /** Call this while services are created. A service has one keeper. */
  use(keeper: FileKeeper): void
  readonly keeper: FileKeeper | undefined
}

export const EventFiles = token<EventFiles>("EventFiles")

export function createEventFiles(): EventFiles {
  let keeper: FileKeeper | undefined
  return {
    use(given) {
      if (keeper) throw new Error("Two plugins keep the files of events; load one of them.")
      keeper = given
    },
    get keeper() {
      return keeper
    },
  }
}
