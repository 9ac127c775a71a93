// What transforms and scripts wrote by `console`, as records, answers and errors tell it.
import { z } from "zod"

/** Lines that a transform or script wrote by `console`: at most 20 for each run, of 500 characters. */
export const LogLines = z
  .array(z.object({ level: z.enum(["debug", "info", "warn", "error"]), text: z.string() }))
  .describe("What it wrote by `console`, without the values of fields named like secrets.")
/** One of them. */
export type LogLine = z.output<typeof LogLines>[number]
