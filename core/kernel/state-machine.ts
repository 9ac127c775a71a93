// State machines as tables. Each row is a state, an event, its guards and the next state. A transition outside the table is
// refused, and the error names the possible events. Documentation and tests read the same rows.
import { AppError } from "./errors.ts"

/** A row: in `state`, `event` leads to `next` if all guards are true. */
export interface Transition<S extends string = string, E extends string = string, G extends string = string> {
  readonly state: S
  readonly event: E
  readonly guards?: readonly G[]
  readonly next: S
}

/** The states of an entity and the transitions between them. */
export interface StateMachine<S extends string = string, E extends string = string, G extends string = string> {
  /** The entity with the state, for messages: `assignment's work`. */
  readonly name: string
  readonly initial: S
  /** The meaning of each state. Empty if the name is clear. */
  readonly states: Readonly<Record<S, string>>
  readonly events: Readonly<Record<E, string>>
  /** Each guard as a sentence that is true if the guard passes. */
  readonly guards: Readonly<Record<G, string>>
  readonly transitions: readonly Transition<S, E, G>[]
}

/** Declares a state machine. The types check its names against each other. */
export function defineStateMachine<const S extends string, const E extends string, const G extends string = never>(
  machine: StateMachine<S, E, G>,
): StateMachine<S, E, G> {
  return machine
}

/** Returns the events of a state's rows. */
export function possibleEvents<S extends string, E extends string>({ transitions }: StateMachine<S, E, string>, state: S): E[] {
  return [...new Set(transitions.filter((row) => row.state === state).map(({ event }) => event))]
}

/**
 * Returns the next state of an event. `holds` returns true for a passing guard. Throws `failed_precondition`:
 * `transition_impossible` if the table has no row for the event, `transition_guarded` if a guard fails.
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

/** Returns the machine as a Markdown section: its states, its table and a diagram. */
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
