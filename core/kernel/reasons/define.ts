// Declares reasons: the stable words in `details.reason` of an error, each with its code, meaning, remedy and further details.
// The types of errors derive from these declarations.
import { z } from "zod"
import type { ErrorCode } from "../errors.ts"

/** The declaration of a reason. */
export interface ReasonSpec {
  /** The code of every error with this reason. */
  readonly code: ErrorCode
  /** One sentence for the reference about the event. */
  readonly summary: string
  /** The caller's remedy, if the code does not imply it. */
  readonly remedy?: string
  /** Further fields of `details`, besides `reason`: name and described schema. */
  readonly details?: Readonly<Record<string, z.ZodType>>
}

/** Reasons by their word. */
export type ReasonSpecs = Readonly<Record<string, ReasonSpec>>

/** The types that AppError needs of declared reasons. Each declaration extends the global `MillraceReasons`. */
export type ReasonsOf<S extends ReasonSpecs> = {
  readonly [R in keyof S]: { readonly code: S[R]["code"]; readonly details: DetailsOf<S[R]> }
}

type DetailsOf<S extends ReasonSpec> = S extends { readonly details: infer Shape extends Readonly<Record<string, z.ZodType>> }
  ? z.output<z.ZodObject<Shape>>
  : unknown

/** Declares reasons and checks their types. */
export function defineReasons<const S extends ReasonSpecs>(reasons: S): S {
  return reasons
}

/** `details.fields`: the problem of each field. */
export const FieldProblems = z.array(z.object({ path: z.string(), message: z.string() })).describe("Path and message of each field.")
