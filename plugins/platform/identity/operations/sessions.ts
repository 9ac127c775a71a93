// A person's own sessions: listed with device and last use, and ended.
import { z } from "zod"
import { type AnyCaller, AppError, defineOperation, Pager, pageInput, resultOf, Store, Timestamp, Uuid } from "#core"
import { type UserSession, UserSessionsCollection } from "../collections.ts"
import { UserSessions } from "../user-sessions.ts"
import { userOf } from "../users.ts"

const path = "/v1/me/sessions"
const mcp = { absent: "A person lists and ends the own sessions." }

const SessionResource = z.object({
  id: Uuid,
  current: z.boolean().describe("True for the session of this call."),
  method: z.enum(["email_code", "passkey", "oidc", "bootstrap"]),
  device: z.string().describe("Browser and kind of device; empty if unknown."),
  address: z.string().describe("IP address of the sign-in."),
  acts_in: Uuid.nullable().describe("Organization of calls without X-Organization-ID."),
  signed_in_at: Timestamp,
  created_at: Timestamp,
  last_used_at: Timestamp.nullable().describe("Accurate to the minute."),
  expires_at: Timestamp.describe("It ends earlier if it is not used."),
})

export const listSessions = defineOperation({
  name: "sessions.list",
  summary: "List the caller's own sessions, newest first.",
  http: { method: "GET", path },
  access: { scope: "sessions:read", role: "guest", withoutOrganization: true, whilePaused: true },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["device", "address", "last_used_at", "current", "id"],
  mcp,
  input: z.strictObject(pageInput),
  output: z.object({ sessions: z.array(SessionResource), next_cursor: z.string() }),
  errors: ["invalid_argument", "permission_denied"],
  inject: { store: Store, pager: Pager, sessions: UserSessions },
  async handle({ input, caller, deps: { store, pager, sessions } }) {
    const user = userOf(caller)
    const { items, next_cursor } = await pager.page({
      collection: store.open(UserSessionsCollection),
      organization: caller.organization?.id ?? user,
      cursorScope: `sessions.list ${user}`,
      filter: sessions.validFilter(user),
      sort: { id: -1 },
      request: input,
    })
    return { sessions: items.map((session) => toResource(session, caller)), next_cursor }
  },
})

export const endSession = defineOperation({
  name: "sessions.end",
  summary: "End one of the caller's own sessions on every node, with its sockets.",
  http: { method: "DELETE", path: `${path}/{id}` },
  access: { scope: "sessions:write", role: "guest", withoutOrganization: true, whilePaused: true },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp,
  input: z.strictObject({ id: Uuid }),
  output: z.object({ id: Uuid, ended: z.literal(true) }),
  errors: ["not_found", "permission_denied"],
  examples: [{ given: { own: "sessions.list" }, input: { id: resultOf("own.sessions.0.id") } }],
  inject: { sessions: UserSessions },
  async handle({ input: { id }, caller, deps: { sessions }, work }) {
    const user = userOf(caller)
    const session = await sessions.get(id)
    if (session?.user_id !== user)
      throw new AppError("not_found", `You have no session ${id}; GET ${path} lists yours.`, { reason: "session_not_found" })
    sessions.end(work, session, id === caller.credential.id ? "signed_out" : "ended")
    return { id, ended: true as const }
  },
})

export const endOtherSessions = defineOperation({
  name: "sessions.end_others",
  summary: "End all of the caller's own sessions but the session of this call.",
  http: { method: "POST", path: `${path}-end-others` },
  access: { scope: "sessions:write", role: "guest", withoutOrganization: true, whilePaused: true },
  hints: { readOnly: false, destructive: true, idempotent: true },
  mcp,
  input: z.strictObject({}),
  output: z.object({ ended: z.int().describe("Count of ended sessions.") }),
  errors: ["permission_denied"],
  examples: [{ input: {} }],
  inject: { sessions: UserSessions },
  handle: async ({ caller, deps: { sessions }, work }) => ({
    ended: await sessions.endAllOf(work, userOf(caller), { except: caller.credential.id }),
  }),
})

function toResource(session: UserSession, caller: AnyCaller): z.input<typeof SessionResource> {
  const { id, method, device, address, acts_in, signed_in_at, created_at, last_used_at, expires_at } = session
  const current = id === caller.credential.id
  return { id, current, method, device, address, acts_in, signed_in_at, created_at, last_used_at, expires_at }
}
