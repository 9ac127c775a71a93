// An authenticator in software: ES256 keys, discoverable credentials, and answers in the form of browsers.
import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto"
import { isoCBOR } from "@simplewebauthn/server/helpers"

export interface Credential {
  readonly id: string
  readonly userHandle: string
  readonly key: KeyObject
  counter: number
}

/** Changes by a hostile page or device. */
export interface Forgery {
  readonly origin?: string
  readonly rpId?: string
  readonly type?: string
  readonly userHandle?: string
  readonly id?: string
  readonly counter?: number
  /** Bits of presence and verification; 0x05 sets both. */
  readonly flags?: number
  readonly attestationObject?: string
}

interface CreationOptions {
  readonly rp: { readonly id?: string }
  readonly user: { readonly id: string }
  readonly challenge: string
}

const present = 0x05
const withCredential = 0x40

const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url")
const sha256 = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest()

export class Authenticator {
  readonly #origin: string

  constructor(origin: string) {
    this.#origin = origin
  }

  create({ rp, user, challenge }: CreationOptions, forged: Forgery = {}) {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const { x = "", y = "" } = publicKey.export({ format: "jwk" })
    const id = randomBytes(32)
    const cose = new Map<number, number | Uint8Array>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, new Uint8Array(Buffer.from(x, "base64url"))],
      [-3, new Uint8Array(Buffer.from(y, "base64url"))],
    ])
    const length = Buffer.alloc(2)
    length.writeUInt16BE(id.length)
    const authData = Buffer.concat([
      this.#authData(forged.rpId ?? rp.id ?? "", (forged.flags ?? present) | withCredential, forged.counter ?? 0),
      Buffer.alloc(16),
      length,
      id,
      isoCBOR.encode(cose),
    ])
    const attestation = new Map<string, unknown>([
      ["fmt", "none"],
      ["attStmt", new Map()],
      ["authData", new Uint8Array(authData)],
    ])
    const credential: Credential = { id: base64url(id), userHandle: user.id, key: privateKey, counter: forged.counter ?? 0 }
    const answer = {
      id: credential.id,
      rawId: credential.id,
      type: "public-key",
      response: {
        clientDataJSON: this.#clientData(forged.type ?? "webauthn.create", challenge, forged),
        attestationObject: forged.attestationObject ?? base64url(isoCBOR.encode(attestation as Parameters<typeof isoCBOR.encode>[0])),
        transports: ["internal"],
      },
      clientExtensionResults: {},
    }
    return { credential, answer }
  }

  get({ challenge, rpId = "" }: { challenge: string; rpId?: string }, credential: Credential, forged: Forgery = {}) {
    const authenticatorData = this.#authData(forged.rpId ?? rpId, forged.flags ?? present, forged.counter ?? credential.counter)
    const clientDataJSON = this.#clientData(forged.type ?? "webauthn.get", challenge, forged)
    const signed = Buffer.concat([authenticatorData, sha256(Buffer.from(clientDataJSON, "base64url"))])
    const id = forged.id ?? credential.id
    return {
      id,
      rawId: id,
      type: "public-key",
      response: {
        clientDataJSON,
        authenticatorData: base64url(authenticatorData),
        signature: createSign("sha256").update(signed).sign(credential.key).toString("base64url"),
        userHandle: forged.userHandle ?? credential.userHandle,
      },
      clientExtensionResults: {},
    }
  }

  #authData(rpId: string, flags: number, counter: number): Buffer {
    const bytes = Buffer.alloc(5)
    bytes.writeUInt8(flags)
    bytes.writeUInt32BE(counter, 1)
    return Buffer.concat([sha256(rpId), bytes])
  }

  #clientData(type: string, challenge: string, { origin = this.#origin }: Forgery): string {
    return base64url(Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false })))
  }
}
