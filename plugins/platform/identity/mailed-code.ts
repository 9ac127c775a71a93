// Codes of six digits by mail: stored as an HMAC, valid for ten minutes and five tries.
import { createHmac, randomInt } from "node:crypto"
import { z } from "zod"
import { type Clock, type Document, type StagedCollection, sameBytes, timestamp, type Vault } from "#core"

/** A document with a code. */
export interface MailedCode extends Document {
  /** HMAC of the code. */
  code_hash: string
  wrong_tries: number
  created_at: string
  expires_at: string
}

/** A code as typed by a person. */
export const SixDigits = z
  .string()
  .max(20)
  .transform((text) => text.replace(/[\s-]/g, ""))
  .pipe(z.string().regex(/^\d{6}$/, "is not six digits"))

const validMs = 600_000
const maxWrongTries = 5

export interface MailedCodes {
  /** Draws the code of a document. */
  draw(id: string): { readonly code: string; readonly fields: Pick<MailedCode, "code_hash" | "wrong_tries" | "created_at" | "expires_at"> }
  isValid(document: MailedCode): boolean
  matches(document: MailedCode, code: string): boolean
}

export function createMailedCodes({ vault, clock }: { readonly vault: Vault; readonly clock: Clock }, purpose: string): MailedCodes {
  const key = vault.keyFor(purpose)
  const hashOf = (id: string, code: string) => createHmac("sha256", key).update(`${id} ${code}`).digest("hex")
  return {
    draw(id) {
      const now = clock.now()
      const code = String(randomInt(1_000_000)).padStart(6, "0")
      const times = { created_at: timestamp(now), expires_at: timestamp(now + validMs) }
      return { code, fields: { code_hash: hashOf(id, code), wrong_tries: 0, ...times } }
    },
    isValid: ({ expires_at, wrong_tries }) => Date.parse(expires_at) > clock.now() && wrong_tries < maxWrongTries,
    matches: ({ id, code_hash }, code) => sameBytes(code_hash, hashOf(id, code)),
  }
}

/** Stages a wrong try. Returns the remaining tries. Concurrent tries conflict, so each counts. */
export function countWrongTry(staged: Pick<StagedCollection<MailedCode>, "update">, { id, wrong_tries }: MailedCode): number {
  staged.update(id, { $set: { wrong_tries: wrong_tries + 1 } }, { where: { wrong_tries } })
  return maxWrongTries - wrong_tries - 1
}

/** End of the message for a wrong code. */
export function wrongCode(triesLeft: number): string {
  return `is wrong; ${triesLeft} ${triesLeft === 1 ? "try is" : "tries are"} left. Copy the code of the latest mail.`
}
