// Persons, agents and services among callers. Every rule about them reads this one table.
import type { AnyCaller } from "./caller.ts"

/** An agent never decides in the place of a person. A service is a program without a person behind each call. */
export type CallerKind = "person" | "agent" | "service"

/** Requests for approval that a credential may decide. `others`: only those of another root, user and manager. */
export type DecidingRight = "own_and_others" | "others" | "none"

interface Row {
  readonly rest: CallerKind
  readonly mcp: CallerKind
  /** Kind of a session opened with the credential. It has the root and the rights of the credential. */
  readonly session: CallerKind
  readonly decides: DecidingRight
}

/** Kinds of callers by credential and surface. Commands, the client and sockets count as REST. */
export const callerKinds = {
  /** Began with an email code, a passkey, OpenID Connect or the bootstrap link. */
  interactive_session: { rest: "person", mcp: "agent", session: "person", decides: "own_and_others" },
  user_key: { rest: "person", mcp: "agent", session: "service", decides: "others" },
  user_token: { rest: "person", mcp: "agent", session: "service", decides: "none" },
  agent_token: { rest: "agent", mcp: "agent", session: "agent", decides: "none" },
  /** A key or token without a user, or a manager key. */
  service_key: { rest: "service", mcp: "agent", session: "service", decides: "none" },
  /** A run of an agent, a pipeline, a heartbeat, or the service itself. */
  run: { rest: "agent", mcp: "agent", session: "agent", decides: "none" },
} as const satisfies Readonly<Record<string, Row>>

type Known = Pick<AnyCaller, "surface" | "credential" | "user" | "scopes" | "signIn">

/** Returns the kind of a caller. */
export function callerKind(caller: Known): CallerKind {
  const { rest, mcp, session } = callerKinds[rowOf(caller)]
  if (caller.surface === "mcp") return mcp
  return caller.credential.kind === "session" && !caller.signIn ? session : rest
}

/** Returns true if a person makes the call by REST or a command. */
export function isPerson(caller: Known): boolean {
  return callerKind(caller) === "person"
}

/** Returns the requests that a caller may decide. */
export function decidingRight(caller: Known): DecidingRight {
  return caller.surface === "mcp" ? "none" : callerKinds[rowOf(caller)].decides
}

function rowOf({ credential, user, scopes, signIn }: Known): keyof typeof callerKinds {
  if (signIn) return "interactive_session"
  if (credential.kind === "internal") return "run"
  if (credential.kind === "agent" || credential.opened_with === "agent") return "agent_token"
  if (user === undefined || credential.manager) return "service_key"
  return scopes === undefined ? "user_key" : "user_token"
}
