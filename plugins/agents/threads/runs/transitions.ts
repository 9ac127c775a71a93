// The state machine of an agent run.
import { defineStateMachine } from "#core"

export const runMachine = defineStateMachine({
  name: "agent run",
  initial: "queued",
  states: {
    queued: "waits for its turn.",
    running: "the agent is being asked.",
    waiting: "the agent took it, and calls back.",
    succeeded: "the agent answered.",
    failed: "`terminal_reason` says why.",
    canceled: "somebody ended it.",
  },
  events: {
    begin: "the agent is asked; again, where an earlier try failed.",
    hand_over: "the agent answers 202.",
    succeed: "the agent answers, or calls back.",
    fail: "no answer came that can be used.",
    cancel: "a caller cancels it.",
    resume: "a caller has it asked once more.",
  },
  guards: { unbound: "the run was not made for an attempt, which has runs of its own" },
  transitions: [
    { state: "queued", event: "begin", next: "running" },
    { state: "queued", event: "fail", next: "failed" },
    { state: "queued", event: "cancel", next: "canceled" },
    { state: "running", event: "begin", next: "running" },
    { state: "running", event: "hand_over", next: "waiting" },
    { state: "running", event: "succeed", next: "succeeded" },
    { state: "running", event: "fail", next: "failed" },
    { state: "running", event: "cancel", next: "canceled" },
    { state: "waiting", event: "succeed", next: "succeeded" },
    { state: "waiting", event: "fail", next: "failed" },
    { state: "waiting", event: "cancel", next: "canceled" },
    { state: "failed", event: "resume", guards: ["unbound"], next: "queued" },
    { state: "canceled", event: "resume", guards: ["unbound"], next: "queued" },
  ],
})

export type RunState = keyof typeof runMachine.states
export type RunEvent = keyof typeof runMachine.events
