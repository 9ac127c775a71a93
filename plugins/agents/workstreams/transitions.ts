// State machines of a workstream and its parts. Responsibility, execution, submission and adoption of an assignment are
// independent facts, each with its own table.
import { defineStateMachine } from "#core"

export const workstreamMachine = defineStateMachine({
  name: "workstream",
  initial: "draft",
  states: {
    draft: "being set up.",
    active: "worked on.",
    paused: "no attempt begins.",
    completed: "every assignment is over.",
    archived: "kept, and changed no more.",
  },
  events: { start: "", pause: "", resume: "", complete: "", reopen: "", archive: "" },
  guards: { settled: "every assignment is done or canceled" },
  transitions: [
    { state: "draft", event: "start", next: "active" },
    { state: "active", event: "pause", next: "paused" },
    { state: "paused", event: "resume", next: "active" },
    { state: "active", event: "complete", guards: ["settled"], next: "completed" },
    { state: "completed", event: "reopen", next: "active" },
    { state: "draft", event: "archive", next: "archived" },
    { state: "active", event: "archive", guards: ["settled"], next: "archived" },
    { state: "paused", event: "archive", guards: ["settled"], next: "archived" },
    { state: "completed", event: "archive", next: "archived" },
  ],
})

export const phaseMachine = defineStateMachine({
  name: "phase",
  initial: "pending",
  states: { pending: "not begun.", in_progress: "worked on.", completed: "done.", skipped: "not to be done." },
  events: { start: "", complete: "", skip: "", reopen: "" },
  guards: {},
  transitions: [
    { state: "pending", event: "start", next: "in_progress" },
    { state: "pending", event: "skip", next: "skipped" },
    { state: "in_progress", event: "complete", next: "completed" },
    { state: "in_progress", event: "skip", next: "skipped" },
    { state: "completed", event: "reopen", next: "in_progress" },
    { state: "skipped", event: "reopen", next: "pending" },
  ],
})

export const responsibilityMachine = defineStateMachine({
  name: "responsibility for an assignment",
  initial: "unassigned",
  states: { unassigned: "nobody's.", assigned: "of the agent or person in `assigned_agent_key`." },
  events: { assign: "to an agent, or to `human:<user_id>`; to another one, where it is assigned.", release: "" },
  guards: { no_open_attempt: "no attempt is running" },
  transitions: [
    { state: "unassigned", event: "assign", next: "assigned" },
    { state: "assigned", event: "assign", guards: ["no_open_attempt"], next: "assigned" },
    { state: "assigned", event: "release", guards: ["no_open_attempt"], next: "unassigned" },
  ],
})

export const executionMachine = defineStateMachine({
  name: "work on an assignment",
  initial: "planned",
  states: {
    planned: "not begun.",
    in_progress: "attempts may begin.",
    blocked: "waits for something; `work_state_reason` says for what.",
    done: "worked on no more; says nothing of whether a result was accepted.",
    canceled: "not to be done.",
  },
  events: { begin: "", block: "", unblock: "", finish: "", cancel: "", reopen: "" },
  guards: { assigned: "somebody is responsible", no_open_attempt: "no attempt is running", not_accepted: "its result is not accepted" },
  transitions: [
    { state: "planned", event: "begin", guards: ["assigned"], next: "in_progress" },
    { state: "planned", event: "cancel", next: "canceled" },
    { state: "in_progress", event: "block", next: "blocked" },
    { state: "in_progress", event: "finish", guards: ["no_open_attempt"], next: "done" },
    { state: "in_progress", event: "cancel", guards: ["no_open_attempt"], next: "canceled" },
    { state: "blocked", event: "unblock", next: "in_progress" },
    { state: "blocked", event: "cancel", guards: ["no_open_attempt"], next: "canceled" },
    { state: "done", event: "reopen", guards: ["not_accepted"], next: "in_progress" },
    { state: "canceled", event: "reopen", next: "planned" },
  ],
})

export const submissionMachine = defineStateMachine({
  name: "attempt",
  initial: "none",
  states: {
    none: "none has begun.",
    running: "in progress.",
    submitted: "its result is proposed; whether it is accepted is another fact.",
    failed: "ended without a result.",
    canceled: "ended by a caller.",
    withdrawn: "its result was taken back.",
  },
  events: {
    begin: "the next attempt.",
    submit: "proposes a result, in the same commit as `propose` of the adoption.",
    fail: "",
    cancel: "",
    withdraw: "takes the proposed result back, in the same commit as `withdraw` of the adoption.",
  },
  guards: {
    work_in_progress: "the work is in progress, in an active workstream",
    own_run: "its agent run has ended, or is what ends it",
    undecided: "the result is proposed and not decided about",
    rejected: "its result was rejected",
  },
  transitions: [
    { state: "none", event: "begin", guards: ["work_in_progress"], next: "running" },
    { state: "running", event: "submit", guards: ["own_run"], next: "submitted" },
    { state: "running", event: "fail", guards: ["own_run"], next: "failed" },
    { state: "running", event: "cancel", next: "canceled" },
    { state: "submitted", event: "withdraw", guards: ["undecided"], next: "withdrawn" },
    { state: "submitted", event: "begin", guards: ["rejected", "work_in_progress"], next: "running" },
    { state: "failed", event: "begin", guards: ["work_in_progress"], next: "running" },
    { state: "canceled", event: "begin", guards: ["work_in_progress"], next: "running" },
    { state: "withdrawn", event: "begin", guards: ["work_in_progress"], next: "running" },
  ],
})

