// The first start: creates an organization, its owner and an admin key in an empty store. Outside production they are also
// written to data/bootstrap.json. The file is written before the commit, and the next start in an empty store uses its key. A
// crash therefore never leaves an unknown key.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { z } from "zod"
import { AppError, type Logger, type Store, token, type UnitsOfWork } from "#core"
import type { CoreConfig } from "#core/engine"
import { generateKey, type KeyText, keyFormat, parseKey, unclaimedOwner } from "../identity/index.ts"
import type { ApiKeys } from "./api-keys.ts"
import { KeyOwnersCollection, type Organization, OrganizationsCollection } from "./collections.ts"
import type { Organizations } from "./directory.ts"

/** Result of a start, for the printed text. */
export interface Bootstrap {
  /** The oldest organization. Set after the start. */
  readonly organization: { readonly id: string; readonly slug: string } | undefined
  /** Set only by the start with a new key; shown once. */
  readonly adminKey: string | null
  /** True while the first owner has no name and no address. */
  readonly isUnclaimed: boolean
  /** File with the key; null in production. */
  readonly file: string | null
  /** Call this when the service listens. Writes the address for clients into the file. */
  listening(baseUrl: string): void
}

export const Bootstrap = token<Bootstrap>("Bootstrap")

interface FirstStartDeps {
  readonly settings: CoreConfig
  readonly store: Store
  readonly works: UnitsOfWork
  readonly log: Logger
  readonly organizations: Organizations
  readonly apiKeys: ApiKeys
}

export class FirstStart implements Bootstrap {
  readonly #deps: FirstStartDeps
  readonly #production: boolean
  readonly #path: string
  organization: Organization | undefined
  adminKey: string | null = null
  isUnclaimed = false

  constructor(deps: FirstStartDeps, production: boolean) {
    this.#deps = deps
    this.#production = production
    this.#path = bootstrapFileIn(deps.settings.data_dir)
  }

  get file(): string | null {
    return this.#production ? null : this.#path
  }

