// Tokens of page viewers: short-lived, signed, for one organization. Live connections ask about them; who mints them is a
// plugin's business.
import { token } from "../kernel/di.ts"

/** Verifies the tokens of page viewers. */
export interface ViewerTokens {
  /** The organization that the token was made for, or why it does not count. Never throws for what a token holds. */
  verify(token: string): Promise<{ readonly organization_id: string } | { readonly error: "expired" | "invalid" }>
}

export const ViewerTokens = token<ViewerTokens>("ViewerTokens")
