// Persons, agents and services among callers. An agent never decides in the place of a person.
//
// | credential                     | REST, command | MCP   | run, heartbeat |
// |--------------------------------|---------------|-------|----------------|
// | key, token, session of a user  | person        | agent | agent          |
// | key without user, manager key  | service       | agent | -              |
import type { Caller } from "./caller.ts"

type CallerKind = "person" | "agent" | "service"

/** Returns the kind of a caller, from its surface and its credential. */
function kindOf({ surface, credential, user }: Pick<Caller, "surface" | "credential" | "user">): CallerKind {
  if (surface === "mcp" || credential.kind === "internal") return "agent"
  return user === undefined || credential.manager ? "service" : "person"
}

/** Returns true if a person makes the call by REST or a command. */
export function isPerson(caller: Pick<Caller, "surface" | "credential" | "user">): boolean {
  return kindOf(caller) === "person"
}
