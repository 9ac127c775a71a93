// Operations for threads and their messages: create, list, read and append.
import { z } from "zod"
import { defineList, defineOperation, Name, Uuid } from "#core"
import { MessageCollection, ThreadCollection } from "../collections.ts"
import { maxContent, Threads } from "../threads.ts"
import { MessageResource, madeThread, ofThatThread, shownMessage, shownThread, ThreadResource } from "./resource.ts"

const path = "/v1/threads"
const reading = { scope: "threads:read", role: "member" } as const
const writing = { scope: "threads:write", role: "member" } as const

export const createThread = defineOperation({
  name: "threads.create",
  summary: "Create a thread, which messages and runs of agents belong to.",
  http: { method: "POST", path },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({ title: Name }),
  output: ThreadResource,
  errors: ["invalid_argument"],
  examples: [{ input: { title: "Autumn launch" } }],
  inject: { threads: Threads },
  handle: ({ input, caller, deps, work }) =>
    shownThread(deps.threads.create(work, caller.organization.id, { title: input.title, userId: caller.user?.id ?? null })),
})

export const listThreads = defineList({
  name: "threads.list",
  summary: "List the threads, newest first.",
  path,
  access: reading,
  columns: ["title", "message_count", "updated_at", "id"],
  collection: ThreadCollection,
  items: { threads: ThreadResource },
  view: shownThread,
})

export const getThread = defineOperation({
  name: "threads.get",
  summary: "Read a thread.",
  http: { method: "GET", path: `${path}/{id}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ id: Uuid }),
  output: ThreadResource,
  errors: ["not_found"],
  examples: [{ given: madeThread, input: ofThatThread }],
  inject: { threads: Threads },
  handle: async ({ input, caller, deps }) => shownThread(await deps.threads.require(caller.organization.id, input.id)),
})

export const appendMessage = defineOperation({
  name: "threads.append",
  summary: "Append a message to a thread; it cannot be changed.",
  description: "No agent is asked: `agent_runs.start` does that.",
  http: { method: "POST", path: `${path}/{id}/messages` },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    id: Uuid,
    content: z.string().min(1).max(maxContent),
    role: z.enum(["user", "note"]).default("user").describe("`user`: a turn of a conversation; `note`: a remark beside it."),
  }),
  output: MessageResource,
  errors: ["invalid_argument", "not_found"],
  auditSize: ["content"],
  examples: [{ given: madeThread, input: { ...ofThatThread, content: "We begin on Monday." } }],
  inject: { threads: Threads },
  async handle({ input: { id, role, content }, caller, deps, work }) {
    const organization = caller.organization.id
    await deps.threads.require(organization, id)
    return shownMessage(deps.threads.append(work, organization, id, { role, author: caller.user?.id ?? caller.credential.id, content }))
  },
})

export const listMessages = defineList({
  name: "threads.list_messages",
  summary: "List a thread's messages, newest first.",
  path: `${path}/{id}/messages`,
  access: reading,
  columns: ["role", "author", "content", "created_at"],
  input: { id: Uuid },
  examples: [{ given: madeThread, input: ofThatThread }],
  inject: { threads: Threads },
  collection: MessageCollection,
  async where({ id }, { organization, deps }) {
    await deps.threads.require(organization, id)
    return { thread_id: id }
  },
  items: { messages: MessageResource },
  view: shownMessage,
})
