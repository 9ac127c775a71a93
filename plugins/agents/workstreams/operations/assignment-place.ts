// Shared parts of the operations for assignments and attempts: paths, and example setups.
import { resultOf } from "#core"
import { bySlug, madeWorkstream, ofThatWorkstream, PartRef, path } from "./resource.ts"

export const ofAssignment = `${path}/{slug}/assignments/{assignment}`
export const byAssignment = { ...bySlug, assignment: PartRef }

export const added = {
  ...madeWorkstream,
  agent: "agents.create",
  assignment: { operation: "workstreams.add_assignment", input: { ...ofThatWorkstream, assignment: "copy", objective: "Write the copy." } },
}
export const thatOne = { ...ofThatWorkstream, assignment: resultOf("assignment.slug") }
export const moved = (event: string, more: object = {}) => ({
  operation: "workstreams.move_assignment",
  input: { ...thatOne, event, ...more },
})
