// The code of an invitation: contains the organization, the invitation and a secret.
import { randomBytes } from "node:crypto"
import { derivedUuid } from "#core"
import { hashKey } from "../../../identity/index.ts"

const prefix = "mr_join_"
const idBytes = 16
const secretBytes = 24
const pattern = new RegExp(`^${prefix}([\\w-]{${Math.ceil(((2 * idBytes + secretBytes) * 4) / 3)}})$`)

export interface ParsedCode {
  readonly organization: string
  readonly invitation: string
  readonly hash: string
}

/** An organization has one invitation for an address. */
export function invitationId(organization: string, email: string): string {
  return derivedUuid("member invitation", organization, email)
}

export function drawCode(organization: string, invitation: string): { readonly code: string; readonly hash: string } {
  const bytes = Buffer.concat([bytesOf(organization), bytesOf(invitation), randomBytes(secretBytes)])
  const code = `${prefix}${bytes.toString("base64url")}`
  return { code, hash: hashKey(code) }
}

/** Returns undefined for a text of another form. */
export function parseCode(text: string): ParsedCode | undefined {
  const [, body] = pattern.exec(text.trim()) ?? []
  if (body === undefined) return undefined
  const bytes = Buffer.from(body, "base64url")
  const [organization, invitation] = [uuidOf(bytes.subarray(0, idBytes)), uuidOf(bytes.subarray(idBytes, 2 * idBytes))]
  return { organization, invitation, hash: hashKey(text.trim()) }
}

function bytesOf(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll("-", ""), "hex")
}

function uuidOf(bytes: Buffer): string {
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
}
