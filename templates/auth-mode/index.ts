// The auth mode sample_name: the sender signs the body with a secret that both know, by HMAC-SHA256.
import { createHmac, timingSafeEqual } from "node:crypto"
import { z } from "zod"
import { defineAuthMode, definePlugin, type InboundRequest, type Verdict, type VerificationSecret } from "#core"

const mode = defineAuthMode({
  mode: "sample_name",
  summary: "A signature of the body in a header.",
  description: "Header `X-Sample-Name` (renameable) holds the HMAC-SHA256 of the raw body in hex; the key is the secret as it is shown.",
  config: z.strictObject({
    header: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,100}$/, "a header name: letters, digits and -")
      .default("X-Sample-Name")
      .describe("Header that carries the signature."),
  }),
  secret: () => "generated",
  prepare: ({ config, secrets }) => ({
    verify: (request) => verdictOf(request, config.header.toLowerCase(), secrets),
    coversBody: true,
    retries: true,
  }),
  sign: ({ config, secret, request }) => ({ headers: { [config.header.toLowerCase()]: signature(request.body, secret) } }),
})

function verdictOf(request: InboundRequest, header: string, secrets: readonly VerificationSecret[]): Verdict {
  const given = request.headers[header]
  if (typeof given !== "string") return { ok: false, cause: "missing_header", message: `Expected the header ${header}, once.` }
  const live = secrets.filter(({ endsAt = Number.POSITIVE_INFINITY }) => request.receivedAt < endsAt)
  if (live.length === 0) return { ok: false, cause: "no_secret", message: "The pipeline has no secret." }
  const match = live.find(({ value }) => same(given, signature(request.body, value)))
  if (match) return { ok: true, secretId: match.id, proof: { headers: [header] } }
  return { ok: false, cause: "wrong_secret", message: `The signature in ${header} does not match this body and the pipeline's secret.` }
}

function signature(body: Buffer, secret: string): string {
  return createHmac("sha256", secret).update(body).digest("hex")
}

/** In constant time. */
function same(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)]
  return left.length === right.length && timingSafeEqual(left, right)
}

export default definePlugin({
  id: "auth-sample-name",
  config: z.strictObject({}),
  register: (registrar) => registrar.authModes(mode),
})
