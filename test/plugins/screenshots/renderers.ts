// Lists current render processes, their browsers included. They are known by their temporary folders inside the service's folder.
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

/** Resolves when all are gone. A killed process ends only when the system next schedules it. */
export async function allGone(folder: string): Promise<void> {
  await until("the end of all renderers", () => renderers(folder).length === 0)
}
