// Invalid settings of the shipped plugins: the start refuses them.
import { expect } from "chai"
import { orderPlugins } from "../../core/kernel/loader.ts"
import evals from "../../plugins/agents/evals/index.ts"
import buckets from "../../plugins/data/buckets/index.ts"
import pageAnalytics from "../../plugins/pages/page-analytics/index.ts"
import screenshots from "../../plugins/pages/screenshots/index.ts"
import email from "../../plugins/people/email/index.ts"
import inboundMail from "../../plugins/people/inbound-mail/index.ts"
import approvals from "../../plugins/platform/approvals/index.ts"

const plugins = [approvals, buckets, email, evals, inboundMail, pageAnalytics, screenshots]

describe("settings of shipped plugins", () => {
  const refused: readonly (readonly [plugin: string, setting: string, value: string | number, range: RegExp])[] = [
    ["approvals", "expire_days", 0.000_001, /0\.01/],
    ["buckets", "max_object_bytes", 1e13, /5368709120/],
    ["email", "url", "smtp://mail.example:x", /SMTP URL/],
    ["evals", "nightly_cron", "every night", /cron expression/],
    ["evals", "nightly_cron", "0 0 31 2 *", /cron expression/],
    ["inbound-mail", "idle_timeout_ms", 2_147_483_648, /86400000/],
    ["inbound-mail", "session_timeout_ms", 2_147_483_648, /86400000/],
    ["page-analytics", "check_every_ms", 1e15, /2678400000/],
    ["page-analytics", "keep_days", 1e9, /36500/],
    ["page-analytics", "keep_replaced_ms", 1e15, /2678400000/],
    ["page-analytics", "max_result_bytes", 1e12, /268435456/],
    ["screenshots", "keep_hours", 0.000_001, /0\.01/],
  ]

  for (const [plugin, setting, value, range] of refused)
    it(`refuses ${plugin}.${setting} of ${value}, with the range`, () => {
      const problems: string[] = []
      orderPlugins(
        plugins.map((definition) => ({ plugin: definition as never, from: "here" })),
        { [plugin]: { [setting]: value } },
        problems,
      )
      const own = problems.filter((problem) => problem.startsWith("plugins.settings."))
      expect(own).to.have.length(1)
      expect(own[0]).to.include(`plugins.settings.${plugin}.${setting}`).and.include(JSON.stringify(value)).and.match(range)
    })
})
