// Performs instructions on a page in order. The error names the failed instruction.
import type { Page } from "playwright-core"
import type { Instruction } from "../instructions.ts"

const stepTimeoutMs = 5_000
const settleMs = 2_000
/** Images end at this height in pixels. */
const maxRevealed = 16_384
const revealMs = 400

export async function perform(page: Page, instructions: readonly Instruction[]): Promise<void> {
  for (const [index, instruction] of instructions.entries()) {
    try {
      await step(page, instruction)
    } catch (cause) {
      throw new Error(`instructions[${index}] (${instruction.action}) failed: ${reasonOf(instruction, cause)}`, { cause })
    }
    if (instruction.action === "click") await awaitIdle(page)
  }
}

/** Waits for pending loads, up to a limit: some pages never stop loading. */
export async function awaitIdle(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle", { timeout: settleMs }).catch(() => undefined)
}

/** Scrolls through the page and back. Sections that appear on scrolling are then part of a full-page image. */
export async function reveal(page: Page, windowHeight: number): Promise<void> {
  const at = await page.evaluate<number>("window.scrollY")
  const height = await page.evaluate<number>("document.documentElement.scrollHeight")
  const painted = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
  const last = Math.min(height, maxRevealed)
  for (let y = 0; y < last; y += windowHeight) await page.evaluate(`window.scrollTo({ top: ${y}, behavior: "instant" }), ${painted}`)
  await awaitIdle(page)
  await page.evaluate(`window.scrollTo({ top: ${at}, behavior: "instant" }), ${painted}`)
  // Waits for fade-ins: a capture ends animations, but not transitions timed by scripts.
  await page.waitForTimeout(revealMs)
}

async function step(page: Page, instruction: Instruction): Promise<void> {
  const first = (selector: string) => page.locator(`css=${selector}`).first()
  const options = { timeout: stepTimeoutMs }
  switch (instruction.action) {
    case "click":
      return await first(instruction.selector).click(options)
    case "fill":
      return await first(instruction.selector).fill(instruction.value, options)
    case "choose":
      await first(instruction.selector).selectOption(
        instruction.label === undefined ? { value: instruction.value ?? "" } : { label: instruction.label },
        options,
      )
      return
    case "check":
      return await first(instruction.selector).setChecked(instruction.checked, options)
    case "scroll": {
      if (instruction.selector !== undefined) return await first(instruction.selector).scrollIntoViewIfNeeded(options)
      const y = instruction.to === "bottom" ? Number.MAX_SAFE_INTEGER : (instruction.y ?? 0)
      return await page.evaluate(`window.scrollTo({ top: ${y}, behavior: "instant" })`)
    }
    case "wait":
      if (instruction.selector !== undefined) return await first(instruction.selector).waitFor({ ...options, state: "visible" })
      return await page.waitForTimeout(instruction.ms ?? 0)
  }
}

function reasonOf(instruction: Instruction, cause: unknown): string {
  const selector = "selector" in instruction ? instruction.selector : undefined
  const [line = ""] = (cause instanceof Error ? cause.message : String(cause)).split("\n")
  if (/Timeout \d+ms exceeded/.test(line)) {
    return selector === undefined ? "it timed out" : `no element matching "${selector}" was usable within ${stepTimeoutMs} ms`
  }
  return line.replace(/^\w+\.\w+: /, "").slice(0, 300)
}
