// `millrace sign-in-link`: a link for a person without working sign-in, or for the first owner. The master key signs the link, so
// only the operator of the host can issue one. The service may be running or stopped.
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { z } from "zod"
import { CommandProblem, type PluginCommand } from "#core"
import { openVault } from "#core/commands"
import type { CoreConfig } from "#core/engine"
import { isMailAddress } from "../../../people/email/index.ts"
import { createOperatorLink } from "./operator-links.ts"

interface Options {
  readonly email?: string
  readonly owner?: boolean
}

export const signInLinkCommand: PluginCommand<Options> = {
  name: "sign-in-link",
  summary: "Print a link that signs a person in once, within ten minutes.",
  options: [
    { flags: "--email <address>", summary: "address of the person" },
    { flags: "--owner", summary: "the first owner, who has no address yet" },
  ],
  run({ email, owner = false }, { config }) {
    if (owner === (email !== undefined)) throw new CommandProblem("Give --email ADDRESS or --owner.")
    if (email !== undefined && !isMailAddress(email)) throw new CommandProblem(`--email: "${email}" is not an email address.`)
    const settings = config()
    const vault = openVault(settings, process.env["NODE_ENV"] === "production")
    const link = createOperatorLink(vault, Date.now(), email === undefined ? { owner: true } : { email: email.toLowerCase() })
    return `${baseUrlOf(settings)}/console#${owner ? "code" : "link"}=${link}`
  },
}

/** The public URL, or the address of the latest start. */
function baseUrlOf({ server, data_dir }: CoreConfig): string {
  const file = join(data_dir, "bootstrap.json")
  const bootstrap = server.public_url === null && existsSync(file) ? Started.safeParse(JSON.parse(readFileSync(file, "utf8"))) : undefined
  return (server.public_url ?? bootstrap?.data?.base_url ?? `http://127.0.0.1:${server.port}`).replace(/\/+$/, "")
}

const Started = z.object({ base_url: z.string() })
