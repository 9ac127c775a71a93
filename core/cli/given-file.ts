// Reads files named on a command line. Errors are one line without a stack.
import { readFileSync } from "node:fs"
import { CommandProblem } from "../kernel/command.ts"

const causes: Readonly<Record<string, string>> = {
  ENOENT: "the file does not exist",
  ENOTDIR: "the file does not exist",
  EISDIR: "it is a folder; name a file in it",
  EACCES: "it may not be read",
  EPERM: "it may not be read",
}

export interface Reading {
  /** Name in messages; default: the path. */
  readonly shown?: string
  readonly exitCode?: number
  /** True: `-` reads standard input. */
  readonly orInput?: boolean
}

/** Throws CommandProblem. */
export function readGiven(file: string, { shown = file, exitCode = 1, orInput = false }: Reading = {}): Buffer {
  try {
    return readFileSync(orInput && file === "-" ? 0 : file)
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException
    throw new CommandProblem(`${shown} cannot be read: ${causes[code] ?? message}.`, exitCode)
  }
}
