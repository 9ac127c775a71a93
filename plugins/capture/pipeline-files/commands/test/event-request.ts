// An event as a document writes it, made into what its sender would send.
import { join } from "node:path"
import type { EventDocument, SentEvent } from "#core/commands"
import { readBytes } from "../files.ts"

/** `folder` is what `body_file` is relative to. Throws CommandProblem when that cannot be read. */
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
