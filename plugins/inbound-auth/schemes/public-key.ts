// Signatures made with the provider's private key, checked with the public key that the operator stored as the secret.
import { paddleClassicText } from "../canonical/paddle-classic.ts"
import { type Prover, publicKeyProver } from "../checks/prover.ts"
import { publicKey } from "../checks/public-key.ts"
import { signatureReader } from "../checks/signature-text.ts"
import { compileSignedText } from "../checks/signed-text.ts"
import { type SchemeContext, settingsOf } from "./context.ts"
import type { PublicKeyScheme } from "./scheme.ts"
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
