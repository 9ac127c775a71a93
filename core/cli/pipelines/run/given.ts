// What a command line gives: files that may not be there, times that may be none. What is wrong with it is one line and
// exit code 2, so that it is not taken for what the pipeline did.
import { readFileSync } from "node:fs"
import { z } from "zod"

/** The message says all: no stack helps whoever mistyped a name. */
export class GivenError extends Error {
  override readonly name = "GivenError"
}

const causes: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "there is no such file",
  EISDIR: "it is a folder; name a file in it",
  EACCES: "it may not be read",
  EPERM: "it may not be read",
}

/** `-` is standard input where `orInput` says so. Throws GivenError. */
export function readGiven(file: string, { orInput = false }: { orInput?: boolean } = {}): Buffer {
  try {
    return readFileSync(orInput && file === "-" ? 0 : file)
  } catch (error) {
    throw new GivenError(`${file} cannot be read: ${causes[(error as NodeJS.ErrnoException).code ?? ""] ?? (error as Error).message}.`)
  }
}

/** An RFC 3339 time as it was given. Throws GivenError. */
export function timeGiven(option: string, text: string): string {
  if (z.iso.datetime({ offset: true }).safeParse(text).success) return text
  throw new GivenError(`${option} takes an RFC 3339 time, such as 2026-01-15T09:30:00Z; "${text}" is none.`)
}

/** Runs a command's action; a GivenError is told and ends it with 2. */
export async function answering(end: (exitCode: number) => void, action: () => Promise<void>): Promise<void> {
  try {
    await action()
  } catch (error) {
    if (!(error instanceof GivenError)) throw error
    console.error(error.message)
    end(2)
  }
}
