// Operations, tokens and a notebook for tests of the surfaces. Each covers one requirement of a surface.
import { z } from "zod"
import type { Authenticator, Caller, Role } from "../../core/contract/caller.ts"
import { type Document, defineCollection } from "../../core/contract/collection.ts"
import { defineList } from "../../core/contract/list.ts"
import { type AnyOperation, defineOperation } from "../../core/contract/operation.ts"
import { Store } from "../../core/contract/store.ts"
import { AppError } from "../../core/kernel/errors.ts"

export interface Note extends Document {
  text: string
}

export const Notes = defineCollection<Note>()({ name: "notes", scope: "organization", times: [], indexes: [{ fields: ["text"] }] })

const NoteBody = z.object({ id: z.string(), text: z.string() })

/** State for tests that delay or count calls in progress. */
export class Stage {
  handled = 0
  /** Awaited by `notes.create` between staging and returning. */
  gate: Promise<void> = Promise.resolve()
  entered: () => void = () => {}
  produced = 0
  finished = false
}

export function notebook(stage: Stage): AnyOperation[] {
  const create = defineOperation({
    name: "notes.create",
    summary: "Write a note.",
    http: { method: "POST", path: "/v1/notes", status: 201 },
    access: { scope: "notes:write", role: "member" },
    hints: { readOnly: false, destructive: false, idempotent: false },
    input: z.strictObject({
      id: z.string().min(1).max(20),
      text: z.string().min(1),
      tags: z.array(z.strictObject({ label: z.string(), weight: z.int().optional() })).optional(),
      secret: z.string().optional(),
    }),
    output: z.object({ id: z.string(), text: z.string(), secret: z.string().optional() }),
    errors: ["already_exists"],
    secretOutput: ["secret"],
    mcp: { clears: ["secret"] },
    async handle({ input, caller, work }) {
      stage.handled++
      work.in(Notes, caller.organization.id).insert({ id: input.id, text: input.text })
      stage.entered()
      await stage.gate
      return { id: input.id, text: input.text, ...(input.secret ? { secret: `shown-${input.secret}` } : {}) }
    },
  })
  const send = defineOperation({
    name: "notes.send",
    summary: "Reaches beyond the service.",
    http: { method: "POST", path: "/v1/notes-send" },
    access: { scope: "notes:write", role: "member" },
    hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
    input: z.strictObject({ fail: z.boolean().default(false) }),
    output: z.object({ sent: z.number() }),
    errors: ["unavailable"],
    async handle({ input }) {
      stage.handled++
      stage.entered()
      await stage.gate
      if (input.fail) throw new AppError("unavailable", "The other side is away.", { reason: "unavailable" })
      return { sent: stage.handled }
    },
  })
  const list = defineList({
    name: "notes.list",
    summary: "List notes.",
    path: "/v1/notes",
    access: { scope: "notes:read", role: "guest" },
    input: { text: z.string().default("") },
    collection: Notes,
    sort: { text: -1 },
    items: { notes: NoteBody },
    view: (note) => note,
  })
  const read = defineOperation({
    name: "notes.get",
    summary: "Read a note.",
    http: { method: "GET", path: "/v1/notes/{id}" },
    access: { scope: "notes:read", role: "guest" },
    hints: { readOnly: true, destructive: false, idempotent: true },
    input: z.strictObject({ id: z.string() }),
    output: NoteBody,
    errors: ["not_found"],
    inject: { store: Store },
    async handle({ input, caller, deps }) {
      const note = await deps.store.open(Notes, caller.organization.id).get(input.id)
      if (!note) throw new AppError("not_found", `No note has the id "${input.id}".`, { reason: "unknown_path" })
      return note
    },
  })
  const rename = defineOperation({
    name: "notes.update",
    summary: "Change a note.",
    http: { method: "PATCH", path: "/v1/notes/{id}" },
    access: { scope: "notes:write", role: "admin" },
    hints: { readOnly: false, destructive: false, idempotent: true },
    input: z.strictObject({ id: z.string(), text: z.string() }),
    output: NoteBody,
    errors: ["not_found"],
    handle({ input, caller, work }) {
      work.in(Notes, caller.organization.id).update(input.id, { $set: { text: input.text } })
      return input
    },
  })
  const search = defineOperation({
    name: "notes.search",
    summary: "Search notes; literal beside a path parameter.",
    http: { method: "GET", path: "/v1/notes/search" },
    access: { scope: "notes:read", role: "guest" },
    hints: { readOnly: true, destructive: false, idempotent: true },
    input: z.strictObject({ q: z.union([z.string(), z.array(z.string())]) }),
    output: z.object({ q: z.array(z.string()) }),
    errors: [],
    handle: ({ input }) => ({ q: [input.q].flat() }),
  })
  const broken = defineOperation({
    name: "faults.make",
    summary: "Goes wrong in the way asked for.",
    http: { method: "POST", path: "/v1/faults" },
    access: { scope: "notes:write", role: "guest", staff: true },
    hints: { readOnly: true, destructive: false, idempotent: true },
    input: z.strictObject({ how: z.enum(["throw", "wrong_output", "stage"]) }),
    output: z.object({ ok: z.literal(true) }),
    errors: [],
    handle({ input, caller, work }) {
      if (input.how === "throw") throw new Error("password is hunter2")
      if (input.how === "stage") work.in(Notes, caller.organization.id).insert({ id: "sneaked", text: "in" })
      return (input.how === "stage" ? { ok: true } : { ok: "hunter2" }) as { ok: true }
    },
  })
  const stream = defineOperation({
    name: "notes.export",
    summary: "Stream lines.",
    http: { method: "GET", path: "/v1/notes-export" },
    access: { scope: "notes:read", role: "member" },
    hints: { readOnly: true, destructive: false, idempotent: true },
    input: z.strictObject({ lines: z.coerce.number().int(), fail_at: z.coerce.number().int().default(-1) }),
    output: z.unknown(),
    errors: [],
    streams: ["text/csv"],
    handle: ({ input }) => ({
      contentType: "text/csv; charset=utf-8",
      fileName: "nötes.csv",
      chunks: lines(stage, input.lines, input.fail_at),
    }),
  })
  return [read, create, send, list, rename, search, broken, stream]
}

