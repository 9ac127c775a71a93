// Checks the source of events: auth mode, its config and the requirements of the source kind.
import { didYouMean } from "../../kernel/guess.ts"
import { isRecord } from "../../kernel/json.ts"
import { isFedFromInside } from "../document.ts"
import { schemaProblems } from "./config.ts"
import type { CheckedDocument } from "./document-fields.ts"
import type { AuthFacts, CompileEnvironment } from "./environment.ts"
import type { Report } from "./report.ts"

/** Returns the facts of verification for the lints. */
export function checkSource({ document, sound }: CheckedDocument, environment: CompileEnvironment, report: Report): AuthFacts | undefined {
  if (!sound("auth_mode")) return undefined
  const name = document.auth_mode
  if (sound("source_kind") && isFedFromInside(document.source_kind) && name !== "none") {
    report.add(
      "auth-mismatch",
      "/auth_mode",
      `A pipeline of source_kind ${document.source_kind} has no inbound endpoint; its auth_mode is "none", not "${name}".`,
    )
  }
  if (name === "public_artifact" && sound("owner_artifact_id") && document.owner_artifact_id === null) {
    report.add("auth-mismatch", "/auth_mode", '"public_artifact" needs "owner_artifact_id": the published page that events come from.')
  }
  const mode = environment.authModes.get(name)
  if (!mode) {
    const known = environment.authModes.names()
    const hint = didYouMean(name, known) || ` There are: ${known.join(", ")}.`
    report.add("unknown-auth-mode", "/auth_mode", `The auth mode "${name}" does not exist.${hint}`)
    return undefined
  }
  if (!sound("auth_config")) return undefined
  const { secret, ...config } = document.auth_config
  checkSecretShape(secret, report)
  const parsed = mode.config.safeParse(config)
  if (!parsed.success) {
    for (const problem of schemaProblems(
      { issues: parsed.error.issues, schema: mode.config, value: config, alsoKnown: ["secret"] },
      "/auth_config",
    )) {
      report.add(problem.rule, problem.pointer, problem.message)
    }
    return undefined
  }
  return environment.authFacts?.(mode, parsed.data)
}

function checkSecretShape(secret: unknown, report: Report): void {
  if (secret === undefined || (typeof secret === "string" && secret !== "")) return
  const from = isRecord(secret) ? secret : {}
  if (Object.keys(from).length === 1 && typeof from["from_env"] === "string" && from["from_env"] !== "") return
  report.add("invalid-field", "/auth_config/secret", "A secret is a non-empty string, or { from_env: NAME }.")
}
