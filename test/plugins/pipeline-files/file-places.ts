// Folders of pipeline files, each with a data folder. Services start on them one after another.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { type TestHost, testHost } from "#core/testing"
import type { Made } from "../../pipeline/bench.ts"

export class FilePlaces {
  readonly #folders: string[] = []
  readonly #running: TestHost[] = []

  /** Creates a folder of files and a data folder. `boot` starts a service on them and stops the previous one. */
  make() {
    const dataDir = mkdtempSync(join(tmpdir(), "millrace-files-data-"))
    const files = mkdtempSync(join(tmpdir(), "millrace-files-"))
    this.#folders.push(dataDir, files)
    return {
      write: (name: string, text: string | Uint8Array) => {
        mkdirSync(dirname(join(files, name)), { recursive: true })
        writeFileSync(join(files, name), text)
      },
      remove: (name: string) => rmSync(join(files, name)),
      link: (name: string, target: string) => symlinkSync(target, join(files, name)),
      boot: async () => {
        for (const host of this.#running.splice(0)) await host.stop()
        const host = await testHost({ dataDir, env: { MILLRACE_PIPELINES_PATHS: files } })
        this.#running.push(host)
        return host
      },
    }
  }

  async remove(): Promise<void> {
    for (const host of this.#running.splice(0)) await host.stop()
    for (const folder of this.#folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  }
}

export async function get(host: TestHost, slug: string): Promise<Made & { name: string }> {
  return (await host.api<Made & { name: string }>("GET", `/v1/event-pipelines/${slug}`)).body
}

export function warned(host: TestHost): string[] {
  return host.logged
    .map((line) => JSON.parse(line) as { level: number; msg: string })
    .filter(({ level }) => level >= 40)
    .map(({ msg }) => msg)
}
