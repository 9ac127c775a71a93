// The provider table: every row of the families beside it, by slug.
import { commerceProviders } from "./commerce.ts"
import { crmProviders } from "./crm.ts"
import { developmentProviders } from "./development.ts"
import { formProviders } from "./forms.ts"
import { messagingProviders } from "./messaging.ts"
import { productivityProviders } from "./productivity.ts"
import type { ProviderRow } from "./row.ts"
import { socialProviders } from "./social.ts"
import { standardWebhooksProviders } from "./standard-webhooks.ts"

export const providerRows: readonly ProviderRow[] = [
  ...standardWebhooksProviders,
  ...commerceProviders,
  ...crmProviders,
  ...developmentProviders,
  ...formProviders,
  ...messagingProviders,
  ...productivityProviders,
  ...socialProviders,
].sort((left, right) => (left.slug < right.slug ? -1 : 1))

const bySlug = new Map(providerRows.map((row) => [row.slug, row]))

export const providerSlugs: readonly string[] = providerRows.map((row) => row.slug)

export function findProvider(slug: string): ProviderRow | undefined {
  return bySlug.get(slug)
}
