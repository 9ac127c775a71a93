// Joins an organization by invitation link in a browser. For a person without an account, the mailed link proves the address and
// opens a session. Other persons sign in first.
import { z } from "zod"
import { defineRoute, Name, PublicUrl, UnitsOfWork } from "#core"
import { networkOf, sessionCookieOf } from "#core/engine"
import { SignIns, UserSessions, Users } from "../../platform/identity/index.ts"
import { Joining, Sessions } from "../../platform/organizations/index.ts"
import { bodyOf, cookieIn, refuseForeignPage, setCookie } from "./own-page.ts"
import { browserOf, end, personIn } from "./routes.ts"

const JoinInput = z.strictObject({ code: z.string().min(1).max(200), name: Name.optional() })

export const join = defineRoute({
  name: "console.join",
  summary: "Join the organization of an invitation, as the person of the session, or as a new person.",
  method: "POST",
  path: "/console-session/join",
  whilePaused: "Asks Pauses once the code names the organization.",
  maxBodyBytes: 4_096,
  inject: {
    joining: Joining,
    users: Users,
    sessions: UserSessions,
    keySessions: Sessions,
    signIns: SignIns,
    works: UnitsOfWork,
    publicUrl: PublicUrl,
  },
  async handle({ request, deps: { joining, users, sessions, keySessions, signIns, works, publicUrl } }) {
    refuseForeignPage(request)
    const { code, name = "" } = await bodyOf(request, JoinInput, '{ "code": "…", "name": "…" }')
    const base = publicUrl()
    const earlier = cookieIn(request, sessionCookieOf(base))
    const session = await personIn(earlier, sessions)
    const browser = browserOf(request, signIns)
    const open = () => joining.open(code, networkOf(request.address))
    if (!session) await works.retryConflicts(async (work) => joining.addUnproven(work, await open(), name))
    const {
      opened: invitation,
      text,
      expires_at,
    } = await works.retryConflicts(async (work) => {
      const openInvitation = await open()
      if (session) {
        const isSignedIn = session.method !== "bootstrap"
        const user = joining.requirePerson(openInvitation, await users.get(session.user_id), { isPerson: true, isSignedIn })
        await joining.join(work, openInvitation, user, { credentialId: session.id, requestId: request.requestId })
        sessions.switchTo(work, session, openInvitation.organization.id)
        return { opened: openInvitation }
      }
      const user = await joining.newcomer(work, openInvitation, name)
      const opening = await signIns.open(work, { ...user, organization_ids: [openInvitation.organization.id] }, "email_code", browser)
      await joining.join(work, openInvitation, user, { credentialId: opening.session.id, requestId: request.requestId })
      return { opened: openInvitation, text: opening.text, expires_at: opening.session.expires_at }
    })
    // The sign-in of a person ends a session opened with a key.
    if (text !== undefined) await end(keySessions, request, earlier)
    const { id, slug, name: title } = invitation.organization
    const cookie = text === undefined ? {} : { "Set-Cookie": setCookie(base, sessionCookieOf(base), text, new Date(expires_at)) }
    const headers = { "Content-Type": "application/json", "Cache-Control": "no-store", ...cookie }
    return { headers, body: JSON.stringify({ organization: { id, slug, name: title }, role: invitation.invitation.role }) }
  },
})
