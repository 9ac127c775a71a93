// Browser sessions over HTTP: a code by mail, sign-in by code, link or key, and sign-out. Each sign-in gives the browser a new
// session text and ends its previous session.
import { z } from "zod"
import { AppError, defineRoute, Name, PublicUrl, type RouteRequest } from "#core"
import { sessionCookieOf } from "#core/engine"
import { isMailAddress, normalAddress } from "../../people/email/index.ts"
import {
  type CodeSent,
  type OpenedSession,
  type Proof,
  parseKey,
  SignInCodes,
  SignIns,
  SixDigits,
  type UserSession,
  UserSessions,
} from "../../platform/identity/index.ts"
import { Sessions } from "../../platform/organizations/index.ts"
import { attemptCookieOf, bodyOf, cookieIn, refuseForeignPage, setCookie } from "./own-page.ts"

const path = "/console-session"
const json = { "Content-Type": "application/json", "Cache-Control": "no-store" }
const maxBodyBytes = 4_096

export const session = defineRoute({
  name: "console.session",
  summary: "Whether the browser has a session, which may have ended.",
  method: "GET",
  path,
  whilePaused: "Concerns the session alone.",
  inject: { publicUrl: PublicUrl },
  handle: ({ request, deps: { publicUrl } }) => {
    const present = cookieIn(request, sessionCookieOf(publicUrl())) !== undefined
    return { headers: json, body: JSON.stringify({ present }) }
  },
})

const Address = z.string().trim().max(320).refine(isMailAddress).transform(normalAddress)
/** A path of the console. The pattern excludes texts read by browsers as another host. */
const Place = z
  .string()
  .regex(/^\/console(?:\/[\w.~%!$&'()*+,;=:@-]+)*$/)
  .max(2_000)
const CodeRequest = z.strictObject({ email: Address, next: Place.default("/console") })

export const requestCode = defineRoute({
  name: "console.request_code",
  summary: "Mail a sign-in code and link to a person. The answer is the same for every address.",
  method: "POST",
  path: `${path}/code`,
  whilePaused: "Concerns the session alone.",
  maxBodyBytes,
  inject: { codes: SignInCodes, signIns: SignIns, publicUrl: PublicUrl },
  async handle({ request, deps: { codes, signIns, publicUrl } }) {
    refuseForeignPage(request)
    const { email, next } = await bodyOf(request, CodeRequest, '{ "email": "…", "next": "/console/…" }')
    return codeSent(publicUrl(), await codes.request(email, browserOf(request, signIns), next))
  },
})

const SignInInput = z.union([
  z.strictObject({ key: z.string().min(1) }),
  z.strictObject({ code: z.string().min(1), name: Name.optional(), email: Address.optional() }),
  z.strictObject({ email_code: SixDigits }),
  z.strictObject({ link: z.string().min(1).max(2_000) }),
])

export const signIn = defineRoute({
  name: "console.sign_in",
  summary: "Open a session for a browser, with a mailed code or link, a key, or the code of the link that the first start prints.",
  method: "POST",
  path,
  whilePaused: "Concerns the session alone.",
  maxBodyBytes,
  inject: { sessions: Sessions, userSessions: UserSessions, codes: SignInCodes, signIns: SignIns, publicUrl: PublicUrl },
  async handle({ request, deps: { sessions, userSessions, codes, signIns, publicUrl } }) {
    refuseForeignPage(request)
    const input = await bodyOf(
      request,
      SignInInput,
      '{ "key": "…" }, { "email_code": "…" }, { "link": "…" } or { "code": "…", "name": "…", "email": "…" }',
    )
    const base = publicUrl()
    const earlier = cookieIn(request, sessionCookieOf(base))
    const nonce = cookieIn(request, attemptCookieOf(base))
    const person = await personIn(earlier, userSessions)
    const cookies: string[] = []
    let created: { readonly text: string; readonly expires_at: string }
    if ("key" in input) created = await sessions.signIn(credentialsOf(request, input.key))
    else {
      const browser = browserOf(request, signIns)
      const entered =
        "code" in input
          ? await codes.claimOwner(input.code, ownerIn(input), browser, person)
          : await codes.enter(proofIn(input, nonce), browser, person)
      if ("nonce" in entered) return codeSent(base, entered)
      created = { text: entered.text, expires_at: entered.session.expires_at }
      cookies.push(setCookie(base, attemptCookieOf(base), "", new Date(0)))
      if (person) return answer(base, cookies, created)
    }
    await end(sessions, request, earlier)
    return answer(base, cookies, created)
  },
})

export const signOut = defineRoute({
  name: "console.sign_out",
  summary: "End the browser's session.",
  method: "DELETE",
  path,
  whilePaused: "Concerns the session alone.",
  inject: { sessions: Sessions, publicUrl: PublicUrl },
  async handle({ request, deps: { sessions, publicUrl } }) {
    refuseForeignPage(request)
    const base = publicUrl()
    await end(sessions, request, cookieIn(request, sessionCookieOf(base)))
    return answer(base, [], { text: "", expires_at: "" })
  },
})

/** The response of a sign-in, with the session's cookie. */
export function answer(
  base: string,
  cookies: readonly string[],
  { text, expires_at }: { readonly text: string; readonly expires_at: string },
) {
  const cookie = setCookie(base, sessionCookieOf(base), text, new Date(expires_at))
  return { status: 204, headers: { "Set-Cookie": [...cookies, cookie], "Cache-Control": "no-store" } }
}

/** The session data for the browser. */
export function toResource({ text, session }: OpenedSession) {
  return { text, expires_at: session.expires_at }
}

function codeSent(base: string, { nonce, expires_at }: CodeSent) {
  const cookie = setCookie(base, attemptCookieOf(base), nonce, new Date(expires_at))
  return { status: 202, headers: { ...json, "Set-Cookie": cookie }, body: JSON.stringify({ expires_at }) }
}

function ownerIn({ name, email }: { readonly name?: string | undefined; readonly email?: string | undefined }) {
  return name === undefined || email === undefined ? undefined : { name, email }
}

function proofIn(input: { readonly link: string } | { readonly email_code: string }, nonce: string | undefined): Proof {
  return "link" in input ? { nonce, link: input.link } : { nonce, code: input.email_code }
}

/** The valid session of a person in the browser's cookie. */
export async function personIn(text: string | undefined, sessions: UserSessions): Promise<UserSession | undefined> {
  const parsed = parseKey(text ?? "")
  if (typeof parsed === "string") return undefined
  return await sessions.prove(parsed).catch(ignoreEnded)
}

/** Ends the session of a text, if it is valid. */
export async function end(sessions: Sessions, request: RouteRequest, bearer: string | undefined): Promise<void> {
  if (bearer !== undefined) await sessions.signOut(credentialsOf(request, bearer)).catch(ignoreEnded)
}

/** Ignores an already ended session. */
function ignoreEnded(error: unknown): undefined {
  if (error instanceof AppError && error.code === "unauthenticated") return undefined
  throw error
}

function credentialsOf({ address, requestId, log }: RouteRequest, bearer: string) {
  return { bearer, organization: undefined, surface: "rest", address, requestId, log } as const
}

/** Browser and address of a request. */
export function browserOf({ headers, address, requestId }: RouteRequest, signIns: SignIns) {
  return { device: signIns.deviceOf(headers["user-agent"]), address, requestId }
}
