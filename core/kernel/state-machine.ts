// State machines as tables: each row is a state, an event, the guards that must hold and the next state. What is not in the
// table cannot happen, and a refusal names what can; the documentation and the tests read the same rows.
import { AppError } from "./errors.ts"

/** One row: in `state`, `event` leads to `next` where every guard holds. */
export interface Transition<S extends string = string, E extends string = string, G extends string = string> {
  readonly state: S
  readonly event: E
  readonly guards?: readonly G[]
  readonly next: S
}

/** The states that something can be in, and what leads from one to another. */
export interface StateMachine<S extends string = string, E extends string = string, G extends string = string> {
  /** What has the state, for messages: `assignment's work`. */
  readonly name: string
  readonly initial: S
  /** Each with what it means; empty where its name says it. */
  readonly states: Readonly<Record<S, string>>
  readonly events: Readonly<Record<E, string>>
  /** Each as a sentence that is true where the guard holds. */
  readonly guards: Readonly<Record<G, string>>
  readonly transitions: readonly Transition<S, E, G>[]
}

/** Declares a state machine, its names checked against each other. */
export function defineStateMachine<const S extends string, const E extends string, const G extends string = never>(
  machine: StateMachine<S, E, G>,
): StateMachine<S, E, G> {
  return machine
}

/** The events that a state has rows for. */
export function possibleEvents<S extends string, E extends string>({ transitions }: StateMachine<S, E, string>, state: S): E[] {
  return [...new Set(transitions.filter((row) => row.state === state).map(({ event }) => event))]
}

/**
 * The state that an event leads to. `holds` says which guards hold now. Throws `failed_precondition`: `transition_impossible`
 * where the table has no such row, `transition_guarded` where one of its guards does not hold.
 */
export function nextState<S extends string, E extends string, G extends string>(
  machine: StateMachine<S, E, G>,
  state: S,
  event: E,
  holds: Readonly<Record<G, boolean>>,
): S {
  const row = machine.transitions.find((one) => one.state === state && one.event === event)
  const possible = possibleEvents(machine, state)
  const where = { machine: machine.name, state, event, possible }
  if (!row) {
    const instead = possible.length === 0 ? "nothing is possible from there" : `possible from there: ${possible.join(", ")}`
    const message = `"${event}" is impossible: the ${machine.name} is "${state}"; ${instead}.`
    throw new AppError("failed_precondition", message, { reason: "transition_impossible", ...where })
  }
  const guard = row.guards?.find((one) => !holds[one])
  if (guard === undefined) return row.next
  const message = `"${event}" of the ${machine.name} is refused in the state "${state}": it needs that ${machine.guards[guard]}.`
  throw new AppError("failed_precondition", message, { reason: "transition_guarded", guard, ...where })
}

/** The machine as a section of Markdown: its states, its table and a diagram. */
export function machineArticle(machine: StateMachine, level = 2): string {
  const { name, states, events, guards, transitions, initial } = machine
  const rows = transitions.map(
    ({ state, event, next, guards: needed = [] }) =>
      `| \`${state}\` | \`${event}\` | ${needed.map((one) => guards[one]).join("; ")} | \`${next}\` |`,
  )
  const arrows = transitions.map(
    ({ state, event, next, guards: needed = [] }) =>
      `  ${state} --> ${next}: ${event}${needed.length === 0 ? "" : ` [${needed.join(", ")}]`}`,
  )
  return [
    `${"#".repeat(level)} ${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    list(states),
    list(events),
    ["| state | event | only where | next |", "|---|---|---|---|", ...rows].join("\n"),
    ["```mermaid", "stateDiagram-v2", `  [*] --> ${initial}`, ...arrows, "```"].join("\n"),
  ].join("\n\n")
}

function list(meanings: Readonly<Record<string, string>>): string {
  return Object.entries(meanings)
    .map(([name, meaning]) => (meaning === "" ? `- \`${name}\`` : `- \`${name}\`: ${meaning}`))
    .join("\n")
}
