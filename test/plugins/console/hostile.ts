// Puts hostile texts into all answers of the service. Tests check that every screen shows them as plain text.
import type { Page } from "playwright-core"

export const mark = "evil-mark"
const hostile = `<img src=x onerror="document.title='hit'"><script>document.title='hit'</script>\u202e${mark} ${"unbroken".repeat(40)}`

/** Replaces each text written by people in later answers by a hostile text. */
export async function answerHostile(page: Page): Promise<void> {
  await page.route(/\/v1\//, async (route) => {
    const response = await route.fetch()
    if (!response.headers()["content-type"]?.includes("json")) return await route.fulfill({ response })
    await route.fulfill({ response, json: hostileOf(await response.json()) })
  })
}

/** Returns effects of the hostile text beyond plain text: markup, changed text direction, broken layout. */
export async function harmOf(page: Page): Promise<string[]> {
  return (await page.evaluate(harm)) as string[]
}

const harm = `(() => {
  const root = document.documentElement
  const turned = [...document.querySelectorAll("body *")].filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.includes("\\u202e")))
  return [
    ...document.querySelectorAll("img[src=x], main script"),
    ...turned,
    ...(document.title === "hit" ? [document.querySelector("title")] : []),
    ...(root.scrollWidth > root.clientWidth ? [...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > root.clientWidth) : []),
  ].map((one) => one.outerHTML.slice(0, 200)).slice(0, 5)
})()`

const pattern = /^(?:title|name|note|description|summary|subject|text|body|content|message|objective|reason|about)$/
/** Fields that the console does not read as text. */
const read = new Set(["svg", "cursor", "next_cursor"])

function hostileOf(value: unknown, name = ""): unknown {
  if (typeof value === "string") return !read.has(name) && (pattern.test(name) || /\w\s\w/.test(value)) ? hostile : value
  if (Array.isArray(value)) return value.map((item) => hostileOf(item, name))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, hostileOf(item, key)]))
}
