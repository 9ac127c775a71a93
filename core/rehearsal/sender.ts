// The sender of a tried event: it signs, by the auth mode's own rules, as the real one would.
import type { Runtime } from "../bootstrap/runtime.ts"
import { AuthModes, type InboundRequest, type SignArgs, type SignedParts } from "../contract/auth-mode.ts"
import type { TokenRecord } from "../kernel/di.ts"
import { AppError } from "../kernel/errors.ts"
import type { PipelineDocument } from "../pipeline/document.ts"

export interface Sender {
  readonly hasSecret: boolean
  /** What the auth mode's tests use. */
  readonly testSecret: string
  /** Throws `unimplemented` where only the real sender can sign. */
  sign(secret: string, request: InboundRequest, pipeline: SignArgs<unknown, TokenRecord>["pipeline"]): Promise<SignedParts>
}

/** undefined where there is no such auth mode. */
export function senderOf(
  { registry, container }: Runtime,
  { auth_mode, auth_config }: Pick<PipelineDocument, "auth_mode" | "auth_config">,
): Sender | undefined {
  const mode = registry.get(AuthModes, auth_mode)
  if (!mode) return undefined
  const { secret: _, ...given } = auth_config
  const config: unknown = mode.config.parse(given)
  return {
    hasSecret: mode.secret(config) !== "none",
    testSecret: mode.testSecret?.(config) ?? "test-secret-test-secret",
    async sign(secret, request, pipeline) {
      if (mode.sign) return mode.sign({ config, secret, request, pipeline, deps: container.all(mode.inject) })
      const message = `The auth mode ${mode.mode} cannot sign for tests; give captured signed headers.`
      throw new AppError("unimplemented", message, { reason: "cannot_sign" })
    },
  }
}
