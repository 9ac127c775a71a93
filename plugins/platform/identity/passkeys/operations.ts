// A person's passkeys: options for a new one, and the list with its changes.
import { z } from "zod"
import { Clock, defineOperation, JobQueue, Name, resultOf, Timestamp, Uuid } from "#core"
import { stageNotice } from "../person-mail.ts"
import { requirePerson, Users } from "../users.ts"
import { NewPasskeyAnswer } from "./answers.ts"
import type { Passkey } from "./collections.ts"
import { Passkeys } from "./passkeys.ts"

const path = "/v1/me/passkeys"
const changing = { scope: "me:write", role: "guest", withoutOrganization: true, freshSignIn: true } as const
const mcp = { absent: "A person adds and removes the own passkeys." }
const cli = { absent: "A browser adds and removes passkeys." }

const PasskeyResource = z.object({
  id: Uuid,
  name: z.string(),
  device_type: z.enum(["single_device", "multi_device"]).describe("`multi_device`: it is copied to other devices of the person."),
  backed_up: z.boolean(),
  created_at: Timestamp,
  last_used_at: Timestamp.nullable(),
})

export const listPasskeys = defineOperation({
  name: "passkeys.list",
  summary: "List the caller's own passkeys, oldest first.",
  http: { method: "GET", path },
  access: { scope: "me:read", role: "guest", withoutOrganization: true },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["name", "device_type", "last_used_at", "id"],
  mcp,
  input: z.strictObject({}),
  output: z.object({ passkeys: z.array(PasskeyResource) }),
  errors: ["permission_denied"],
  inject: { passkeys: Passkeys, users: Users },
  async handle({ caller, deps: { passkeys, users } }) {
    const { user } = await requirePerson(caller, users, "passkeys.list")
    return { passkeys: (await passkeys.list(user.id)).map(toResource) }
  },
})

export const offerPasskey = defineOperation({
  name: "passkeys.offer",
  summary: "Begin to add a passkey: options for the browser.",
  description:
    "Give `options` to `navigator.credentials.create`, then call passkeys.add with its answer. The challenge works once, for five minutes, in this session.",
  http: { method: "POST", path: `${path}-options` },
  access: changing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  mcp,
  cli,
  input: z.strictObject({}),
  output: z.object({ options: z.record(z.string(), z.json()).describe("PublicKeyCredentialCreationOptionsJSON of WebAuthn.") }),
  errors: ["failed_precondition", "permission_denied", "resource_exhausted"],
  examples: [{ input: {} }],
  inject: { passkeys: Passkeys, users: Users },
  async handle({ caller, work, deps: { passkeys, users } }) {
    const { user, session } = await requirePerson(caller, users, "passkeys.offer")
    return { options: JSON.parse(JSON.stringify(await passkeys.offer(work, session, user))) }
  },
})

export const addPasskey = defineOperation({
  name: "passkeys.add",
  summary: "Add a passkey with the browser's answer to the options.",
  description: "The authenticator verifies the person. The service asks for no attestation. A mail reports the new passkey.",
  http: { method: "POST", path },
  access: changing,
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: "by_job" },
  mcp,
  cli,
  auditSize: ["answer"],
  input: z.strictObject({ name: Name, answer: NewPasskeyAnswer.describe("`toJSON()` of the browser's credential.") }),
  output: PasskeyResource,
  errors: ["invalid_argument", "failed_precondition", "permission_denied", "already_exists", "aborted", "resource_exhausted"],
  examples: [{ input: { name: "Laptop", answer: resultOf("added.answer") } }],
  inject: { passkeys: Passkeys, users: Users, queue: JobQueue, clock: Clock },
  async handle({ input: { name, answer }, caller, work, deps: { passkeys, users, ...mail } }) {
    const { user, session } = await requirePerson(caller, users, "passkeys.add")
    const passkey = await passkeys.add(work, session, user, { name, answer })
    stageNotice(work, mail, { to: user.email, ...changeOf("added", name) })
    return toResource(passkey)
  },
})

export const renamePasskey = defineOperation({
  name: "passkeys.rename",
  summary: "Rename a passkey.",
  http: { method: "PATCH", path: `${path}/{id}` },
  access: { scope: "me:write", role: "guest", withoutOrganization: true },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp,
  input: z.strictObject({ id: Uuid, name: Name }),
  output: PasskeyResource,
  errors: ["invalid_argument", "not_found", "permission_denied"],
  examples: [{ input: { id: resultOf("passkey.id"), name: "Phone" } }],
  inject: { passkeys: Passkeys, users: Users },
  async handle({ input: { id, name }, caller, work, deps: { passkeys, users } }) {
    const { user } = await requirePerson(caller, users, "passkeys.rename")
    const passkey = await passkeys.require(user.id, id)
    passkeys.rename(work, passkey, name)
    return toResource({ ...passkey, name })
  },
})

export const removePasskey = defineOperation({
  name: "passkeys.remove",
  summary: "Remove a passkey: it opens no session any longer.",
  description: "Sessions that it opened continue; sessions.end ends them. A mail reports the removal.",
  http: { method: "DELETE", path: `${path}/{id}` },
  access: changing,
  hints: { readOnly: false, destructive: true, idempotent: false, openWorld: "by_job" },
  mcp,
  input: z.strictObject({ id: Uuid }),
  output: z.object({ id: Uuid, removed: z.literal(true) }),
  errors: ["not_found", "permission_denied"],
  examples: [{ input: { id: resultOf("passkey.id") } }],
  inject: { passkeys: Passkeys, users: Users, queue: JobQueue, clock: Clock },
  async handle({ input: { id }, caller, work, deps: { passkeys, users, ...mail } }) {
    const { user } = await requirePerson(caller, users, "passkeys.remove")
    const passkey = await passkeys.require(user.id, id)
    passkeys.remove(work, passkey)
    stageNotice(work, mail, { to: user.email, ...changeOf("removed", passkey.name) })
    return { id, removed: true as const }
  },
})

function changeOf(change: "added" | "removed", name: string) {
  const heading = `A passkey was ${change}`
  return { heading, intro: "Not you? End your other sessions and remove unknown passkeys.", fields: [{ label: "Passkey", value: name }] }
}

function toResource({ id, name, device_type, backed_up, created_at, last_used_at }: Passkey): z.input<typeof PasskeyResource> {
  return { id, name, device_type, backed_up, created_at, last_used_at }
}
