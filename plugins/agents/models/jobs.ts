// Books calls whose node was killed, once their time limit has passed.
import { defineJob } from "#core"
import { bookLostRef } from "./holds.ts"
import { Models } from "./models.ts"

export const bookLostJob = defineJob(bookLostRef, {
  summary: "Books the estimates of model calls that a killed node took along.",
  inject: { models: Models },
  run: ({ payload, deps, organization = "" }) => deps.models.bookLost(organization, payload.budget),
})
