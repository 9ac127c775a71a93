// People in apps' webviews count; programs do not.
import { expect } from "chai"
import { isBot } from "../../../plugins/pages/page-events/bots.ts"
import { readUserAgents } from "../../bench/user-agents.ts"
import { desktopChrome } from "./loop.ts"

describe("bots", () => {
  it("are not people in an app's webview, nor in the common browsers", () => {
    const people = readUserAgents(new URL("../../fixtures/user-agents.json", import.meta.url)).filter(({ in_app }) => in_app !== "")
    expect(people.length).to.be.at.least(150)
    expect(people.filter(({ ua }) => isBot(ua)).map(({ ua }) => ua)).to.deep.equal([])
    expect(isBot(desktopChrome)).to.equal(false)
  })

  it("are crawlers, tools, and browsers without a window", () => {
    for (const agent of [
      "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
      "facebookexternalhit/1.1",
      "curl/8.4.0",
      "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0.0.0 Safari/537.36",
      "crawler Process/toolsmp",
    ])
      expect(isBot(agent), agent).to.equal(true)
  })
})
