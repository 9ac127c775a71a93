// What the compiler may know of a use of an auth mode before there is a pipeline: its verifier is prepared without
// secrets and asked.
import type { AnyAuthMode } from "../contract/auth-mode.ts"
import type { AuthFacts } from "../pipeline/compile.ts"

/** undefined when the mode cannot say without its dependencies or a secret. */
export function authFacts(mode: AnyAuthMode, config: unknown): AuthFacts | undefined {
  try {
    return mode.prepare({ config, secrets: [], pipeline: { id: "", organization_id: "", owner_artifact_id: null }, deps: {} })
  } catch {
    return undefined
  }
}
