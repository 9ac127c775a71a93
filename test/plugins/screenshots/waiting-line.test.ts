// The bound of screenshots in progress while a start is in memory, on disk, or in both.
import { expect } from "chai"
import { StagedWork } from "../../../core/contract/unit-of-work.ts"
import { systemClock } from "../../../core/kernel/clock.ts"
import { ScreenshotCollection, type StoredScreenshot } from "../../../plugins/pages/screenshots/collection.ts"
import { WaitingLine } from "../../../plugins/pages/screenshots/waiting-line.ts"
import { type OpenedFile, openFile } from "../../storage/opened.ts"

describe("the line of screenshots in progress", () => {
  let opened: OpenedFile
  beforeEach(async () => {
    opened = await openFile([ScreenshotCollection])
  })
  afterEach(() => opened.close())

  const lineOf = (most: number) => {
    const line = new WaitingLine(opened.store, systemClock, most)
    return async (id: string) => {
      const work = new StagedWork(`start-${id}`)
      await line.enter(work, "acme", id)
      work.in(ScreenshotCollection, "acme").insert({ id, status: "processing" } as StoredScreenshot)
      return work
    }
  }
  const refusal = (entering: Promise<unknown>) =>
    entering.then(
      () => undefined,
      (error) => error.code,
    )

  it("counts a start once between its commit and what follows the commit", async () => {
    const enter = lineOf(2)
    const first = await enter("first")
    const result = await opened.store.commit(first.commit)
    const second = await enter("second")
    await first.committed(result)
    await second.commitTo(opened.store)
    expect(await refusal(enter("third"))).to.equal("resource_exhausted")
  })

  it("counts a start that is committed while another one counts", async () => {
    const enter = lineOf(1)
    const first = await enter("first")
    const [refused] = await Promise.all([refusal(enter("second")), first.commitTo(opened.store)])
    expect(refused).to.equal("resource_exhausted")
  })

  it("lets the first in, as many as it has places, however many come at once", async () => {
    const enter = lineOf(5)
    const ids = Array.from({ length: 40 }, (_, index) => `start-${index}`)
    const refusals = await Promise.all(ids.map((id) => refusal(enter(id).then((work) => work.commitTo(opened.store)))))
    expect(refusals).to.deep.equal(ids.map((_, index) => (index < 5 ? undefined : "resource_exhausted")))
  })
})
