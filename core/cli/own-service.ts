// The service of this folder: what its first start wrote into the data folder, and whether it runs.
import { existsSync } from "node:fs"
import { join } from "node:path"
import { firstStart } from "./first-start.ts"
import type { OwnService } from "./profiles.ts"

/** One that takes longer is busy. */
const answerMs = 1_000

export async function ownService(dataDir: string): Promise<OwnService | undefined> {
  const file = join(dataDir, "bootstrap.json")
  if (!existsSync(file)) return undefined
  const { base_url, admin_key } = firstStart(file)
  return { url: base_url, key: admin_key, runs: await answers(base_url) }
}

/** Returns true if a service answers there, or is busy. */
export async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(answerMs) })
    await response.body?.cancel()
    return true
  } catch (error) {
    return (error as Error).name === "TimeoutError"
  }
}
