// Every transition missing from a table, tried through the API from each state: refused with the allowed events, without a
// change. Generated from the tables.
import { expect } from "chai"
import { type Json, possibleEvents, type StateMachine, Store, UnitsOfWork } from "#core"
import { PartCollection, WorkstreamCollection } from "../../../plugins/agents/workstreams/collections.ts"
import {
  adoptionMachine,
  decisionExecutionMachine,
  decisionMachine,
  executionMachine,
  machines,
  outcomeMachine,
  phaseMachine,
  responsibilityMachine,
  submissionMachine,
  workstreamMachine,
} from "../../../plugins/agents/workstreams/transitions.ts"
import { type Refusal, WorkstreamBench } from "./bench.ts"

interface Tried {
  readonly machine: StateMachine
  /** Document that stores the state. */
  readonly part: "workstream" | "phase" | "assignment" | "decision"
  readonly field: string
  /** Events available to callers; the others occur within them. */
  readonly events: readonly string[]
  readonly path: string
  readonly more?: Record<string, unknown>
}

const tried: readonly Tried[] = [
  {
    machine: workstreamMachine,
    part: "workstream",
    field: "status",
    events: ["start", "pause", "resume", "complete", "reopen"],
    path: "transitions",
  },
  { machine: workstreamMachine, part: "workstream", field: "status", events: ["archive"], path: "archive" },
  { machine: phaseMachine, part: "phase", field: "status", events: Object.keys(phaseMachine.events), path: "phases/p/transitions" },
  {
    machine: responsibilityMachine,
    part: "assignment",
    field: "responsibility",
    events: Object.keys(responsibilityMachine.events),
    path: "assignments/a/transitions",
    more: { assigned_agent_key: "writer" },
  },
  {
    machine: executionMachine,
    part: "assignment",
    field: "work_state",
    events: Object.keys(executionMachine.events),
    path: "assignments/a/transitions",
  },
  {
    machine: adoptionMachine,
    part: "assignment",
    field: "adoption_state",
    events: ["accept", "reject", "revoke"],
    path: "assignments/a/transitions",
  },
  { machine: submissionMachine, part: "assignment", field: "latest_attempt", events: ["begin"], path: "assignments/a/attempts" },
  {
    machine: submissionMachine,
    part: "assignment",
    field: "latest_attempt",
    events: ["submit", "fail", "cancel", "withdraw"],
    path: "assignments/a/attempts/end",
  },
  {
    machine: decisionMachine,
    part: "decision",
    field: "status",
    events: ["authorize", "reject", "withdraw", "revoke"],
    path: "decisions/d/transitions",
  },
  {
    machine: decisionExecutionMachine,
    part: "decision",
    field: "execution_status",
    events: Object.keys(decisionExecutionMachine.events),
    path: "decisions/d/transitions",
  },
  {
    machine: outcomeMachine,
    part: "decision",
    field: "outcome_status",
    events: Object.keys(outcomeMachine.events),
    path: "decisions/d/transitions",
  },
]

describe("transitions of workstreams", () => {
  let bench: WorkstreamBench
  let ids: Record<Tried["part"], string>
  before(async () => {
    bench = await WorkstreamBench.open({
      MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "100000",
      MILLRACE_RATE_LIMITS_ORGANIZATION_PER_MINUTE: "100000",
    })
    const { workstream } = await bench.ok("POST", "", { title: "Tried", slug: "tried" })
    const phase = await bench.ok<{ id: string }>("POST", "/tried/phases", { phase: "p", title: "P" })
    const assignment = await bench.ok<{ id: string }>("POST", "/tried/assignments", { assignment: "a", objective: "A" })
    await bench.ok("POST", "/tried/decisions", { decision: "d", what: "D" })
    // Answers identify a decision only by its slug.
    const decision = await bench.host.get(Store).open(PartCollection, bench.host.organization.id).first({ kind: "decision" })
    ids = { workstream: workstream.id, phase: phase.id, assignment: assignment.id, decision: decision?.id ?? "" }
  })
  after(() => bench.close())

  const set = async (part: Tried["part"], change: Record<string, Json>) => {
    const { id: organization } = bench.host.organization
    await bench.host.get(UnitsOfWork).run((work) => {
      if (part === "workstream") work.in(WorkstreamCollection, organization).update(ids.workstream, { $set: change })
      else work.in(PartCollection, organization).update(ids[part], { $set: change })
    })
  }
  const stateOf = (machine: StateMachine, state: string): Json => {
    if (machine !== (submissionMachine as StateMachine)) return state
    const attempt = { id: ids.assignment, agent_run_id: null, attempt_number: 1, ended_at: null }
    return state === "none" ? null : { ...attempt, handles: [], result_kind: "", state, summary: "", terminal_reason: "" }
  }

  it("are each tried, but for those that only happen within others", () => {
    expect([...new Set(tried.map(({ machine }) => machine.name))]).to.have.members(machines.map(({ name }) => name))
    const within = machines.flatMap((machine) => {
      const requests = new Set(
        tried.filter((transition) => transition.machine === (machine as StateMachine)).flatMap(({ events }) => events),
      )
      return Object.keys(machine.events).filter((event) => !requests.has(event))
    })
    expect(within).to.deep.equal(["propose", "withdraw", "supersede"])
  })

  for (const { machine, part, field, events, path, more } of tried)
    for (const state of Object.keys(machine.states))
      it(`${machine.name}, ${state}: nothing but ${possibleEvents(machine, state).join(", ") || "nothing"} of ${events.join(", ")}`, async () => {
        const possible = possibleEvents(machine, state)
        await set(part, { [field]: stateOf(machine, state) })
        const before = await bench.ok("GET", "/tried")
        for (const event of events.filter((name) => !possible.includes(name))) {
          const body = path.endsWith("archive") || path.endsWith("attempts") ? {} : { event, ...more }
          const answer = await bench.call<Refusal>("POST", `/tried/${path}`, body)
          expect([answer.status, answer.body.details.reason, answer.body.details.possible], event).to.deep.equal([
            400,
            "transition_impossible",
            possible,
          ])
          expect(answer.body.message).to.contain(possible[0] ?? "nothing is possible")
        }
        expect(await bench.ok("GET", "/tried")).to.deep.equal(before)
        await set(part, { [field]: stateOf(machine, machine.initial) })
      })
})
