// The Chromium that comes with the service, for tests. It is unpacked once, whole or not at all: two processes that run
// tests may both be the first to want it.
import { resolve } from "node:path"
import bundled from "@sparticuz/chromium"
import { type Browser, chromium } from "playwright-core"
import { chromiumOf } from "../plugins/screenshots/render/chromium.ts"

/** Where it is unpacked, for all runs. */
export const browserFolder = resolve(import.meta.dirname, "../node_modules/.cache/millrace/chromium")

/** Its path, and the folder of libraries that it needs where the system has none. */
export const testChromium = chromiumOf({ executable: undefined, folder: browserFolder })

export async function launchChromium(args: readonly string[] = bundled.args): Promise<Browser> {
  const { executable } = await testChromium()
  return await chromium.launch({ executablePath: executable, args: [...args], headless: true })
}
