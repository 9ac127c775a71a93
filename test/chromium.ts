// The Chromium that comes with the service, for tests. It is unpacked once, whole or not at all: two processes that run
// tests may both be the first to want it.
import { resolve } from "node:path"
import bundled from "@sparticuz/chromium"
import { type Browser, chromium } from "playwright-core"
import { chromiumOf } from "../plugins/pages/screenshots/render/chromium.ts"

/** As long as `until`: Playwright's own 30 s pass on a busy machine. */
const patienceMs = 300_000

/** Where it is unpacked, for all runs. */
export const browserFolder = resolve(import.meta.dirname, "../node_modules/.cache/millrace/chromium")

/** Its path, and the folder of libraries that it needs where the system has none. */
export const testChromium = chromiumOf({ executable: undefined, folder: browserFolder })

export async function launchChromium(args: readonly string[] = bundled.args): Promise<Browser> {
  const { executable } = await testChromium()
  const browser = await chromium.launch({ executablePath: executable, args: [...args], headless: true, timeout: patienceMs })
  const open = browser.newContext.bind(browser)
  // Pages that are opened without a context have it from here too.
  browser.newContext = async (options) => {
    const context = await open(options)
    context.setDefaultTimeout(patienceMs)
    return context
  }
  return browser
}
