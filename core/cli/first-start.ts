// What a service's first start wrote into its data folder: where it is, and the key of its owner.
import { z } from "zod"
import { CommandProblem } from "../kernel/command.ts"
import { readGiven } from "./given-file.ts"

const FirstStart = z.object({ base_url: z.string(), admin_key: z.string() })

/** Throws CommandProblem where the file cannot be read, or is another. */
export function firstStart(file: string): z.infer<typeof FirstStart> {
  const text = readGiven(file).toString("utf8")
  try {
    return FirstStart.parse(JSON.parse(text))
  } catch {
    throw new CommandProblem(`${file} does not hold what a first start writes (base_url and admin_key).`)
  }
}
