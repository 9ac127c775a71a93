// Metrics of waiting items by resource and organization, with a bounded number of labels.
import { expect } from "chai"
import { Registry } from "prom-client"
import { measureWaiting } from "../../core/contract/metrics.ts"

const share = (organization: string, waiting: number, waitingMs: number) => ({ organization, waiting, running: 1, waitingMs })

describe("waiting metrics", () => {
  it("name the organizations that wait longest, and count the others together", async () => {
    const metrics = new Registry()
    const many = Array.from({ length: 14 }, (_, i) => share(`org-${i}`, i + 1, 14_000 - i * 1_000))
    measureWaiting(metrics, "sandbox", () => [...many, share("idle", 0, 0)])
    measureWaiting(metrics, "compiler", () => [share("org-1", 3, 500)])
    const lines = (await metrics.metrics()).split("\n").filter((line) => line.startsWith("millrace_"))
    expect(lines).to.have.length(24)
    expect(lines).to.include.members([
      'millrace_queue_length{resource="sandbox",organization="org-0"} 1',
      'millrace_queue_length{resource="sandbox",organization="other"} 50',
      'millrace_queue_wait_seconds{resource="sandbox",organization="org-0"} 14',
      'millrace_queue_wait_seconds{resource="sandbox",organization="other"} 4',
      'millrace_queue_length{resource="compiler",organization="org-1"} 3',
      'millrace_queue_wait_seconds{resource="compiler",organization="org-1"} 0.5',
    ])
    expect(lines.join()).to.not.match(/idle|org-10/)
  })

  it("forget who waits no more", async () => {
    const metrics = new Registry()
    let shares = [share("a", 1, 1)]
    measureWaiting(metrics, "sandbox", () => shares)
    expect(await metrics.metrics()).to.include('organization="a"')
    shares = []
    expect(await metrics.metrics()).to.not.include("organization=")
  })
})
