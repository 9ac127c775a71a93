// Workstreams: multi-step work of people and agents with shared records.
import { z } from "zod"
import { definePlugin, injected, Store } from "#core"
import { ModelAccounts } from "../models/index.ts"
import { AgentRuns, RunSubjects } from "../threads/index.ts"
import { accountKind, accountOf } from "./account.ts"
import { attemptRuns } from "./attempts.ts"
import { workstreamsChannel } from "./channel.ts"
import { AttemptCollection, EventCollection, PartCollection, WorkstreamCollection } from "./collections.ts"
import { addAssignment, getAssignment, listAssignments, moveAssignment, updateAssignment } from "./operations/assignments.ts"
import { beginAttemptOperation, endAttemptOperation, listAttempts } from "./operations/attempts.ts"
import { getDecision, listDecisions, moveDecision, proposeDecision } from "./operations/decisions.ts"
import { setExternalRefs } from "./operations/external-refs.ts"
import { escalateWorkstream, followWorkstream, unfollowWorkstream } from "./operations/following.ts"
import { addResource, appendEvent, getResource, listEvents, listResources, removeResource } from "./operations/notes.ts"
import { addPhase, getPhase, listPhases, movePhase, updatePhase } from "./operations/phases.ts"
import {
  archiveWorkstream,
  createWorkstreamOperation,
  getWorkstream,
  listWorkstreams,
  transitionWorkstream,
  updateWorkstream,
} from "./operations/workstreams.ts"
import { reasons } from "./reasons.ts"
import { WorkstreamTemplates } from "./templates.ts"
import { Workstreams } from "./workstreams.ts"

export default definePlugin({
  id: "workstreams",
  reasons,
  needs: ["approvals", "models", "organizations", "threads"],
  config: z.strictObject({}),
  async generates() {
    const { statesPage, statesPageFile } = await import("./page.ts")
    return [{ file: statesPageFile, text: statesPage() }]
  },
  extend: [
    [RunSubjects, injected({ store: Store, runs: AgentRuns, workstreams: Workstreams }, attemptRuns)],
    [
      ModelAccounts,
      injected({ store: Store }, ({ store }) => ({
        kind: accountKind,
        open: (organization: string, id: string) => accountOf(store, organization, id),
      })),
    ],
  ],
  register(registrar) {
    registrar.collections(WorkstreamCollection, PartCollection, AttemptCollection, EventCollection)
    registrar.channels(workstreamsChannel)
    registrar.operations(
      createWorkstreamOperation,
      listWorkstreams,
      getWorkstream,
      updateWorkstream,
      transitionWorkstream,
      archiveWorkstream,
    )
    registrar.operations(followWorkstream, unfollowWorkstream, escalateWorkstream, setExternalRefs)
    registrar.operations(addPhase, listPhases, getPhase, updatePhase, movePhase)
    registrar.operations(addResource, listResources, getResource, removeResource, appendEvent, listEvents)
    registrar.operations(addAssignment, listAssignments, getAssignment, updateAssignment, moveAssignment)
    registrar.operations(beginAttemptOperation, endAttemptOperation, listAttempts)
    registrar.operations(proposeDecision, listDecisions, getDecision, moveDecision)
    registrar.resources(WorkstreamTemplates)
    registrar.provide(Workstreams)
  },
})
