// Sign-in with a passkey over HTTP: options for the browser, then its response. A cookie binds the challenge to the browser. A
// signed-in person receives a fresh sign-in in the same session.
import { z } from "zod"
import { defineRoute, PublicUrl } from "#core"
import { sessionCookieOf } from "#core/engine"
import { PasskeyAnswer, PasskeySignIns, SignIns, UserSessions } from "../../platform/identity/index.ts"
import { Sessions } from "../../platform/organizations/index.ts"
import { bodyOf, cookieIn, passkeyCookieOf, refuseForeignPage, setCookie } from "./own-page.ts"
import { answer, browserOf, end, personIn, toResource } from "./routes.ts"

const path = "/console-session/passkey"
const AnswerInput = z.strictObject({ answer: PasskeyAnswer })

export const offerPasskey = defineRoute({
  name: "console.offer_passkey",
  summary: "Begin a sign-in with a passkey: options for the browser.",
  method: "POST",
  path: `${path}/options`,
  whilePaused: "Acts for no organization.",
  inject: { passkeys: PasskeySignIns, publicUrl: PublicUrl },
  async handle({ request, deps: { passkeys, publicUrl } }) {
    refuseForeignPage(request)
    const { options, nonce, expires_at } = await passkeys.offer()
    const base = publicUrl()
    const cookie = setCookie(base, passkeyCookieOf(base), nonce, new Date(expires_at))
    const headers = { "Content-Type": "application/json", "Cache-Control": "no-store", "Set-Cookie": cookie }
    return { headers, body: JSON.stringify({ options }) }
  },
})

export const signInByPasskey = defineRoute({
  name: "console.sign_in_by_passkey",
  summary: "Open a session for a browser with the answer of a passkey.",
  method: "POST",
  path,
  whilePaused: "Acts for no organization.",
  maxBodyBytes: 16_384,
  inject: { passkeys: PasskeySignIns, sessions: Sessions, userSessions: UserSessions, signIns: SignIns, publicUrl: PublicUrl },
  async handle({ request, deps: { passkeys, sessions, userSessions, signIns, publicUrl } }) {
    refuseForeignPage(request)
    const input = await bodyOf(request, AnswerInput, '{ "answer": … } with the credential of the browser')
    const base = publicUrl()
    const earlier = cookieIn(request, sessionCookieOf(base))
    const person = await personIn(earlier, userSessions)
    const session = await passkeys.enter(cookieIn(request, passkeyCookieOf(base)), input.answer, browserOf(request, signIns), person)
    if (!person) await end(sessions, request, earlier)
    return answer(base, [setCookie(base, passkeyCookieOf(base), "", new Date(0))], toResource(session))
  },
})
