// `millrace login`, `logout` and `profiles`: stores keys for later commands. A key never comes from the command line: other users
// could read it, and the shell stores it in its history.
import { createInterface } from "node:readline"
import { Writable } from "node:stream"
import type { Command } from "commander"
import { z } from "zod"
import { baseOf, createCaller } from "../client/caller.ts"
import { CommandProblem } from "../kernel/command.ts"
import { readAll, type Terminal } from "../kernel/terminal.ts"
import { type CommandContext, told } from "./operations/commands.ts"
import { tableText } from "./operations/show.ts"
import { firstStart } from "./own-service.ts"
import { defaultUrl, type Profile, profilesFile, readProfiles, unknownProfile, writeProfiles } from "./profiles.ts"

/** Route for the identity of a key. Every service has it. */
const who = { whoami: { method: "GET", path: "/v1/me", repeatable: true } } as const
const Me = z.object({ role: z.string(), organization: z.object({ slug: z.string() }) })

interface LoginOptions {
  readonly url?: string
  readonly from?: string
  readonly organization?: string
  readonly profile: string
}

export function addLoginCommands(program: Command, context: CommandContext): void {
  const { terminal } = context
  program
    .command("login")
    .description("Store a key for later commands; it is prompted for, or read from standard input.")
    .option("--url <url>", `URL of the service; default: ${defaultUrl}`)
    .option("--from <file>", "use the address and key of the first start: data/bootstrap.json")
    .option("--organization <slug>", "act in this organization unless told otherwise")
    .option("--profile <name>", "name of the profile", "default")
    .action((options: LoginOptions) => told({ context }, () => login(options, terminal)))
  program
    .command("logout")
    .description("Delete a profile and its key; the key itself stays valid until it is revoked.")
    .argument("[profile]", "name of the profile; default: the current one")
    .action((name: string | undefined) => told({ context }, () => logout(name, terminal)))
  program
    .command("profiles")
    .description("List the profiles, or select the current one.")
    .option("--use <name>", "make this the current one")
    .action(({ use }: { use?: string }) => told({ context }, () => profiles(use, terminal)))
}

/** Stores the key only after the service has accepted it. */
async function login(options: LoginOptions, terminal: Terminal): Promise<void> {
  const { env, stdout, stderr } = terminal
  const started = options.from === undefined ? undefined : firstStart(options.from)
  const url = baseOf(options.url ?? started?.base_url ?? (env["MILLRACE_URL"] || defaultUrl))
  if (isOpen(url)) stderr.write(`${url} is not encrypted: the key can be read on the network.\n`)
  const key = started?.admin_key ?? (await askForKey(url, terminal))
  if (key === "") throw new CommandProblem("No key was given; nothing is kept.")
  const organization = options.organization
  const me = Me.parse(await createCaller(who, { baseUrl: url, key, organization })("whoami"))
  const profile: Profile = { url, key, ...(organization === undefined ? {} : { organization }) }
  const { profiles: kept } = readProfiles(env)
  const replaced = kept[options.profile]
  const moved = replaced && replaced.url !== url ? nameFor(replaced.url, kept) : undefined
  writeProfiles(env, {
    current: options.profile,
    profiles: { ...kept, ...(replaced && moved && { [moved]: replaced }), [options.profile]: profile },
  })
  stdout.write(`${url}: ${me.role} of ${me.organization.slug}. Stored as "${options.profile}" in ${profilesFile(env)}.\n`)
  if (moved) stdout.write(`"${options.profile}" was ${replaced?.url} before; that is now "${moved}".\n`)
}

/** Renames the replaced profile of another service to the host name of its service. */
function nameFor(url: string, kept: Readonly<Record<string, Profile>>): string {
  const { host } = new URL(url)
  for (let n = 1; ; n++) {
    const name = n === 1 ? host : `${host}-${n}`
    if (!Object.hasOwn(kept, name)) return name
  }
}

async function logout(name: string | undefined, { env, stdout }: Terminal): Promise<void> {
  const { current, profiles: kept } = readProfiles(env)
  const gone = name ?? current
  if (!Object.hasOwn(kept, gone)) throw unknownProfile(gone, kept)
  const { [gone]: _gone, ...rest } = kept
  writeProfiles(env, { current: gone === current ? (Object.keys(rest)[0] ?? "default") : current, profiles: rest })
  stdout.write(`The profile "${gone}" is forgotten.\n`)
}

async function profiles(use: string | undefined, { env, stdout }: Terminal): Promise<void> {
  const { current, profiles: kept } = readProfiles(env)
  if (use !== undefined && !Object.hasOwn(kept, use)) throw unknownProfile(use, kept)
  if (use !== undefined) writeProfiles(env, { current: use, profiles: kept })
  const rows = Object.entries(kept).map(([name, { url, organization = "", key }]) => ({
    profile: name,
    current: name === (use ?? current) ? "yes" : "",
    url,
    organization,
    // Prefix and id are public and distinguish keys.
    key: `${key.split("_").slice(0, 3).join("_")}_…`,
  }))
  stdout.write(`${tableText(rows, Number.POSITIVE_INFINITY)}\n`)
}

function isOpen(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === "http:" && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

async function askForKey(url: string, terminal: Terminal): Promise<string> {
  const { stdin, stderr } = terminal
  if (!stdin.isTTY) return (await readAll(stdin)).trim().split("\n")[0] ?? ""
  stderr.write(`Key for ${url} (not shown): `)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: silent, terminal: true })
  return await new Promise((resolve) => {
    lines.once("line", (line) => {
      resolve(line.trim())
      lines.close()
    })
    lines.once("close", () => {
      stderr.write("\n")
      resolve("")
    })
  })
}
