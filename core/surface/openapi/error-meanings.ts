// What each error code means to a client, and what the caller can do, for the documentation.
import type { ErrorCode } from "../../kernel/errors.ts"
import meanings from "./error-meanings.json" with { type: "json" }

interface ErrorMeaning {
  readonly means: string
  readonly advice: string
}

export const errorMeanings: Readonly<Record<ErrorCode, ErrorMeaning>> = meanings
