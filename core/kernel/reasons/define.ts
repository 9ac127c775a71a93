// How reasons are declared: the stable words that `details.reason` of an error holds, each with its code, what it means,
// what to do, and what else the details hold. The types of errors are read from these declarations.
import { z } from "zod"
import type { ErrorCode } from "../errors.ts"

/** What a reason of an error stands for. */
export interface ReasonSpec {
  /** The code of every error with this reason. */
  readonly code: ErrorCode
  /** One sentence for the reference: what happened. */
  readonly summary: string
  /** What the caller can do, where it is more than what the code says. */
  readonly remedy?: string
  /** Further fields of `details`, beside `reason`: name and described schema. */
  readonly details?: Readonly<Record<string, z.ZodType>>
}

/** Reasons by their word, as core and each plugin declare their own. */
export type ReasonSpecs = Readonly<Record<string, ReasonSpec>>

/** What AppError is to know of declared reasons; each declaration extends the global `MillraceReasons` by its own. */
export type ReasonsOf<S extends ReasonSpecs> = {
  readonly [R in keyof S]: { readonly code: S[R]["code"]; readonly details: DetailsOf<S[R]> }
}

type DetailsOf<S extends ReasonSpec> = S extends { readonly details: infer Shape extends Readonly<Record<string, z.ZodType>> }
  ? z.output<z.ZodObject<Shape>>
  : unknown

/** Declares reasons, checked as they stand. */
export function defineReasons<const S extends ReasonSpecs>(reasons: S): S {
  return reasons
}

/** `details.fields`: what is wrong with which field. */
export const FieldProblems = z.array(z.object({ path: z.string(), message: z.string() })).describe("Path and message of each field.")
