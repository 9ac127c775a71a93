// The packaged Chromium, for tests. It is unpacked once and atomically, since two test processes may need it at the same time.
import { resolve } from "node:path"
import bundled from "@sparticuz/chromium"
import { type Browser, chromium } from "playwright-core"
import { chromiumOf } from "../plugins/pages/screenshots/render/chromium.ts"

/** The timeout of `until`. Playwright's own 30 s are too short on a busy machine. */
const patienceMs = 300_000

/** Unpacked Chromium, shared by all runs. */
export const browserFolder = resolve(import.meta.dirname, "../node_modules/.cache/millrace/chromium")

/** Returns its path, and the folder of libraries for systems without them. */
export const testChromium = chromiumOf({ executable: undefined, folder: browserFolder })

export async function launchChromium(args: readonly string[] = bundled.args): Promise<Browser> {
  const { executable } = await testChromium()
  const browser = await chromium.launch({ executablePath: executable, args: [...args], headless: true, timeout: patienceMs })
  const open = browser.newContext.bind(browser)
  // `browser.newPage` also calls this function.
  browser.newContext = async (options) => {
    const context = await open(options)
    context.setDefaultTimeout(patienceMs)
    return context
  }
  return browser
}
