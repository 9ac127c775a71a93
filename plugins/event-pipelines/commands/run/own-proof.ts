// Whether an event comes with the proof that its sender gave it. Such a one is held against the document's own secret, as
// the service would; any other is signed here, with a secret made for the try.

import type { PipelineHarness, SentEvent } from "#core/commands"
import type { PipelineDocument } from "#core/engine"
import type { Taken } from "./event-file.ts"

export interface Proving {
  readonly sent: SentEvent
  /** For the pipeline; undefined: a test secret. */
  readonly secret: string | undefined
  /** Why it may not verify with any secret. */
  readonly remark: string | undefined
}

export interface ProvingArgs {
  readonly harness: PipelineHarness
  readonly document: PipelineDocument
  readonly taken: Pick<Taken, "sent" | "kind">
  readonly env: NodeJS.ProcessEnv
}

export async function provingOf({ harness, document, taken, env }: ProvingArgs): Promise<Proving> {
  const { sent } = taken
  if (!(await hasOwnProof(harness, document, taken))) return { sent, secret: undefined, remark: undefined }
  const own = { ...sent, signWith: undefined }
  const variable = variableOf(document.auth_config["secret"])
  if (variable === undefined) {
    const remark = "The event carries its own signature, and the document names no variable with the secret, so it cannot be verified here."
    return { sent: own, secret: undefined, remark }
  }
  const secret = env[variable] || undefined
  const unset = `${variable} is not set, and the event carries its own signature: set it to the secret that signed the event.`
  return { sent: own, secret, remark: secret === undefined ? unset : undefined }
}

/** Of an event that is written by hand, single parts may be given; a captured one has what it has. */
async function hasOwnProof(harness: PipelineHarness, document: PipelineDocument, { sent, kind }: ProvingArgs["taken"]): Promise<boolean> {
  if (kind === "execution" || (sent.signWith && sent.signWith.secret !== "")) return false
  const names = await harness.proofNames(document, sent)
  if (names === undefined) return true
  const given = new Set([...Object.keys(sent.headers), ...Object.keys(sent.query)].map((name) => name.toLowerCase()))
  if (names.length === 0) return false
  return kind === "captured" || !sent.signWith ? names.some((name) => given.has(name)) : names.every((name) => given.has(name))
}

function variableOf(secret: unknown): string | undefined {
  const name = (secret as { from_env?: unknown } | undefined)?.from_env
  return typeof name === "string" ? name : undefined
}
