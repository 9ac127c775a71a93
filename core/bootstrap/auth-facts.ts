// Facts about a use of an auth mode before a pipeline exists. The compiler prepares the mode's verifier without secrets and reads
// its properties.
import type { AnyAuthMode } from "../contract/auth-mode.ts"
import type { AuthFacts } from "../pipeline/compile.ts"

/** Returns undefined if the mode needs its dependencies or a secret to answer. */
export function authFacts(mode: AnyAuthMode, config: unknown): AuthFacts | undefined {
  try {
    return mode.prepare({ config, secrets: [], pipeline: { id: "", organization_id: "", owner_artifact_id: null }, deps: {} })
  } catch {
    return undefined
  }
}
