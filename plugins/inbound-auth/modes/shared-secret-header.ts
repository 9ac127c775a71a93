// `shared_secret_header`: the secret itself in a header, for senders that cannot sign. The body is not authenticated.
import { z } from "zod"
import { defineAuthMode } from "#core"
import { HeaderName } from "../checks/secret-header.ts"
import { plainSecret } from "../providers/secret.ts"
import { guardCheck } from "../request/guarded.ts"
import { prepareToken } from "../schemes/token.ts"
import { noFetcher, verdictOf } from "./plain-verifier.ts"

export const sharedSecretHeader = defineAuthMode({
  mode: "shared_secret_header",
  summary: "The secret itself in a header.",
  description:
    "Header `X-Webhook-Secret` (renameable) holds the whole secret as shown. It authenticates the sender, not the body; prefer a signature if the sender supports one.",
  config: z.strictObject({
    header: HeaderName.default("X-Webhook-Secret").describe("Header that carries the secret."),
  }),
  examples: [
    {
      title: "A sender that can only add a header",
      yaml: "auth_mode: shared_secret_header\nauth_config: { secret: { from_env: LEADS_SECRET }, header: X-Lead-Key }",
    },
  ],
  secret: () => "generated",
  checkSecret: plainSecret,
  prepare({ config, secrets }) {
    const at = `header:${config.header.toLowerCase()}`
    const match = prepareToken(
      { kind: "token_header", at },
      { secrets: secrets.filter(({ value }) => value !== ""), config: {}, fetcher: noFetcher },
    )
    return { verify: guardCheck((view) => verdictOf(match(view))), coversBody: false, retries: true }
  },
  sign: ({ config, secret }) => ({ headers: { [config.header.toLowerCase()]: secret } }),
})