async function* lines(stage: Stage, count: number, failAt: number): AsyncGenerator<string> {
  try {
    for (let line = 0; line < count; line++) {
      if (line === failAt) throw new AppError("unavailable", "The source is gone.", { reason: "unavailable" })
      stage.produced++
      yield `${String(line).padStart(8, "0")},${"x".repeat(1_000)}\n`
    }
  } finally {
    stage.finished = true
  }
}

export const orgA = { id: "0190a000-0000-7000-8000-00000000000a", slug: "acme", name: "Acme" }
export const orgB = { id: "0190a000-0000-7000-8000-00000000000b", slug: "bolt", name: "Bolt" }

interface Key {
  organization: typeof orgA
  role: Role
  scopes?: string[]
  staff?: boolean
}

/** Tokens by name; tests add and remove tokens. */
export class Keys implements Authenticator {
  readonly all = new Map<string, Key>([
    ["a-member", { organization: orgA, role: "member" }],
    ["a-admin", { organization: orgA, role: "admin" }],
    ["a-guest", { organization: orgA, role: "guest" }],
    ["a-staff", { organization: orgA, role: "owner", staff: true }],
    ["a-reader", { organization: orgA, role: "member", scopes: ["notes:read"] }],
    ["a-live", { organization: orgA, role: "member", scopes: ["live:subscribe"] }],
    ["b-member", { organization: orgB, role: "member" }],
  ])

  async authenticate({ bearer, surface, requestId, log }: Parameters<Authenticator["authenticate"]>[0]): Promise<Caller> {
    const key = this.all.get(bearer ?? "")
    if (!bearer || !key) throw new AppError("unauthenticated", "This credential is not known.", { reason: "invalid_credential" })
    return {
      organization: key.organization,
      role: key.role,
      scopes: key.scopes && new Set(key.scopes),
      credential: { id: bearer, kind: key.scopes ? "token" : "api_key", manager: false },
      user: { id: `user-${bearer}`, email: `${bearer}@example.test`, staff: key.staff ?? false },
      surface,
      requestId,
      log,
    }
  }
}
