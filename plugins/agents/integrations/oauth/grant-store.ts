// Tokens at rest: a grant per connection, sealed to it. Each token response creates a new generation. It replaces only the
// generation before it.
import { type Clock, type Store, timestamp, type UnitOfWork, type Vault } from "#core"
import type { OAuthProvider } from "../apps/oauth-provider.ts"
import { type Grant, GrantHolders, Grants, grantContext } from "./collections.ts"
import type { TokenAnswer } from "./protocol.ts"

type Server = Pick<OAuthProvider, "token_endpoint">

export interface Tokens {
  readonly access_token: string
  readonly refresh_token?: string | undefined
  /** The previous refresh token, stored until the next refresh succeeds. */
  readonly previous_refresh_token?: string | undefined
}

export class GrantStore {
  readonly #deps: { readonly store: Store; readonly vault: Vault; readonly clock: Clock }

  constructor(deps: { readonly store: Store; readonly vault: Vault; readonly clock: Clock }) {
    this.#deps = deps
  }

  get(organization: string, id: string): Promise<Grant | undefined> {
    return this.#deps.store.open(Grants, organization).get(id)
  }

  open(organization: string, { id, tokens }: Grant): Tokens {
    return JSON.parse(this.#deps.vault.open(tokens, grantContext(organization, id))) as Tokens
  }

  /** Returns the document after a token response. */
  next(organization: string, id: string, before: Grant | undefined, answer: TokenAnswer): Grant {
    const { vault, clock } = this.#deps
    const old = before && this.open(organization, before)
    const refresh_token = answer.refresh_token ?? old?.refresh_token
    const previous_refresh_token = refresh_token === old?.refresh_token ? old?.previous_refresh_token : old?.refresh_token
    const tokens: Tokens = { access_token: answer.access_token, refresh_token, previous_refresh_token }
    const now = clock.now()
    return {
      id,
      generation: (before?.generation ?? 0) + 1,
      tokens: vault.seal(JSON.stringify(tokens), grantContext(organization, id)),
      expires_at: answer.expires_in === undefined ? null : timestamp(now + answer.expires_in * 1_000),
      refused_at: null,
      api_origin: answer.api_origin ?? before?.api_origin ?? null,
      client_id: before?.client_id ?? null,
      keeps_refresh_token: old?.refresh_token !== undefined && refresh_token === old.refresh_token,
      updated_at: timestamp(now),
    }
  }

  /** Stages tokens granted by a user. Resolves to the replaced grant. */
  async replace(work: UnitOfWork, organization: string, id: string, answer: TokenAnswer, client_id: string): Promise<Grant | undefined> {
    const before = await this.get(organization, id)
    const generation = (before?.generation ?? 0) + 1
    const grant = { ...this.next(organization, id, undefined, answer), generation, client_id }
    if (before) this.stage(work, organization, before, grant)
    else work.in(Grants, organization).insert(grant)
    return before
  }

  /** Stages a record of the connection's grant from the client. */
  hold(work: UnitOfWork, id: string, server: Server, client_id: string | null): void {
    work.in(GrantHolders).update(id, { $set: { client: clientKey(server, client_id) } }, { upsert: true })
  }

  /** Returns true if a connection has a grant of the client. */
  async isHeld(server: Server, client_id: string | null): Promise<boolean> {
    return (await this.#deps.store.open(GrantHolders).first({ client: clientKey(server, client_id) })) !== undefined
  }

  /** Stages the removal of the connection's grant. */
  remove(work: UnitOfWork, organization: string, { id, generation }: Grant): void {
    work.in(Grants, organization).remove(id, { where: { generation } })
    work.in(GrantHolders).remove(id, { optional: true })
  }

  /** Stages the successor of `before`. The commit is `aborted` after a write in between. */
  stage(work: UnitOfWork, organization: string, before: Grant, { id, organization_id: _, tokens, ...rest }: Grant): void {
    const $set = { ...rest, tokens: { ...tokens } }
    work.in(Grants, organization).update(id, { $set }, { where: { generation: before.generation, refused_at: before.refused_at } })
  }
}

function clientKey({ token_endpoint }: Server, client_id: string | null): string {
  return `${new URL(token_endpoint).origin} ${client_id ?? ""}`
}
