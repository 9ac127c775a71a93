// Checks signatures by the provider's private key. The pipeline's secret is the public key.

import { publicKey } from "../checks/key.ts"
import { type Prover, publicKeyProver } from "../checks/prover.ts"
import { signatureReader } from "../checks/signature-text.ts"
import { compileSignedText, type Pieces } from "../checks/signed-text.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"
import { type PublicKeyScheme, type SchemeContext, settingsOf } from "./scheme.ts"
import { type Matcher, matchSignature, type SignedRequest } from "./signed-request.ts"

export function preparePublicKey(scheme: PublicKeyScheme, context: SchemeContext): Matcher {
  const spec: SignedRequest = {
    provers: context.secrets.flatMap(({ id, value }): Prover[] => {
      const key = publicKey(value, scheme.key)
      return key && fitsKind(scheme.kind, key.asymmetricKeyType) ? [publicKeyProver(id, key, scheme.hash, scheme.signature.encoding)] : []
    }),
    otherReadings: () => [],
    read: signatureReader(scheme.signature),
    text: scheme.signature,
    signed: scheme.canonical === "paddle_classic" ? paddleClassicText : compileSignedText(scheme.signed),
    template: scheme.signed,
    settings: settingsOf(context.config),
    ...(scheme.kind === "ed25519" && { digestBytes: 64 }),
    ...(scheme.timestamp && {
      timestamp: { ...scheme.timestamp, tolerance_s: context.config.tolerance_s ?? scheme.timestamp.tolerance_s },
    }),
    ...(scheme.require && { require: scheme.require }),
  }
  return (view) => matchSignature(spec, view)
}

export function fitsKind(kind: PublicKeyScheme["kind"], keyType: string | undefined): boolean {
  return keyType === (kind === "ecdsa" ? "ec" : kind)
}

/**
 * Paddle Classic signs its form fields without the signature field, sorted by name and written by PHP's serialize. The format is
 * an array of strings, each with its length in bytes.
 */
function paddleClassicText(view: RequestView): Pieces {
  const fields = new Map(view.form ?? [])
  if (fields.size !== (view.form?.length ?? 0))
    throw new Refused("duplicate_parameter", "A form field is repeated; the signature covers each field once.")
  fields.delete("p_signature")
  const members = [...fields].sort(([left], [right]) => Buffer.compare(Buffer.from(left), Buffer.from(right)))
  return [`a:${members.length}:{${members.map(([name, value]) => serialize(name) + serialize(value)).join("")}}`]
}

function serialize(text: string): string {
  return `s:${Buffer.byteLength(text)}:"${text}";`
}
