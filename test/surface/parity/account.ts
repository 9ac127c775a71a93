// Persons for operations of their own account: a session, and the passkey, challenge or code for the call.
import { createHmac } from "node:crypto"
import { Clock, type UnitOfWork, Vault } from "#core"
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { AddressChangesCollection, changeId } from "../../../plugins/platform/identity/collections.ts"
import { type User, UserSessions } from "../../../plugins/platform/identity/index.ts"
import { issueChallenge } from "../../../plugins/platform/identity/passkeys/challenges.ts"
import { PasskeysCollection, passkeyId } from "../../../plugins/platform/identity/passkeys/collections.ts"
import { Authenticator } from "../../plugins/identity/authenticator.ts"
import type { ParityFixture } from "./fixture.ts"

export const accountUrl = "http://localhost:8080"

/** Operations on a person's own account and organizations. Keys call none of their examples. */
export const ofPersons =
  /^(?:passkeys\.|organization\.(?:archive|restore)$|managed_organizations\.(?:adopt|accept)$|me\.(?:change_address|confirm_address|delete|list_invitations)$)/
const code = "123456"

/** Returns undefined for operations that keys can call. */
export function account(
  { host }: ParityFixture,
  work: UnitOfWork,
  user: User,
  isFor: AnyOperation | undefined,
): { key: string; prepared: Record<string, unknown> } | undefined {
  if (isFor === undefined || !ofPersons.test(isFor.name)) return undefined
  const input = { user: user.id, organization: null, method: "email_code", device: "firefox, desktop", address: "" } as const
  const { session, text } = host.get(UserSessions).open(work, input)
  const prepared = { passkey: passkeyOf(work, user), added: answerFor(host.get(Clock), work, user, session.id), address: { code } }
  pendingAddress(host.get(Vault), work, user)
  return { key: text, prepared }
}

function passkeyOf(work: UnitOfWork, user: User): { id: string } {
  const credential_id = Buffer.from(user.id).toString("base64url")
  const id = passkeyId(credential_id)
  const fixed = { public_key: "", counter: 0, device_type: "single_device", backed_up: false, aaguid: "" } as const
  const times = { created_at: new Date().toISOString(), last_used_at: null }
  work.in(PasskeysCollection).insert({ id, user_id: user.id, name: "Laptop", credential_id, ...fixed, transports: [], ...times })
  return { id }
}

function answerFor(clock: Clock, work: UnitOfWork, { id }: User, session: string) {
  const { challenge } = issueChallenge(work, clock, { purpose: "add", holder: session })
  const options = { rp: { id: "localhost" }, user: { id: Buffer.from(id).toString("base64url") }, challenge }
  const { answer } = new Authenticator(accountUrl).create(options)
  const { clientExtensionResults: _results, ...rest } = answer
  return { answer: rest }
}

function pendingAddress(vault: Vault, work: UnitOfWork, { id: user, email }: User): void {
  const id = changeId(user)
  const code_hash = createHmac("sha256", vault.keyFor("address changes")).update(`${id} ${code}`).digest("hex")
  const times = { created_at: new Date().toISOString(), expires_at: new Date(Date.now() + 600_000).toISOString() }
  work.in(AddressChangesCollection).insert({ id, email: `new-${email}`, code_hash, wrong_tries: 0, ...times })
}
