// What calls cost by the configured prices, and what they may cost at most.
import type { Usage } from "./budget.ts"
import type { EmbeddingModelSettings, LanguageModelSettings } from "./settings.ts"

/** From above: a token of English is about four bytes, of other scripts fewer. */
export const bytesPerToken = 2

/** Millicents. */
export function costOf({ prices }: LanguageModelSettings | EmbeddingModelSettings, { inputTokens, outputTokens }: Usage): number {
  return (inputTokens * prices.input + outputTokens * prices.output) / 1_000_000
}
