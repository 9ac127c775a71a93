// Sign-in by mail in a browser, with mails of the service under test.
import { expect } from "chai"
import type { Page } from "playwright-core"
import type { TestHost } from "#core/testing"
import { until } from "../../waiting.ts"

/** Returns the newest mail to an address after the first `count`. */
export async function mailTo(host: TestHost, email: string, count = 0) {
  host.clock.move(1_000)
  return await until(`mail ${count + 1} to ${email}`, () => {
    const own = host.mails.filter(({ to }) => [to].flat().includes(email))
    return own.length > count && own.at(-1)
  })
}

export function countMails(host: TestHost, email: string): number {
  return host.mails.filter(({ to }) => [to].flat().includes(email)).length
}

/** Reads the code from the mail and enters it in the open form. */
export async function enterCode(host: TestHost, page: Page, email: string, before: number): Promise<void> {
  await page.getByLabel("Code", { exact: true }).waitFor()
  const { subject } = await mailTo(host, email, before)
  await page.getByLabel("Code", { exact: true }).fill(/^\d{6}/.exec(subject)?.[0] ?? "")
  await page.keyboard.press("Enter")
}

/** Signs a person in on an open page. */
export async function signInByMail(host: TestHost, page: Page, email: string): Promise<void> {
  const before = countMails(host, email)
  await page.getByLabel("Email").fill(email)
  await page.keyboard.press("Enter")
  await enterCode(host, page, email, before)
  await page.getByRole("navigation", { name: "Areas" }).waitFor()
  expect(await page.getByRole("button", { name: "Sign out" }).count()).to.equal(1)
}
