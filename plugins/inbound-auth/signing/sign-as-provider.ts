// Signs a request like a known provider, from the table row used for verification.
import { createHmac } from "node:crypto"
import type { InboundRequest } from "#core"
import type { SignedParts } from "#core/engine"
import { keyBytes } from "../checks/key.ts"
import type { ProviderConfig } from "../provider-settings.ts"
import type { ProviderRow } from "../providers/table.ts"
import { RequestView } from "../request/view.ts"
import { settingsOf } from "../schemes/scheme.ts"
import { onlySender, placeProof, signDigest, timeText } from "./sign-digest.ts"

export interface SignAsProviderArgs {
  readonly row: ProviderRow
  readonly config: Omit<ProviderConfig, "provider">
  readonly secret: string
  readonly request: InboundRequest
}

export function signAsProvider({ row, config, secret, request }: SignAsProviderArgs): SignedParts {
  const { scheme } = row
  switch (scheme.kind) {
    case "standard_webhooks":
      return standardWebhook(secret, request)
    case "token_header": {
      const place = scheme.renameable && config.header !== undefined ? `header:${config.header.toLowerCase()}` : scheme.at
      return placeProof([place], scheme.word && place === "header:authorization" ? `${scheme.word} ${secret}` : secret)
    }
    case "basic_auth":
      return { headers: { authorization: `Basic ${Buffer.from(secret).toString("base64")}` } }
    case "none":
      return config.query_parameter === undefined ? {} : { query: { [config.query_parameter]: secret } }
    case "hmac":
    case "hmac_timestamped":
    case "url_params_hmac":
    case "sha256_concat":
      if ("items" in scheme) throw onlySender("each element of the body is signed by itself")
      return signDigest({ scheme, secret, request, settings: settingsOf(config) })
    case "token_body":
      throw onlySender(`the token is in the body (${scheme.at}), which is sent unchanged`)
    default:
      throw onlySender("it signs with its private key")
  }
}

function standardWebhook(secret: string, request: InboundRequest): SignedParts {
  const key = keyBytes(secret, "whsec")
  if (!key || secret.startsWith("whpk_")) throw onlySender("the secret is not a symmetric key (`whsec_` and base64)")
  const view = new RequestView(request)
  const id = view.header("webhook-id") ?? "msg_test"
  const timestamp = timeText(request.receivedAt, "s")
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(request.body).digest("base64")
  return { headers: { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` } }
}

/** Returns a fixed secret in the provider's format. */
export function testSecretOf(row: ProviderRow): string {
  const { scheme } = row
  if (scheme.kind === "basic_auth") return "tester:test-secret"
  if (scheme.kind === "standard_webhooks") return "whsec_dGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQ="
  const key = "key" in scheme ? scheme.key : "utf8"
  if (key === "hex") return "7465737473656372657474657374736563726574"
  return key === "base64" ? "dGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQ=" : "test-secret-test-secret-test-secret"
}
