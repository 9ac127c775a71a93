// States and transitions of a replay plan.
import { defineStateMachine } from "#core"

export const planMachine = defineStateMachine({
  name: "replay plan",
  initial: "rehearsing",
  states: {
    rehearsing: "Its events run dry through the pipeline as it is now.",
    rehearsed: "It waits to be started.",
    replaying: "Its events are replayed, oldest first.",
    paused: "Nothing happens until it is resumed.",
    completed: "Every event was replayed or left out.",
    stopped: "It was ended before; what was replayed stays.",
  },
  events: {
    rehearsed: "Every event was rehearsed.",
    start: "A person starts the replays; what is left of the rehearsal is left out.",
    pause: "A person pauses it.",
    resume_rehearsal: "A person resumes the rehearsal.",
    resume_replays: "A person resumes the replays.",
    stop: "A person stops it.",
    done: "Every event was replayed.",
  },
  guards: {},
  transitions: [
    { state: "rehearsing", event: "rehearsed", next: "rehearsed" },
    { state: "rehearsing", event: "pause", next: "paused" },
    { state: "rehearsing", event: "start", next: "replaying" },
    { state: "rehearsing", event: "stop", next: "stopped" },
    { state: "rehearsed", event: "start", next: "replaying" },
    { state: "rehearsed", event: "pause", next: "paused" },
    { state: "rehearsed", event: "stop", next: "stopped" },
    { state: "replaying", event: "pause", next: "paused" },
    { state: "replaying", event: "stop", next: "stopped" },
    { state: "replaying", event: "done", next: "completed" },
    { state: "paused", event: "resume_rehearsal", next: "rehearsing" },
    { state: "paused", event: "resume_replays", next: "replaying" },
    { state: "paused", event: "stop", next: "stopped" },
  ],
})
