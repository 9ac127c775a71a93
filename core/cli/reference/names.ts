// config/api.txt: all public and stored names, one sorted line each. Callers and stored data rely on them, so a review shows each
// change.
import type { Declarations, LoadedPlugin } from "../../bootstrap/plugins.ts"
import { Actions } from "../../contract/action.ts"
import { AuthModes } from "../../contract/auth-mode.ts"
import { Channels } from "../../contract/channel.ts"
import { Collections } from "../../contract/collection.ts"
import { Jobs } from "../../contract/job.ts"
import { Operations } from "../../contract/operation.ts"
import { Resources } from "../../contract/resource.ts"
import { Routes } from "../../contract/route.ts"
import { Schedules } from "../../contract/schedule.ts"
import { CoreConfig } from "../../kernel/config-schema.ts"
import { coreReasonGroups } from "../../kernel/reasons.ts"
import type { Registry } from "../../kernel/registry.ts"
import { deferredJob } from "../../pipeline/run/deferred.ts"
import { approvedCall } from "../../surface/approved-call.ts"
import { toolsOf } from "../../surface/mcp/tools.ts"
import { fieldsOf } from "../markdown.ts"
import { productFiles, sourceOf } from "./sources.ts"
import { storedFields } from "./stored-fields.ts"

export function nameList({ plugins, registry }: Declarations): string {
  const operations = registry.items(Operations)
  const lines = [
    ...registry.items(Actions).map(({ type }) => `action ${type}`),
    ...registry.items(AuthModes).map(({ mode }) => `auth_mode ${mode}`),
    ...registry.items(Channels).map(({ name, scope, role = "member" }) => `channel ${name} ${scope} ${role}`),
    ...[...registry.items(Jobs), deferredJob, approvedCall].map(({ type }) => `job ${type}`),
    ...registry.items(Schedules).map(({ name, job }) => `schedule ${name} ${job.type}`),
    ...registry.items(Routes).map(({ name, method, path }) => `route ${name} ${method} ${path}`),
    ...operations.map(({ name, http, access }) => `operation ${name} ${http.method} ${http.path} ${access.scope} ${access.role}`),
    ...operations.map(({ access }) => `scope ${access.scope}`),
    ...[...toolsOf(operations).keys()].map((name) => `tool ${name}`),
    ...plugins.flatMap(commandsOf),
    ...reasonsOf(plugins),
    ...settingsOf(plugins),
    ...fieldsOfCollections(registry),
    ...literals(),
  ]
  return `${[...new Set(lines)].sort().join("\n")}\n`
}

function commandsOf({ plugin }: LoadedPlugin): string[] {
  return (plugin.commands ?? []).map(({ group, name }) => {
    const parent = typeof group === "object" ? group.name : group
    return `command ${parent === undefined ? "" : `${parent} `}${name}`
  })
}

function reasonsOf(plugins: readonly LoadedPlugin[]): string[] {
  const groups = [...Object.values(coreReasonGroups), ...plugins.map(({ plugin }) => plugin.reasons ?? {})]
  return groups.flatMap((group) => Object.entries(group).map(([reason, { code }]) => `reason ${reason} ${code}`))
}

function settingsOf(plugins: readonly LoadedPlugin[]): string[] {
  const core = fieldsOf(CoreConfig, { deep: true }).map(({ name }) => `setting ${name}`)
  const own = plugins.flatMap(({ plugin }) => fieldsOf(plugin.config).map(({ name }) => `setting plugins.settings.${plugin.id}.${name}`))
  return [...core, ...own]
}

function fieldsOfCollections(registry: Registry): string[] {
  const ofPlugins = registry.items(Collections).map(({ name }) => name)
  const resources = registry.items(Resources).flatMap(({ former, ...one }) => [one, ...(former ? [former] : [])])
  const ofResources = resources.map(({ collection, storedFields: fields }) => [collection.name, fields] as const)
  const stored = new Map([...storedFields(), ...ofResources])
  const isWhole = (name: string) => !name.startsWith("*")
  const ofCore = [...stored.keys()].filter(isWhole)
  return [...ofCore, ...ofPlugins].flatMap((name) => {
    const [, fields = []] =
      [...stored].find(([key]) => (isWhole(key) ? key === name : !stored.has(name) && name.endsWith(key.slice(1)))) ?? []
    return [`collection ${name}`, ...fields.map((field) => `field ${name}.${field}`)]
  })
}

/** Names found only in the sources. */
const patterns: Readonly<Record<string, RegExp>> = {
  command: /\bprogram\s*\.command\("([a-z-]+)/g,
  lease: /(?:\blease = (?:\{ name: )?|leases\.claim\()["`]([^"`$]+)/g,
  metric: /"(millrace_[a-z_]+)"/g,
}

function literals(): string[] {
  const texts = productFiles().map(sourceOf)
  return Object.entries(patterns).flatMap(([kind, pattern]) =>
    texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name = ""]) => `${kind} ${name}`)),
  )
}
