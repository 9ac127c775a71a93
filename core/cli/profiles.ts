// Chooses a command's service and key: from variables, or from a profile. `millrace login` writes profiles into the user's
// configuration folder, readable only by the user.
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { z } from "zod"
import { CommandProblem } from "../kernel/command.ts"
import { didYouMean } from "../kernel/guess.ts"
import { parsedJson } from "../kernel/json.ts"
import { configFolder } from "../kernel/terminal.ts"

const Profile = z.object({ url: z.string(), key: z.string(), organization: z.string().optional() })
const ProfilesFile = z.object({ current: z.string(), profiles: z.record(z.string(), Profile) })
export type Profile = z.infer<typeof Profile>
export type Profiles = z.infer<typeof ProfilesFile>

export interface Target {
  readonly url: string
  readonly key: string
  readonly organization?: string | undefined
}

/** The service of this folder. */
export interface OwnService extends Target {
  readonly runs: boolean
}

/** A target with the reason for its choice. */
export interface ChosenTarget extends Target {
  readonly by: string
}

export const defaultUrl = "http://127.0.0.1:8080"

export function profilesFile(env: NodeJS.ProcessEnv): string {
  return join(configFolder(env), "profiles.json")
}

export function readProfiles(env: NodeJS.ProcessEnv): Profiles {
  const file = profilesFile(env)
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { current: "default", profiles: {} }
    throw new CommandProblem(`${file} cannot be read: ${(error as Error).message}`)
  }
  // Other users of this machine must not read the keys.
  if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
  const parsed = ProfilesFile.safeParse(parsedJson(text))
  if (!parsed.success) throw new CommandProblem(`${file} is not what \`millrace login\` writes; correct it, or remove it and log in again.`)
  return parsed.data
}

/** Writes the file atomically, readable only by the user. */
export function writeProfiles(env: NodeJS.ProcessEnv, profiles: Profiles): void {
  const file = profilesFile(env)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600 })
  renameSync(draft, file)
}

export interface AskedTarget {
  readonly profile?: string | undefined
  readonly organization?: string | undefined
  /** Preferred to the current profile while it runs: a command in a project's folder is for the project. */
  readonly own?: OwnService | undefined
}

/** Throws CommandProblem if the profile does not exist or no key is set. */
export function targetOf(env: NodeJS.ProcessEnv, asked: AskedTarget): ChosenTarget {
  const name = asked.profile ?? (env["MILLRACE_PROFILE"] || undefined)
  const [givenUrl, givenKey] = [env["MILLRACE_URL"] || undefined, env["MILLRACE_KEY"] || undefined]
  const isWhole = givenUrl !== undefined && givenKey !== undefined
  const profile = isWhole && name === undefined ? undefined : profileNamed(env, name)
  // The key of a profile, or of the folder's service, is sent only to its own service.
  const kept = fits(profile, givenUrl)
  const here = isWhole ? undefined : fits(asked.own, givenUrl)
  const preferred = name === undefined && asked.own?.runs ? (here ?? kept) : (kept ?? here)
  const url = givenUrl ?? preferred?.url ?? defaultUrl
  const key = givenKey ?? preferred?.key
  if (key === undefined) throw new CommandProblem(`No key is stored for ${url}: run \`millrace login\`, or set MILLRACE_KEY.`, 3)
  const ofProfile = givenKey === undefined && preferred === kept ? kept : undefined
  return {
    url,
    key,
    organization: organizationOf(env, asked, ofProfile),
    by: reasonOf(givenUrl, preferred !== undefined && preferred === here),
  }
}

function organizationOf(env: NodeJS.ProcessEnv, asked: AskedTarget, profile: Profile | undefined): string | undefined {
  return asked.organization ?? (env["MILLRACE_ORGANIZATION"] || profile?.organization)
}

function reasonOf(givenUrl: string | undefined, isHere: boolean): string {
  if (givenUrl) return "as given"
  return isHere ? "the service of this folder" : "from a profile"
}

function fits(target: Target | undefined, url: string | undefined): Target | undefined {
  const bare = (text: string) => text.replace(/\/+$/, "")
  return url === undefined || (target !== undefined && bare(url) === bare(target.url)) ? target : undefined
}

/** Describes the chosen service. */
export function targetLine({ url, by, organization }: ChosenTarget): string {
  return `Service: ${url} (${by})${organization === undefined ? "" : `, organization ${organization}`}`
}

function profileNamed(env: NodeJS.ProcessEnv, name: string | undefined): Profile | undefined {
  const { current, profiles } = readProfiles(env)
  if (name !== undefined && !Object.hasOwn(profiles, name)) throw unknownProfile(name, profiles)
  return profiles[name ?? current]
}

export function unknownProfile(name: string, profiles: Profiles["profiles"]): CommandProblem {
  const names = Object.keys(profiles)
  const known =
    names.length === 0 ? " None exists yet: run `millrace login`." : didYouMean(name, names) || ` There are: ${names.join(", ")}.`
  return new CommandProblem(`The profile "${name}" does not exist.${known}`)
}
