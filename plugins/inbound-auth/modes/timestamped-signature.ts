// `timestamped_signature`: HMAC-SHA256 over time and body, both in one header, for example `t=1768469400,v1=5257a8…`. For senders
// outside the provider table with this common scheme.
import { z } from "zod"
import { defineAuthMode } from "#core"
import { HeaderName } from "../checks/secret-header.ts"
import { Tolerance } from "../checks/timestamp.ts"
import { plainSecret } from "../providers/secret.ts"
import { guardCheck } from "../request/guarded.ts"
import { prepareDigest } from "../schemes/digest.ts"
import type { DigestScheme } from "../schemes/scheme.ts"
import { signDigest } from "../signing/sign-digest.ts"
import { noFetcher, verdictOf } from "./plain-verifier.ts"

const part = "[A-Za-z0-9_-]{1,32}"
const patternForm = new RegExp(
  `^(?:(?<t1>${part})=\\{timestamp\\}(?<s1>[,; ])(?<v1>${part})=\\{signature\\}|(?<v2>${part})=\\{signature\\}(?<s2>[,; ])(?<t2>${part})=\\{timestamp\\})$`,
)

const config = z.strictObject({
  header: HeaderName.describe("Header that carries timestamp and signature, such as Acme-Signature."),
  pattern: z
    .string()
    .regex(patternForm, "two parts such as t={timestamp},v1={signature}, separated by a comma, a semicolon or a space")
    .default("t={timestamp},v1={signature}")
    .describe("Format of the header; it may hold several signatures."),
  signed: z
    .enum(["{timestamp}.{body}", "{timestamp}:{body}", "{timestamp}{body}", "v0:{timestamp}:{body}"])
    .default("{timestamp}.{body}")
    .describe("The text that is signed."),
  unit: z.enum(["s", "ms"]).default("s").describe("Unit of the timestamp, since the epoch."),
  encoding: z.enum(["hex", "base64"]).default("hex").describe("Encoding of the signature."),
  tolerance_s: Tolerance,
})

export const timestampedSignature = defineAuthMode({
  mode: "timestamped_signature",
  summary: "HMAC-SHA256 of timestamp and raw body, both in one header (`t=…,v1=…`).",
  description:
    "For senders that are not in the provider table but use its most common scheme. The key is the UTF-8 bytes of the whole secret. If the sender issues the secret, give it as `auth_config.secret`.",
  config,
  examples: [
    {
      title: "A header like Stripe's, of your own sender",
      yaml: "auth_mode: timestamped_signature\nauth_config: { secret: { from_env: ACME_SECRET }, header: Acme-Signature }",
    },
    {
      title: "Milliseconds, other names, base64",
      yaml: 'auth_mode: timestamped_signature\nauth_config:\n  secret: { from_env: ACME_SECRET }\n  header: X-Acme-Proof\n  pattern: "sig={signature};ts={timestamp}"\n  signed: "{timestamp}:{body}"\n  unit: ms\n  encoding: base64\n  tolerance_s: 60',
    },
  ],
  secret: () => "generated",
  checkSecret: plainSecret,
  prepare({ config, secrets }) {
    const match = prepareDigest(schemeOf(config), { secrets: secrets.filter(({ value }) => value !== ""), config: {}, fetcher: noFetcher })
    return { verify: guardCheck((view) => verdictOf(match(view))), coversBody: true, retries: true }
  },
  sign: ({ config, secret, request }) => signDigest({ scheme: schemeOf(config), secret, request, settings: {} }),
})

function schemeOf({ header, pattern, signed, unit, encoding, tolerance_s }: z.output<typeof config>): DigestScheme {
  const { t1, s1, v1, v2, s2, t2 } = patternForm.exec(pattern)?.groups ?? {}
  const keys = { signature: v1 ?? v2 ?? "v1", timestamp: t1 ?? t2 ?? "t" }
  return {
    kind: "hmac_timestamped",
    hash: "sha256",
    key: "utf8",
    signature: { at: [`header:${header.toLowerCase()}`], encoding, separator: s1 ?? s2 ?? ",", keys },
    signed,
    timestamp: { at: ["part"], unit, tolerance_s },
  }
}
