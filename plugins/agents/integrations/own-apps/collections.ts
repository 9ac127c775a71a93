// An organization's own apps, in addition to the service's apps.
import { type Document, defineCollection, derivedUuid, type UnitOfWork } from "#core"
import type { AppDocument } from "../apps/document.ts"

export interface OwnApp extends Document {
  slug: string
  document: AppDocument
  revision: number
  /** Counts created connections and OAuth clients. A concurrent change of the app and a new use therefore conflict. */
  uses: number
  created_at: string
  updated_at: string
}

export function ownAppId(organization: string, slug: string): string {
  return derivedUuid("integration app", organization, slug)
}

export const OwnApps = defineCollection<OwnApp>()({
  name: "integration_apps",
  scope: "organization",
  times: ["created_at", "updated_at"],
  indexes: [{ fields: ["slug"] }],
})

/** Stages a use of the app as read. A concurrent change of the app aborts the commit, other uses do not. */
export function stageUse(work: UnitOfWork, organization: string, { id, revision }: Pick<OwnApp, "id" | "revision">): void {
  work.in(OwnApps, organization).update(id, { $inc: { uses: 1 } }, { where: { revision } })
}
