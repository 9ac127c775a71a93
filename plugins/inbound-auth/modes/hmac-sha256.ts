// `hmac_sha256`: HMAC-SHA256 over the raw body, or over `{timestamp}.{body}`, in a header as `sha256=<hex>`.
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

const config = z.strictObject({
  header: HeaderName.default("X-Signature-256").describe("Header that carries `sha256=` and the signature."),
  encoding: z.enum(["hex", "base64"]).default("hex").describe("Encoding of the signature after `sha256=`."),
  require_timestamp: z
    .boolean()
    .default(false)
    .describe("Sign `{timestamp}.{body}`, the timestamp being header X-Signature-Timestamp in seconds."),
  tolerance_s: Tolerance,
})

export const hmacSha256 = defineAuthMode({
  mode: "hmac_sha256",
  summary: "HMAC-SHA256 of the raw body in a header.",
  description:
    "The key is the UTF-8 bytes of the whole secret as shown, including `whsec_`. Header `X-Signature-256: sha256=<hex>`; with `require_timestamp` the text `{timestamp}.{body}` is signed and header `X-Signature-Timestamp` (seconds) must be fresh.",
  config,
  examples: [
    { title: "For most senders", yaml: "auth_mode: hmac_sha256\nauth_config: { secret: { from_env: LEADS_SECRET } }" },
    {
      title: "With a timestamp, against replays of captured requests",
      yaml: "auth_mode: hmac_sha256\nauth_config: { secret: { from_env: LEADS_SECRET }, require_timestamp: true, tolerance_s: 60 }",
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

function schemeOf({ header, encoding, require_timestamp, tolerance_s }: z.output<typeof config>): DigestScheme {
  const scheme: DigestScheme = {
    kind: "hmac",
    hash: "sha256",
    key: "utf8",
    signature: { at: [`header:${header.toLowerCase()}`], encoding, prefix: "sha256=" },
    signed: require_timestamp ? "{timestamp}.{body}" : "{body}",
  }
  return require_timestamp ? { ...scheme, timestamp: { at: ["header:x-signature-timestamp"], unit: "s", tolerance_s } } : scheme
}
