// Inputs of the compiler besides the document: action types, auth modes, facts of verification and the sandbox.
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

/** Facts from the verifier of a configured auth mode. */
export type AuthFacts = Pick<Verifier, "coversBody" | "retries" | "ackTimeoutS">

export interface CompileEnvironment {
  readonly actions: Named<AnyAction>
  readonly authModes: Named<AnyAuthMode>
  /** Returns undefined if the facts are unknown. Dependent lints then report no finding. */
  readonly authFacts?: (mode: AnyAuthMode, config: unknown) => AuthFacts | undefined
  readonly compileProgram: (source: { schema: unknown; transform: string | null }) => ReturnType<Sandbox["compile"]>
  /** Slug of the pipeline's organization. The compiler refuses `org-slug.dataset-slug` with another organization. */
  readonly organizationSlug?: string
  /** Names of reserved channels. A trailing `:*` matches an additional part. */
  readonly channels?: readonly string[]
  /** True for a document saved earlier. New errors of an action are then warnings, so the pipeline still runs. */
  readonly saved?: boolean
  /** Locates pointers in the text of the document. */
  readonly locate?: Locate
}

/** Returns the declared actions, auth modes and channels of the registry. */
export function declared(registry: Registry): Pick<CompileEnvironment, "actions" | "authModes" | "channels"> {
  return {
    actions: { get: (type) => registry.get(Actions, type), names: () => registry.items(Actions).map((action) => action.type) },
    authModes: { get: (mode) => registry.get(AuthModes, mode), names: () => registry.items(AuthModes).map((mode) => mode.mode) },
    channels: registry.items(Channels).map((channel) => channel.name),
  }
}