const byDecider = "a person decides (signed in, or by a key of a user over REST), or the workstream is `autonomous`"

export const adoptionMachine = defineStateMachine({
  name: "adoption of a result",
  initial: "none",
  states: {
    none: "no result is proposed.",
    proposed: "a result waits for a decision; it is not accepted.",
    accepted: "the result counts.",
    rejected: "the result does not count.",
  },
  events: { propose: "by `submit` of an attempt.", withdraw: "by `withdraw` of an attempt.", accept: "", reject: "", revoke: "" },
  guards: { by_decider: byDecider },
  transitions: [
    { state: "none", event: "propose", next: "proposed" },
    { state: "proposed", event: "accept", guards: ["by_decider"], next: "accepted" },
    { state: "proposed", event: "reject", guards: ["by_decider"], next: "rejected" },
    { state: "proposed", event: "withdraw", next: "none" },
    { state: "accepted", event: "revoke", guards: ["by_decider"], next: "rejected" },
    { state: "rejected", event: "propose", next: "proposed" },
  ],
})

export const decisionMachine = defineStateMachine({
  name: "decision",
  initial: "proposed",
  states: {
    proposed: "waits to be authorized.",
    authorized: "stands.",
    rejected: "was not authorized.",
    withdrawn: "was taken back.",
    superseded: "stood until another one took its place.",
  },
  events: {
    authorize: "what it supersedes is superseded in the same commit.",
    reject: "",
    withdraw: "",
    revoke: "",
    supersede: "by `authorize` of the decision that supersedes it.",
  },
  guards: {
    by_decider: byDecider,
    approval_granted: "its approval is granted, where it has one",
    superseded_stands: "the decision that it supersedes stands",
  },
  transitions: [
    { state: "proposed", event: "authorize", guards: ["by_decider", "approval_granted", "superseded_stands"], next: "authorized" },
    { state: "proposed", event: "reject", guards: ["by_decider"], next: "rejected" },
    { state: "proposed", event: "withdraw", next: "withdrawn" },
    { state: "authorized", event: "revoke", guards: ["by_decider"], next: "withdrawn" },
    { state: "authorized", event: "supersede", next: "superseded" },
  ],
})

export const decisionExecutionMachine = defineStateMachine({
  name: "execution of a decision",
  initial: "not_started",
  states: { not_started: "", in_progress: "", executed: "", failed: "" },
  events: { begin: "", succeed: "", fail: "" },
  guards: { stands: "the decision stands" },
  transitions: [
    { state: "not_started", event: "begin", guards: ["stands"], next: "in_progress" },
    { state: "in_progress", event: "succeed", next: "executed" },
    { state: "in_progress", event: "fail", next: "failed" },
    { state: "failed", event: "begin", guards: ["stands"], next: "in_progress" },
  ],
})

export const outcomeMachine = defineStateMachine({
  name: "result of a decision",
  initial: "unknown",
  states: { unknown: "", achieved: "what was wanted came of it.", missed: "it did not.", inconclusive: "it cannot be told." },
  events: { report_achieved: "", report_missed: "", report_inconclusive: "" },
  guards: { executed: "the decision was executed" },
  transitions: [
    { state: "unknown", event: "report_achieved", guards: ["executed"], next: "achieved" },
    { state: "unknown", event: "report_missed", guards: ["executed"], next: "missed" },
    { state: "unknown", event: "report_inconclusive", guards: ["executed"], next: "inconclusive" },
    { state: "inconclusive", event: "report_achieved", next: "achieved" },
    { state: "inconclusive", event: "report_missed", next: "missed" },
  ],
})

/** In the order of the reference. */
export const machines = [
  workstreamMachine,
  phaseMachine,
  responsibilityMachine,
  executionMachine,
  submissionMachine,
  adoptionMachine,
  decisionMachine,
  decisionExecutionMachine,
  outcomeMachine,
] as const

export type StateOf<M extends { readonly states: object }> = keyof M["states"] & string
export type EventOf<M extends { readonly events: object }> = keyof M["events"] & string

/** Returns the names of a record, for a zod enum. */
export function namesOf<T extends object>(record: T): [keyof T & string, ...(keyof T & string)[]] {
  return Object.keys(record) as [keyof T & string, ...(keyof T & string)[]]
}
