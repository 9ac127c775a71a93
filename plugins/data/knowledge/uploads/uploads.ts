// Uploads by link, for documents above the size limit of a call's body. A link accepts one document into the bucket, and one
// version of an item claims it. The document is removed after reading, or if it was not claimed in time.
import { createHmac } from "node:crypto"
import {
  AppError,
  type Caller,
  Clock,
  type Deps,
  type FieldsOf,
  Ids,
  isUuid,
  JobQueue,
  PublicUrl,
  Store,
  sameBytes,
  timestamp,
  type UnitOfWork,
  UnitsOfWork,
  Vault,
} from "#core"
import { isStillMember, memberLinkOf, Organizations } from "../../../platform/organizations/index.ts"
import { Buckets } from "../../buckets/index.ts"
import { dropFileRef, FileCollection, type StoredFile, VersionCollection } from "../collections.ts"
export const uploadPath = "/v1/knowledge-uploads"
const lifeMs = 3_600_000
const dayMs = 86_400_000

export class Uploads {
  static readonly inject = {
    store: Store,
    clock: Clock,
    ids: Ids,
    works: UnitsOfWork,
    queue: JobQueue,
    buckets: Buckets,
    vault: Vault,
    publicUrl: PublicUrl,
    organizations: Organizations,
  }
  readonly #deps: Deps<typeof Uploads.inject>

  constructor(deps: Deps<typeof Uploads.inject>) {
    this.#deps = deps
  }

  /** Stages an upload and returns its link. The link accepts one document. */
  async offer(
    work: UnitOfWork,
    caller: Pick<Caller, "organization" | "link" | "manager" | "user">,
  ): Promise<{ id: string; url: string; expires_at: string }> {
    const { clock, ids, queue, publicUrl, organizations } = this.#deps
    const { link } = caller
    const organization = caller.organization.id
    const member = await memberLinkOf(organizations, caller)
    const id = ids.uuid()
    const now = clock.now()
    const expires_at = timestamp(now + lifeMs)
    const ends = { ...(link ? { link } : {}), ...(member ? { member } : {}) }
    work.in(FileCollection, organization).insert({ id, state: "awaited", item_id: "", bytes: 0, expires_at, ...ends })
    queue.enqueue(work, dropFileRef, { upload_id: id }, { organization, runAt: now + lifeMs })
    const signature = this.#mac(organization, id).toString("base64url")
    return { id, url: `${publicUrl()}${uploadPath}/${organization}/${id}?signature=${signature}`, expires_at }
  }

