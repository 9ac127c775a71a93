// What the compiler is lent: the action types and auth modes that are loaded, facts about a mode's verification, and the
// sandbox that turns schema and transform into a program. Everything else it needs is in the document.
import { Actions, type AnyAction } from "../../contract/action.ts"
import { type AnyAuthMode, AuthModes, type Verifier } from "../../contract/auth-mode.ts"
import { Channels } from "../../contract/channel.ts"
import type { Registry } from "../../kernel/registry.ts"
import type { Locate } from "../parse.ts"
import type { Sandbox } from "../sandbox/sandbox.ts"

export interface Named<T> {
  get(name: string): T | undefined
  names(): readonly string[]
}

/** Of one use of an auth mode, where known: as its verifier would say. */
export type AuthFacts = Pick<Verifier, "coversBody" | "retries" | "ackTimeoutS">

export interface CompileEnvironment {
  readonly actions: Named<AnyAction>
  readonly authModes: Named<AnyAuthMode>
  /** undefined when nothing is known; lints that depend on it then stay silent. */
  readonly authFacts?: (mode: AnyAuthMode, config: unknown) => AuthFacts | undefined
  readonly compileProgram: (source: { schema: unknown; transform: string | null }) => ReturnType<Sandbox["compile"]>
  /** Slug of the organization the pipeline is for; `org-slug.dataset-slug` of another is refused. */
  readonly organizationSlug?: string
  /** Names of reserved channels; a trailing `:*` takes one more part. */
  readonly channels?: readonly string[]
  /** The document is one that was saved before: what an action has come to refuse since is warned of, and it runs on. */
  readonly saved?: boolean
  /** Where pointers stand in the text that the document came from. */
  readonly locate?: Locate
}

/** What the registry knows, as the compiler takes it. */
export function declared(registry: Registry): Pick<CompileEnvironment, "actions" | "authModes" | "channels"> {
  return {
    actions: { get: (type) => registry.get(Actions, type), names: () => registry.items(Actions).map((action) => action.type) },
    authModes: { get: (mode) => registry.get(AuthModes, mode), names: () => registry.items(AuthModes).map((mode) => mode.mode) },
    channels: registry.items(Channels).map((channel) => channel.name),
  }
}
