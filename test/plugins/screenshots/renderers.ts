// The processes that render right now, browsers and theirs, known by the folder that each is given: a temporary one in
// the folder that this service has for such.
import { readdirSync, readFileSync } from "node:fs"
import { untilProcess as until } from "../../waiting.ts"

export function renderers(folder: string): { pid: number; command: string }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const environment = readFileSync(`/proc/${name}/environ`, "utf8")
        const state = readFileSync(`/proc/${name}/stat`, "utf8")
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8")
        const isZombie = state.slice(state.lastIndexOf(")") + 2).startsWith("Z")
        return !isZombie && environment.includes(`HOME=${folder}/millrace-render-`) && command !== ""
          ? [{ pid: Number(name), command }]
          : []
      } catch {
        return []
      }
    })
}

/** Resolves when none is left: what was killed is gone when the system next lets it run. */
export async function allGone(folder: string): Promise<void> {
  await until("the end of all renderers", () => renderers(folder).length === 0)
}
