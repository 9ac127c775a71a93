// Operations to follow a workstream, and to request help from people.
import { z } from "zod"
import { AppError, defineOperation, type UnitOfWork } from "#core"
import { escalated } from "../account.ts"
import { type StoredWorkstream, WorkstreamCollection } from "../collections.ts"
import { actorOf, followerOf, Workstreams } from "../workstreams.ts"
import { bySlug, madeWorkstream, ofThatWorkstream, path, reading, Words, writing } from "./resource.ts"

const maxFollowers = 1_000
const output = z.object({ following: z.boolean() })

export const followWorkstream = defineOperation({
  name: "workstreams.follow",
  summary: "Follow a workstream; reads of it say so.",
  http: { method: "POST", path: `${path}/{slug}/follow` },
  access: { ...reading, scope: "workstreams:write" },
  hints: { readOnly: false, destructive: false, idempotent: true },
  input: z.strictObject(bySlug),
  output,
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [{ given: madeWorkstream, input: ofThatWorkstream }],
  inject: { workstreams: Workstreams },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.require(organization, input.slug)
    const follower = followerOf(caller)
    if (workstream.followers.length >= maxFollowers && !workstream.followers.includes(follower)) {
      const message = `The workstream has ${maxFollowers} followers, the most it may.`
      throw new AppError("failed_precondition", message, { reason: "workstream_full", max: maxFollowers })
    }
    change(work, organization, workstream, { $addToSet: { followers: follower } })
    return { following: true }
  },
})

export const unfollowWorkstream = defineOperation({
  name: "workstreams.unfollow",
  summary: "Follow a workstream no more.",
  http: { method: "POST", path: `${path}/{slug}/unfollow` },
  access: { ...reading, scope: "workstreams:write" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject(bySlug),
  output,
  errors: ["not_found", "aborted"],
  examples: [{ given: madeWorkstream, input: ofThatWorkstream }],
  inject: { workstreams: Workstreams },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.require(organization, input.slug)
    change(work, organization, workstream, { $pull: { followers: followerOf(caller) } })
    return { following: false }
  },
})

export const escalateWorkstream = defineOperation({
  name: "workstreams.escalate",
  summary: "Ask people for help with a workstream; counted against its budget of a day.",
  description: "The event and the live channel of the workstream tell it. Days are of UTC.",
  http: { method: "POST", path: `${path}/{slug}/escalations` },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({ ...bySlug, reason: Words.min(1) }),
  output: z.object({ escalations_today: z.int(), escalation_budget_per_day: z.int() }),
  errors: ["invalid_argument", "not_found", "failed_precondition", "resource_exhausted", "aborted"],
  examples: [{ given: madeWorkstream, input: { ...ofThatWorkstream, reason: "The partner does not answer." } }],
  inject: { workstreams: Workstreams },
  async handle({ input: { slug, reason }, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, slug)
    const today = escalated(work, organization, workstream, deps.workstreams.now().slice(0, 10))
    deps.workstreams.touch(work, organization, workstream, { actor: actorOf(caller), event: "escalated", body: `Escalated: ${reason}` })
    return { escalations_today: today, escalation_budget_per_day: workstream.escalation_budget_per_day }
  },
  onConflict: async ({ error }) => error,
})

function change(
  work: UnitOfWork,
  organization: string,
  { id }: StoredWorkstream,
  update: { $addToSet?: Record<string, string>; $pull?: Record<string, string> },
) {
  work.in(WorkstreamCollection, organization).update(id, update)
}
