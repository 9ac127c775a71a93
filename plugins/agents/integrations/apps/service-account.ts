// Service-account JSON as credentials: the signing key for assertions, and the token server.
import { importPKCS8 } from "jose"
import { z } from "zod"
import { AppError } from "#core"
import type { OAuthProvider } from "./oauth-provider.ts"

/** The authorization server of an app's service accounts. */
export interface ServiceAccount {
  readonly provider: OAuthProvider
  /** Requested in addition to the connection's scopes. */
  readonly scopes: readonly string[]
}

const Text = z.string().trim().min(1).max(500)

/** Required fields of a service-account JSON. Other fields are not stored. */
export const serviceAccountFields = {
  type: z.literal("service_account").describe("Kind of the credentials."),
  client_email: Text.describe("Email of the service account."),
  private_key: z.string().max(8_000).describe("Private key: PKCS #8 in PEM."),
  private_key_id: Text.optional(),
  token_uri: Text.optional().describe("At the host of the app's token URL."),
  subject: Text.optional().describe("User for whom the account acts, if the account may."),
}
const Key = z.object(serviceAccountFields)
export type ServiceAccountKey = z.output<typeof Key>

export function serviceAccountOf(token_url: string, scopes: readonly string[]): ServiceAccount {
  const provider: OAuthProvider = {
    issuer: undefined,
    authorization_endpoint: token_url,
    token_endpoint: token_url,
    revocation_endpoint: undefined,
    client_auth: "body",
    scopes,
    scope_separator: " ",
    parameters: {},
    headers: {},
    token_body: "form",
    revocation_auth: "client",
    revocation_ends: "grant",
    bearer_types: [],
    invalid_grant_codes: [],
    api_origin: undefined,
  }
  return { provider, scopes }
}

/** Returns the key if the credentials are a service account's. */
export function serviceAccountKey(credentials: unknown): ServiceAccountKey | undefined {
  const parsed = Key.safeParse(credentials)
  return parsed.success ? parsed.data : undefined
}

/** Throws `invalid_argument` for an unusable signing key, and for a token server other than the app's. */
export async function checkServiceAccount({ provider }: ServiceAccount, { token_uri, private_key }: ServiceAccountKey): Promise<void> {
  const host = new URL(provider.token_endpoint).host
  if (token_uri !== undefined && !(URL.canParse(token_uri) && new URL(token_uri).host === host)) {
    throw refused("token_uri", `the host must be ${host}, where the app's tokens come from`)
  }
  try {
    await importPKCS8(private_key, "RS256")
  } catch {
    throw refused("private_key", "expected an RSA key as PKCS #8 in PEM, as the vendor's file has it")
  }
}

function refused(path: string, problem: string): AppError {
  return new AppError("invalid_argument", `The service account is not usable: ${path}: ${problem}.`, {
    reason: "invalid_credentials",
    fields: [{ path, message: problem }],
  })
}
