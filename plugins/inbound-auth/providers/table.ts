// The provider table: the rows of providers.json, by slug. A row that is not as row.ts says is told at start.
import { readFileSync } from "node:fs"
import { z } from "zod"
import { ProviderRow } from "./row.ts"

export const providerRows: readonly ProviderRow[] = z
  .array(ProviderRow)
  .parse(JSON.parse(readFileSync(new URL("./providers.json", import.meta.url), "utf8")))

const bySlug = new Map(providerRows.map((row) => [row.slug, row]))

export const providerSlugs: readonly string[] = providerRows.map((row) => row.slug)

export function findProvider(slug: string): ProviderRow | undefined {
  return bySlug.get(slug)
}
