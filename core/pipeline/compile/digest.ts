// The digest of a compiled pipeline: SHA-256 of canonical JSON (RFC 8785's key order) of the document, without the
// secret, and of what the action types in it take. The same document gives the same digest, however it is spelled.
import { createHash } from "node:crypto"
import { z } from "zod"
import type { AnyAction } from "../../contract/action.ts"
import { canonicalJson } from "../../kernel/canonical-json.ts"
import type { PipelineDocument } from "../document.ts"

export function digestOf(document: PipelineDocument, actions: readonly AnyAction[]): string {
  const { secret: _secret, ...auth_config } = document.auth_config
  const versions = Object.fromEntries(actions.map((action) => [action.type, versionOf(action)]))
  return sha256(canonicalJson({ document: { ...document, auth_config }, versions }))
}

const versions = new WeakMap<AnyAction, string>()

function versionOf(action: AnyAction): string {
  const known = versions.get(action)
  if (known !== undefined) return known
  const schema = z.toJSONSchema(action.config, { io: "input", unrepresentable: "any" })
  const version = sha256(canonicalJson([action.timing, schema]))
  versions.set(action, version)
  return version
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex")
}
