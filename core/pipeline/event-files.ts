// The port for files of forms: a plugin keeps them in its storage, and the engine stores references in the event.
import type { UnitOfWork } from "../contract/unit-of-work.ts"
import { token } from "../kernel/di.ts"

/** A file as it was sent. */
export interface ReceivedFile {
  /** Name of the form's field. */
  readonly field: string
  /** As the sender named it; "" if nobody did. */
  readonly name: string
  /** Media type, as the sender says. */
  readonly type: string
  readonly bytes: Uint8Array
}

/** What the event holds in place of a file. */
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
  /** Bytes that all files of one event may have. */
  readonly maxEventBytes: number
  /** Returns a reference for each file, in order. Throws `resource_exhausted` for a file or an event that is too large. */
  refer(event: FilesOfEvent, files: readonly ReceivedFile[]): readonly FileReference[]
  /** Reserves and stores the files, and stages what refers to them. Throws `resource_exhausted` beyond a quota. */
  keep(work: UnitOfWork, event: FilesOfEvent, files: readonly ReceivedFile[], rowIds: readonly string[]): Promise<void>
  /** Removes files of an event that failed after `keep`, and frees their bytes. Files of a committed event stay. */
  release(event: FilesOfEvent, files: readonly ReceivedFile[]): Promise<void>
}

/** The plugin that stores files of events, if one is loaded. */
export interface EventFiles {
  /** Call it while services are created; one keeper a service. */
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
