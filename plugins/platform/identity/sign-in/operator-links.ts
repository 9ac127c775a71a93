// Operator links: signed with the master key, so the command needs no running service. The service accepts a link once, for ten
// minutes, on every node.
import { createHmac, randomUUID } from "node:crypto"
import { z } from "zod"
import { type Clock, derivedUuid, type Store, sameBytes, timestamp, type UnitOfWork, type Vault } from "#core"
import { UsedLinksCollection } from "../collections.ts"

/** `owner`: the first user, before the address is set. */
export type LinkTarget = { readonly owner: true } | { readonly email: string }

const Content = z.object({
  id: z.uuid(),
  expires: z.number(),
  target: z.union([z.strictObject({ owner: z.literal(true) }), z.strictObject({ email: z.string() })]),
})
export type OperatorLink = z.infer<typeof Content>

const linkMs = 600_000

export function createOperatorLink(vault: Pick<Vault, "keyFor">, now: number, target: LinkTarget): string {
  const content = Buffer.from(JSON.stringify({ id: randomUUID(), expires: now + linkMs, target })).toString("base64url")
  return `${content}.${signatureOf(vault, content)}`
}

/** Returns the content of a link with a valid signature, before its expiry. */
export function readOperatorLink(vault: Pick<Vault, "keyFor">, now: number, link: string): OperatorLink | undefined {
  const [content = "", signature = ""] = link.split(".")
  if (!sameBytes(signature, signatureOf(vault, content))) return undefined
  const parsed = Content.parse(JSON.parse(Buffer.from(content, "base64url").toString("utf8")))
  return parsed.expires > now ? parsed : undefined
}

export async function isSpent(store: Store, id: string): Promise<boolean> {
  return (await store.open(UsedLinksCollection).get(spentId(id))) !== undefined
}

/** Stages the one use of a link. A second use fails the commit. */
export function spend(work: UnitOfWork, clock: Clock, id: string): void {
  // The record outlives the link, because clocks of nodes may differ.
  work.in(UsedLinksCollection).insert({ id: spentId(id), expires_at: timestamp(clock.now() + 2 * linkMs) })
}

function spentId(id: string): string {
  return derivedUuid("operator link", id)
}

function signatureOf(vault: Pick<Vault, "keyFor">, content: string): string {
  return createHmac("sha256", vault.keyFor("operator sign-in links")).update(content).digest("base64url")
}
