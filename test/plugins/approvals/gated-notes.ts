// A plugin with operations that wait for approval. They write a note and count their runs.
import { z } from "zod"
import { type Document, defineCollection, defineOperation, definePlugin, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { UserSessions } from "../../../plugins/platform/identity/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"

interface Note extends Document {
  text: string
  api_key: string
}

export const NoteCollection = defineCollection<Note>()({ name: "gated_notes", scope: "organization", times: [], indexes: [] })

/** Number of runs by the note's text. */
export const performed = new Map<string, number>()

interface Varied {
  readonly joinsRepeats?: (output: { status: string }) => boolean
  readonly change?: (text: string) => string
}

const writing = (name: string, path: string, { change = (text) => text, ...more }: Varied = {}) =>
  defineOperation({
    ...more,
    name: `gated_notes.${name}`,
    summary: "Write a note, if a person lets it be.",
    http: { method: "POST", path },
    access: { scope: "gated_notes:write", role: "member" },
    hints: { readOnly: false, destructive: false, idempotent: false },
    input: z.strictObject({ text: z.string().min(3).transform(change), api_key: z.string().default("") }),
    output: z.object({ status: z.string(), approval_id: z.string() }),
    errors: ["invalid_argument"],
    gate: {
      name: "notes.write",
      risk: "high",
      summary: "Writing notes.",
      what: ({ text }) => `Write the note "${text}".`,
      pending: ({ id }) => ({ status: "pending_approval", approval_id: id }),
    },
    handle({ input, caller, work, callId }) {
      performed.set(input.text, (performed.get(input.text) ?? 0) + 1)
      work.in(NoteCollection, caller.organization.id).insert({ id: callId, ...input })
      return { status: "written", approval_id: "" }
    },
  })

/** Creates a member of the host's organization with a key. */
export function memberOf(
  host: TestHost,
  name: string,
  role: "admin" | "member" = "admin",
): Promise<{ user: string; id: string; key: string }> {
  return host.get(UnitsOfWork).run((work) => {
    const organizations = host.get(Organizations)
    const { id: user } = organizations.addUser(work, { email: `${name}@example.com` })
    organizations.addMember(work, host.organization.id, user, role)
    const keyOptions = { name, kind: "api_key", role, scopes: null, user } as const
    const { stored, text } = host.get(ApiKeys).mint(work, host.organization.id, keyOptions)
    return { user, id: stored.id, key: text }
  })
}

/** Opens a session of the person and returns its bearer text. */
export function signedIn(host: TestHost, user: string): Promise<string> {
  return host.get(UnitsOfWork).run((work) => {
    const input = { user, organization: host.organization.id, method: "email_code", device: "Test", address: "127.0.0.1" } as const
    return host.get(UserSessions).open(work, input).text
  })
}

export const gatedNotes = definePlugin({
  id: "gated-notes",
  needs: [],
  config: z.strictObject({}),
  register(registrar) {
    registrar.collections(NoteCollection)
    registrar.operations(
      writing("write", "/v1/gated-notes"),
      writing("shout", "/v1/gated-notes/shout", { change: (text) => `${text}!` }),
      writing("join", "/v1/gated-notes/join", { joinsRepeats: ({ status }) => status === "written" }),
    )
  },
})