  async start(): Promise<void> {
    await this.#find()
    this.isUnclaimed = (await unclaimedOwner(this.#deps.store)) !== undefined
  }

  async #find(): Promise<void> {
    const { settings } = this.#deps
    const configured = settings.bootstrap_key === null ? undefined : readConfigured(settings.bootstrap_key)
    this.organization = await this.#earliest()
    if (this.organization) {
      if (!this.#production) this.#takeUnprinted(this.organization.id)
      return this.#warnOfIgnored(configured)
    }
    if (this.#production && !configured) {
      throw new Error(
        `No organization exists yet, and in production the first key is not generated. Set MILLRACE_BOOTSTRAP_KEY to a key of the form ${keyFormat}; \`${makeKey}\` prints one.`,
      )
    }
    await this.#make(configured)
  }

  listening(baseUrl: string): void {
    if (this.#production) return
    const file = readBootstrapFile(this.#path)
    if (!file || file.organization.id !== this.organization?.id) return
    if (file.base_url === baseUrl && file.printed === undefined) return
    const { organization, admin_key } = file
    writeBootstrapFile(this.#path, { base_url: baseUrl, organization, admin_key })
  }

  /**
   * An earlier start created the key and ended before it listened, for example because its port was taken. This start prints the
   * key.
   */
  #takeUnprinted(organization: string): void {
    const file = readBootstrapFile(this.#path)
    if (file?.printed === false && file.organization.id === organization) this.adminKey = file.admin_key
  }

  #earliest(): Promise<Organization | undefined> {
    return this.#deps.store.open(OrganizationsCollection).first({}, { sort: { created_at: 1 } })
  }

  async #make(configured: KeyText | undefined): Promise<void> {
    const { organizations, apiKeys, works, settings } = this.#deps
    const storedKey = this.#production || configured ? undefined : this.#storedKey()
    const key = configured ?? storedKey ?? generateKey("api_key")
    try {
      this.organization = await works.run((work) => {
        const organization = organizations.create(work, { name: "Default", slug: "default" })
        const owner = organizations.addUser(work, { email: "", name: "" })
        organizations.addMember(work, organization.id, owner.id, "owner")
        const newKey = { name: "First key", kind: key.kind, role: "owner", scopes: null, user: owner.id } as const
        apiKeys.mint(work, organization.id, newKey, key)
        if (!this.#production) {
          mkdirSync(settings.data_dir, { recursive: true })
          const { id, slug } = organization
          writeBootstrapFile(this.#path, { base_url: baseUrlOf(settings), organization: { id, slug }, admin_key: key.text, printed: false })
        }
        return organization
      })
    } catch (error) {
      // Another node on the same storage was first. Its organization and key are valid, and the generated ones are discarded.
      if (!(error instanceof AppError) || error.code !== "already_exists") throw error
      if (!this.#production) rmSync(this.#path, { force: true })
      this.organization = await this.#earliest()
      return
    }
    if (!configured) this.adminKey = key.text
  }

  /** Returns the key of an interrupted start, or of an earlier start on removed storage. */
  #storedKey(): KeyText | undefined {
    const file = readBootstrapFile(this.#path)
    if (!file) return undefined
    const key = parseKey(file.admin_key)
    if (typeof key !== "string" && key.kind === "api_key") return key
    throw new Error(
      `${this.#path}: admin_key is ${key === "mistyped" ? "mistyped" : "not an API key"}; move the file away to generate another.`,
    )
  }

  async #warnOfIgnored(configured: KeyText | undefined): Promise<void> {
    if (!configured || (await this.#deps.store.open(KeyOwnersCollection).get(configured.keyId))) return
    this.#deps.log.warn(
      "bootstrap_key (MILLRACE_BOOTSTRAP_KEY) is used at the first start only: there is an organization already, and this is not one of its keys.",
    )
  }
}

const makeKey = "npm run millrace -- make-key"

function readConfigured(text: string): KeyText {
  const key = parseKey(text.trim())
  if (typeof key !== "string" && key.kind === "api_key") return key
  const wrong = key === "mistyped" ? "has a typing error (its checksum does not match)" : "is not an API key"
  throw new Error(`bootstrap_key (MILLRACE_BOOTSTRAP_KEY) ${wrong}. It has the form ${keyFormat}; \`${makeKey}\` prints one.`)
}

function baseUrlOf({ server }: CoreConfig): string {
  return server.public_url ?? `http://${server.host.includes(":") ? `[${server.host}]` : server.host}:${server.port}`
}

// data/bootstrap.json: the result of a first start for the operator, readable only by the operator's account.

const BootstrapFile = z.object({
  base_url: z.string(),
  organization: z.object({ id: z.string(), slug: z.string() }),
  admin_key: z.string(),
  /** Present until a listening start has printed the key. */
  printed: z.literal(false).optional(),
})
type BootstrapFile = z.infer<typeof BootstrapFile>

function bootstrapFileIn(dataDir: string): string {
  return join(dataDir, "bootstrap.json")
}

/** Returns undefined without a file. Throws for an unreadable file, because it may contain the only key. */
function readBootstrapFile(file: string): BootstrapFile | undefined {
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
  try {
    return BootstrapFile.parse(JSON.parse(text))
  } catch (cause) {
    throw new Error(`${file} does not hold what a first start writes ({ base_url, organization, admin_key }); move it away to continue.`, {
      cause,
    })
  }
}

/** Writes the file atomically, even if the process ends in between. */
function writeBootstrapFile(file: string, content: BootstrapFile): void {
  const draft = `${file}.${process.pid}`
  rmSync(draft, { force: true })
  writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: "wx", flush: true })
  renameSync(draft, file)
}

// The text printed by the start: the address, the organization, and once the key.

/** If a file has the key, only a terminal shows it, because logs store their output. */
export function greeting(bootstrap: Bootstrap, baseUrl: string, isTerminal: boolean): string {
  bootstrap.listening(baseUrl)
  const { organization, adminKey, file } = bootstrap
  const lines = [
    "",
    "Millrace is listening.",
    `  base address   ${baseUrl}`,
    `  organization   ${organization?.slug ?? ""} (${organization?.id ?? ""})`,
  ]
  if (adminKey !== null && (isTerminal || !file))
    lines.push(`  admin key      ${adminKey}`, `                 shown this once${file ? `; also in ${file}` : ""}`)
  else if (file) lines.push(`  admin key      in ${file}`)
  return lines.join("\n")
}
