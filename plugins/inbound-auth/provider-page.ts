// Generates docs/reference/providers.md from the provider table.
import { fileURLToPath } from "node:url"
import { type ProviderFacts, providerFacts } from "./provider-facts.ts"

export const providerPageFile = fileURLToPath(new URL("../../docs/reference/providers.md", import.meta.url))

const secretWords = { none: "none", generated: "made here or there", provided: "made by the provider" } as const

export function providerPage(): string {
  const facts = providerFacts()
  const rows = facts.map(
    (fact) =>
      `| ${[`\`${fact.provider}\``, fact.name, proofOf(fact), secretOf(fact), windowOf(fact), remarksOf(fact), sourcesOf(fact)].map(cell).join(" | ")} |`,
  )
  return `<!-- Generated from the provider table; edit that and run npm run generate. -->

# Providers

The ${facts.length} senders that \`auth_mode: provider_signature\` knows, each by its slug in \`auth_config.provider\`:

\`\`\`yaml
auth_mode: provider_signature
auth_config: { provider: calendly, secret: { from_env: CALENDLY_SECRET } }
\`\`\`

A sender that is not here may fit [\`hmac_sha256\`](auth-modes/hmac_sha256.md) (the body signed, in a header of its own), [\`timestamped_signature\`](auth-modes/timestamped_signature.md) (time and body signed, \`t=…,v1=…\` in one header) or [\`shared_secret_header\`](auth-modes/shared_secret_header.md); otherwise \`npx millrace new auth-mode NAME\` makes a mode of your own. The last column dates the facts of each row and names their sources. \`millrace verify\` says why a captured request does not verify.

| provider | | proof | secret | window | | facts |
|---|---|---|---|---|---|---|
${rows.join("\n")}
`
}

function proofOf({ proof, scheme }: ProviderFacts): string {
  return proof.length === 0 ? scheme.replaceAll("_", " ") : proof.map((place) => `\`${place}\``).join(", ")
}

function secretOf({ secret, secret_name }: ProviderFacts): string {
  return secret_name === null ? secretWords[secret] : `${secretWords[secret]}: ${secret_name}`
}

function windowOf({ tolerance_s }: ProviderFacts): string {
  return tolerance_s === null ? "" : `${tolerance_s} s`
}

function remarksOf({ required_settings, answers_handshake, experimental, note, formats }: ProviderFacts): string {
  return [
    formats.length > 0 ? `Also takes ${formats.join(", ")}.` : "",
    required_settings.length > 0 ? `Needs ${required_settings.map((name) => `\`${name}\``).join(", ")}.` : "",
    answers_handshake ? "Its setup handshake is answered." : "",
    experimental ? "Experimental: documented by third parties only." : "",
    note ?? "",
  ]
    .filter(Boolean)
    .join(" ")
}

/** Returns the date and the sources in the order of the row. Pages become links. */
function sourcesOf({ facts_date, sources }: ProviderFacts): string {
  return `${facts_date}: ${sources.map((source) => (/^https:/.test(source) ? `<${source}>` : source)).join("; ")}`
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ")
}
