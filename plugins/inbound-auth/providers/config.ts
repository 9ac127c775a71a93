// `auth_config` of provider_signature, without its secret. Settings are checked against the provider's row.
import { nearest } from "#core/engine"
import { settingFields } from "../provider-settings.ts"
import { findProvider, providerSlugs, settingNames } from "./table.ts"

export const ProviderConfig = settingFields.superRefine((config, context) => {
  const row = findProvider(config.provider)
  if (!row) {
    const near = nearSlugs(config.provider)
    const guess = near.length > 0 ? ` Did you mean ${near.join(" or ")}?` : ""
    context.addIssue({
      code: "custom",
      path: ["provider"],
      message: `no provider "${config.provider}" is known.${guess} docs/reference/providers.md lists them all. A sender that is not there may fit auth_mode hmac_sha256 or timestamped_signature.`,
    })
    return
  }
  const { required, optional } = row.settings
  const allowed = new Set([...required, ...optional])
  for (const name of required) {
    if (config[name] === undefined) context.addIssue({ code: "custom", path: [name], message: `${row.name} needs auth_config.${name}` })
  }
  for (const name of settingNames) {
    if (config[name] !== undefined && !allowed.has(name))
      context.addIssue({ code: "custom", path: [name], message: `${row.name} has no use for auth_config.${name}` })
  }
  if (config.tolerance_s !== undefined && !hasTimestamp(row.scheme)) {
    context.addIssue({ code: "custom", path: ["tolerance_s"], message: `${row.name} signs no timestamp, so no window can be set` })
  }
})

function hasTimestamp(scheme: object): boolean {
  return "timestamp" in scheme || ("kind" in scheme && scheme.kind === "jwt")
}

function nearSlugs(provider: string): string[] {
  const plain = provider.toLowerCase().replaceAll("-", "_")
  const stem = plain.split("_")[0] ?? plain
  const alike = providerSlugs.filter((slug) => slug === plain || slug.startsWith(stem) || plain.startsWith(slug)).slice(0, 4)
  return alike.length > 0 ? alike : [nearest(plain, providerSlugs) ?? []].flat()
}
