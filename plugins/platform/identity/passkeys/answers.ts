// Responses of authenticators: JSON format and verification. The limits of the fields bound the decoder's work.
import { z } from "zod"
import type { RelyingParty } from "./challenges.ts"
import type { Passkey } from "./collections.ts"

export const webauthn = () => import("@simplewebauthn/server")
export const webauthnDecoders = () => import("@simplewebauthn/server/helpers")

const base64url = (max: number) => z.base64url().min(1).max(max)
/** 1,023 bytes: maximum of the specification. */
const CredentialId = base64url(1_364)
const ClientData = base64url(4_096)

/** `PublicKeyCredential.toJSON()` of a new passkey. */
export const NewPasskeyAnswer = z.object({
  id: CredentialId,
  rawId: CredentialId,
  type: z.literal("public-key"),
  response: z.object({
    clientDataJSON: ClientData,
    attestationObject: base64url(4_096),
    transports: z.array(z.string().max(50)).max(10).optional(),
  }),
})
export type NewPasskeyAnswer = z.output<typeof NewPasskeyAnswer>

/** `PublicKeyCredential.toJSON()` of a sign-in. */
export const PasskeyAnswer = z.object({
  id: CredentialId,
  rawId: CredentialId,
  type: z.literal("public-key"),
  response: z.object({
    clientDataJSON: ClientData,
    authenticatorData: base64url(2_048),
    signature: base64url(2_048),
    userHandle: base64url(100),
  }),
})
export type PasskeyAnswer = z.output<typeof PasskeyAnswer>

export interface Expected {
  readonly challenge: string
  readonly party: RelyingParty
}

type Credential = Pick<Passkey, "credential_id" | "public_key" | "counter" | "transports" | "device_type" | "backed_up" | "aaguid">

/** EdDSA, ES256 and RS256. */
export const algorithms = [-8, -7, -257]

/** Returns the credential of a new passkey. Throws a plain error for an invalid response. */
export async function verifyNewPasskey(answer: NewPasskeyAnswer, { challenge, party }: Expected): Promise<Credential> {
  await refuseCertificates(answer)
  const { verifyRegistrationResponse } = await webauthn()
  const { verified, registrationInfo: info } = await verifyRegistrationResponse({
    response: { ...answer, clientExtensionResults: {} } as Parameters<typeof verifyRegistrationResponse>[0]["response"],
    expectedChallenge: challenge,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
    supportedAlgorithmIDs: algorithms,
  })
  if (!verified || !info) throw new Error("The signature of the authenticator is wrong.")
  const { id, publicKey, counter } = info.credential
  if (id !== answer.id) throw new Error("The authenticator signed another credential id.")
  return {
    credential_id: id,
    public_key: Buffer.from(publicKey).toString("base64url"),
    counter,
    transports: answer.response.transports ?? [],
    device_type: deviceTypeOf(info.credentialDeviceType),
    backed_up: info.credentialBackedUp,
    aaguid: info.aaguid,
  }
}

/** Returns the changed fields of a sign-in. Throws a plain error for an invalid response. */
export async function verifyPasskey(
  answer: PasskeyAnswer,
  { challenge, party }: Expected,
  { credential_id, public_key, counter }: Passkey,
): Promise<Pick<Passkey, "counter" | "backed_up">> {
  const { verifyAuthenticationResponse } = await webauthn()
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: { ...answer, clientExtensionResults: {} },
    expectedChallenge: challenge,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
    credential: { id: credential_id, publicKey: new Uint8Array(Buffer.from(public_key, "base64url")), counter },
  })
  if (!verified) throw new Error("The signature of the authenticator is wrong.")
  return { counter: authenticationInfo.newCounter, backed_up: authenticationInfo.credentialBackedUp }
}

/** The service requests no attestation. The parsers of certificates and revocation lists therefore have no input. */
async function refuseCertificates({ response }: NewPasskeyAnswer): Promise<void> {
  const { decodeAttestationObject } = await webauthnDecoders()
  const attestation = decodeAttestationObject(new Uint8Array(Buffer.from(response.attestationObject, "base64url")))
  const format = attestation.get("fmt")
  if (format === "none" || (format === "packed" && !attestation.get("attStmt").get("x5c"))) return
  throw new Error("The answer has an attestation with certificates; ask the authenticator for none.")
}

function deviceTypeOf(type: "singleDevice" | "multiDevice"): Passkey["device_type"] {
  return type === "multiDevice" ? "multi_device" : "single_device"
}
