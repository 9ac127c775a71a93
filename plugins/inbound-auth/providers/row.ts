// One row of the provider table: how one signing scheme of one provider works, as data. Facts come from the providers'
// documentation and their SDKs; a row marked experimental comes from third parties' registries only.
import type { HandshakeName } from "../handshakes/table.ts"
import type { Scheme } from "../schemes/scheme.ts"
import type { SettingName } from "./settings.ts"

/** Who makes the secret: we may (`receiver`), only the provider can (`provider`), a published key (`public_key`), nobody. */
type SecretOrigin = "receiver" | "provider" | "public_key" | "none"

export interface ProviderRow {
  readonly slug: string
  readonly name: string
  readonly scheme: Scheme
  readonly secret: SecretOrigin
  /** What the secret is called at the provider. */
  readonly secretName?: string
  /** What a secret must look like beyond its encoding. */
  readonly secretForm?: { readonly pattern: RegExp; readonly says: string }
  /** Templates, alternatives in order, of `{header:NAME}` and `{body:PATH}`. */
  readonly eventId?: readonly string[]
  readonly eventType?: readonly string[]
  readonly handshake?: HandshakeName
  readonly ack_timeout_s?: number
  /** False where the provider does not repeat an unanswered event; true where it does or nothing is known. */
  readonly retries?: false
  readonly settings?: { readonly required?: readonly SettingName[]; readonly optional?: readonly SettingName[] }
  readonly experimental?: true
  /** Notes for connecting this provider. */
  readonly note?: string
}

/** Whether the proof covers the payload, so that its fields can be trusted for dedupe. */
export function coversBody(scheme: Scheme): boolean {
  switch (scheme.kind) {
    case "standard_webhooks":
      return true
    case "jwt":
      return scheme.bodyHash !== undefined || scheme.detached === true
    case "token_header":
    case "token_body":
    case "basic_auth":
    case "none":
      return false
    default:
      if ("items" in scheme) return false
      // A CRC, which is what PayPal signs of the body, is not protection against a body made to fit it.
      if ("certificate" in scheme) return scheme.certificate === "aws_sns"
      return (
        scheme.canonical !== undefined ||
        ("guard" in scheme && scheme.guard !== undefined) ||
        /\{(?:body|sorted_form)\}/.test(scheme.signed)
      )
  }
}
