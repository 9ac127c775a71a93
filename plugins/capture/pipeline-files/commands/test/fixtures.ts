// Canned responses of a test: for other systems by URL prefix, for integrations by path below their base URL. The mail server may
// refuse the first messages.

import { join } from "node:path"
import { AppError } from "#core"
import type { CannedAnswer, CapturedOutgoing, EventDocument, Fixture, SentEvent, TestDocument } from "#core/commands"
import { readBytes } from "../files.ts"

export function setFixtures(outgoing: CapturedOutgoing, test: Pick<TestDocument, "http" | "integrations" | "mail">): void {
  outgoing.clear()
  for (const fixture of test.http) outgoing.fixtures.push(answering(fixture, fixture.url))
  for (const { base_url, calls } of Object.values(test.integrations)) {
    for (const fixture of calls) outgoing.fixtures.push(answering(fixture, base_url.replace(/\/$/, "") + fixture.url))
  }
  let refusals = test.mail?.fails ?? 0
  outgoing.onMail = () => {
    if (refusals-- > 0)
      throw new AppError("unavailable", "The mail could not be delivered to the mail server (the test refuses it).", {
        reason: "mail_failed",
      })
  }
}

function answering({ method, answers, answer }: Fixture, url: string): CapturedOutgoing["fixtures"][number] {
  const list = answers ?? [answer ?? { status: 200, headers: {} }]
  let next = 0
  return (call) => {
    if (!begins(call.url, url) || (method !== undefined && method.toUpperCase() !== call.method)) return undefined
    const given = list[Math.min(next++, list.length - 1)]
    return given && answerOf(given)
  }
}

/** Matches the same URL or a URL below it: `/leads` matches `/leads?x=1` and `/leads/7`, not `/leadsheet`. */
function begins(url: string, start: string): boolean {
  return url === start || (url.startsWith(start) && (start.endsWith("/") || /^[/?#]/.test(url.slice(start.length))))
}

function answerOf({ status, headers, json, body, fails }: CannedAnswer) {
  if (fails !== undefined) throw new AppError("unavailable", `The call could not be made: ${fails}`, { reason: "connection_failed" })
  if (json === undefined) return { status, headers, body: body ?? "" }
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(json) }
}

/** `body_file` is relative to `folder`. Throws CommandProblem if the file cannot be read. */
export function requestOf(event: EventDocument, folder: string): SentEvent {
  const { body, type } = bodyOf(event, folder)
  const headers: Record<string, string> = type === undefined ? {} : { "content-type": type }
  for (const [name, value] of Object.entries(event.headers)) headers[name.toLowerCase()] = value
  const { signed } = event
  const given = signed === true ? {} : signed
  const signWith = given === false ? undefined : { secret: given.secret ?? "", at: given.at }
  return { method: "POST", headers, query: event.query, body, signWith }
}

function bodyOf({ body, form, body_file }: EventDocument, folder: string): { body: Buffer; type: string | undefined } {
  if (form) return { body: Buffer.from(new URLSearchParams(form).toString()), type: "application/x-www-form-urlencoded" }
  if (body_file !== undefined) return { body: readBytes(join(folder, body_file)), type: "application/json" }
  if (typeof body === "string") return { body: Buffer.from(body), type: "application/json" }
  return { body: Buffer.from(JSON.stringify(body ?? {})), type: "application/json" }
}
