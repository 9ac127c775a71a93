// Operations for the resources and events of a workstream.
import { z } from "zod"
import { defineList, defineOperation, resultOf, Uuid } from "#core"
import { EventCollection, PartCollection, type StoredResource } from "../collections.ts"
import { actorOf, Workstreams } from "../workstreams.ts"
import { refsBeside } from "./refs-beside.ts"
import {
  bySlug,
  EventResource,
  madeWorkstream,
  ofThatWorkstream,
  PartRef,
  path,
  ResourceResource,
  reading,
  ShortWords,
  shownEvent,
  shownResource,
  Words,
  writing,
} from "./resource.ts"

const ResourceId = Uuid.describe("`id` of the note.")
const madeResource = {
  given: {
    ...madeWorkstream,
    thread: "threads.create",
    resource: {
      operation: "workstreams.add_resource",
      input: { ...ofThatWorkstream, resource_type: "thread", resource_id: resultOf("thread.id"), relationship_type: "about" },
    },
  },
  input: { ...ofThatWorkstream, resource: resultOf("resource.id") },
}

export const addResource = defineOperation({
  name: "workstreams.add_resource",
  summary: "Note that something belongs to a workstream.",
  description: "A reference: what it names is neither read nor changed, and may be of another service.",
  http: { method: "POST", path: `${path}/{slug}/resources` },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    ...bySlug,
    resource_type: ShortWords.min(1).describe("Such as `page`, `dataset` or `thread`."),
    resource_id: Uuid,
    relationship_type: ShortWords.min(1).describe("Such as `produces`, `uses` or `about`."),
    title: ShortWords.default(""),
    phase: PartRef.optional(),
  }),
  output: ResourceResource,
  errors: ["invalid_argument", "not_found", "already_exists", "failed_precondition", "aborted"],
  examples: [
    {
      given: madeResource.given,
      input: { ...ofThatWorkstream, resource_type: "thread", resource_id: resultOf("thread.id"), relationship_type: "uses" },
    },
  ],
  inject: { workstreams: Workstreams },
  async handle({ input: { slug, phase, ...fields }, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, slug)
    const phase_id = phase === undefined ? null : (await deps.workstreams.part(organization, workstream, "phase", phase)).id
    const key = JSON.stringify([fields.resource_type, fields.resource_id, fields.relationship_type])
    await deps.workstreams.requireRoom(organization, workstream, "resource", key)
    const added = { ...deps.workstreams.newPart(workstream, key), ...fields, phase_id, kind: "resource" as const }
    const body = `${fields.relationship_type} ${fields.resource_type} "${fields.title || fields.resource_id}".`
    deps.workstreams.add(work, organization, workstream, added, { actor: actorOf(caller), event: "resource_added", body })
    return shownResource(added)
  },
  onConflict: async ({ error }) => error,
})

export const listResources = defineList({
  name: "workstreams.list_resources",
  summary: "List what belongs to a workstream, newest first.",
  path: `${path}/{slug}/resources`,
  access: reading,
  columns: ["relationship_type", "resource_type", "title", "resource_id"],
  input: { ...bySlug, resource_type: ShortWords.optional() },
  examples: [{ given: madeWorkstream, input: ofThatWorkstream }],
  inject: { workstreams: Workstreams },
  collection: PartCollection,
  where: async ({ slug, ...filter }, { organization, deps }) => ({
    workstream_id: (await deps.workstreams.require(organization, slug)).id,
    kind: "resource",
    ...filter,
  }),
  items: { resources: ResourceResource },
  view: (part) => shownResource(part as StoredResource),
})

export const getResource = defineOperation({
  name: "workstreams.get_resource",
  summary: "Read a note that something belongs to a workstream.",
  http: { method: "GET", path: `${path}/{slug}/resources/{resource}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ ...bySlug, resource: ResourceId }),
  output: ResourceResource,
  errors: ["not_found"],
  examples: [madeResource],
  inject: { workstreams: Workstreams },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.require(organization, input.slug)
    return shownResource(await deps.workstreams.part(organization, workstream, "resource", input.resource))
  },
})

export const removeResource = defineOperation({
  name: "workstreams.remove_resource",
  summary: "Note no more that something belongs to a workstream; the thing itself stays.",
  http: { method: "DELETE", path: `${path}/{slug}/resources/{resource}` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ ...bySlug, resource: ResourceId }),
  output: z.object({ id: Uuid, deleted: z.literal(true) }),
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [madeResource],
  inject: { workstreams: Workstreams },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, input.slug)
    const resource = await deps.workstreams.part(organization, workstream, "resource", input.resource)
    const body = `No longer ${resource.relationship_type} ${resource.resource_type} "${resource.title || resource.resource_id}".`
    deps.workstreams.remove(work, organization, workstream, resource, { actor: actorOf(caller), event: "resource_removed", body })
    return { id: resource.id, deleted: true as const }
  },
  onConflict: async ({ error }) => error,
})

export const appendEvent = defineOperation({
  name: "workstreams.append_event",
  summary: "Write an event into a workstream; it cannot be changed or removed.",
  http: { method: "POST", path: `${path}/{slug}/events` },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({ ...bySlug, body: Words.min(1) }),
  output: EventResource,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [{ given: madeWorkstream, input: { ...ofThatWorkstream, body: "The partner agreed by phone." } }],
  inject: { workstreams: Workstreams },
  async handle({ input: { slug, body }, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, slug)
    const news = { actor: actorOf(caller), event: "noted", body }
    return shownEvent(deps.workstreams.touch(work, organization, workstream, news), organization)
  },
  onConflict: async ({ error }) => error,
})

export const listEvents = defineList({
  name: "workstreams.list_events",
  summary: "List a workstream's events, newest first.",
  path: `${path}/{slug}/events`,
  access: reading,
  columns: ["created_at", "actor_type", "body"],
  input: bySlug,
  examples: [{ given: madeWorkstream, input: ofThatWorkstream }],
  inject: { workstreams: Workstreams },
  collection: EventCollection,
  where: async ({ slug }, { organization, deps }) => ({ workstream_id: (await deps.workstreams.require(organization, slug)).id }),
  items: { events: EventResource },
  view: (event, { organization }) => shownEvent(event, organization),
  beside: refsBeside,
})