  /** Throws the same error for an unknown, expired or unsigned link, and after the end of its management or membership. */
  async requireOffer(organization: string, id: string, signature: string): Promise<void> {
    const bytes = Buffer.from(signature, "base64url")
    const isSigned = bytes.toString("base64url") === signature && sameBytes(bytes, this.#mac(organization, id))
    const file = isSigned ? await this.#find(organization, id) : undefined
    if (!file || !(await this.#isHeld(organization, file))) {
      const message = "The link is not one that POST /v1/knowledge-uploads gave, or has expired; ask for another."
      throw new AppError("permission_denied", message, { reason: "upload_link_refused" })
    }
    if (file.state !== "awaited") throw taken()
  }

  async receive(organization: string, id: string, bytes: Uint8Array): Promise<void> {
    const { works, buckets } = this.#deps
    const move = (from: StoredFile["state"], change: Partial<FieldsOf<StoredFile>>) =>
      works.run((work) => work.in(FileCollection, organization).update(id, { $set: { ...change } }, { where: { state: from } }))
    // Change the state before the bucket write: of two concurrent senders, one writes.
    await move("awaited", { state: "receiving" }).catch((error: unknown) => {
      throw error instanceof AppError && error.code === "aborted" ? taken() : error
    })
    try {
      await buckets.open(organization).put(keyOf(id), bytes)
    } catch (error) {
      await move("receiving", { state: "awaited" })
      throw error
    }
    await move("receiving", { state: "uploaded", bytes: bytes.length })
  }

  /**
   * Stages the claim by an item. Throws `not_found` for an unknown upload. Throws `failed_precondition` if the document was not
   * uploaded, or belongs to another item.
   */
  async claim(work: UnitOfWork, organization: string, id: string, item_id: string): Promise<void> {
    const file = await this.#find(organization, id)
    if (!file) throw gone(id)
    if (file.state !== "uploaded") {
      const [reason, what] =
        file.state === "claimed" ? (["upload_taken", "is another item's"] as const) : (["upload_awaited", "was not received yet"] as const)
      throw new AppError("failed_precondition", `The document of the upload ${id} ${what}.`, { reason })
    }
    work.in(FileCollection, organization).update(id, { $set: { state: "claimed", item_id } }, { where: { state: "uploaded" } })
  }

  /** Returns the document in pieces. Throws `not_found`. */
  async pieces(organization: string, id: string): Promise<Uint8Array[]> {
    const object = await this.#deps.buckets.open(organization).get(keyOf(id))
    if (!object) throw gone(id)
    const pieces: Uint8Array[] = []
    for await (const piece of object.chunks) pieces.push(piece)
    return pieces
  }

  /** Stages the removal of a document. */
  drop(work: UnitOfWork, organization: string, id: string): void {
    work.in(FileCollection, organization).remove(id, { optional: true })
    // If this removal is lost, the job enqueued by `offer` removes the document.
    work.afterCommit(() =>
      this.#deps.buckets
        .open(organization)
        .remove(keyOf(id))
        .catch(() => undefined),
    )
  }

  async dropOf(work: UnitOfWork, organization: string, item_id: string): Promise<void> {
    for (const { id } of await this.#deps.store.open(FileCollection, organization).find({ item_id })) this.drop(work, organization, id)
  }

  /** Removes unclaimed documents and leftovers of a crashed process. A document still waiting to be read is checked again later. */
  async expire(work: UnitOfWork, organization: string, id: string): Promise<void> {
    const { store, buckets, queue, clock } = this.#deps
    const file = await store.open(FileCollection, organization).get(id)
    const waiting = file?.state === "claimed" ? { item_id: file.item_id, upload_id: id, content_state: "pending" } : undefined
    if (waiting && (await store.open(VersionCollection, organization).first(waiting))) {
      queue.enqueue(work, dropFileRef, { upload_id: id }, { organization, runAt: clock.now() + dayMs })
      return
    }
    await buckets.open(organization).remove(keyOf(id))
    work.in(FileCollection, organization).remove(id, { optional: true })
  }

  async #isHeld(organization: string, { link, member }: StoredFile): Promise<boolean> {
    const { organizations } = this.#deps
    if (link && !(await organizations.isCurrentLink(organization, link))) return false
    return !member || (await isStillMember(organizations, member))
  }

  async #find(organization: string, id: string): Promise<StoredFile | undefined> {
    const file = isUuid(organization) && isUuid(id) ? await this.#deps.store.open(FileCollection, organization).get(id) : undefined
    return file && (file.state === "claimed" || Date.parse(file.expires_at) > this.#deps.clock.now()) ? file : undefined
  }

  #mac(organization: string, id: string): Buffer {
    return createHmac("sha256", this.#deps.vault.keyFor("knowledge uploads")).update(`PUT\n${organization}\n${id}`).digest()
  }
}

function keyOf(id: string): string {
  return `knowledge/${id}.txt`
}

function gone(id: string): AppError {
  const message = `The upload ${id} does not exist, or has expired; POST /v1/knowledge-uploads gives another.`
  return new AppError("not_found", message, { reason: "upload_not_found" })
}

function taken(): AppError {
  return new AppError("failed_precondition", "The link has taken a document already; ask for another.", { reason: "upload_taken" })
}
