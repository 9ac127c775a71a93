// Files of forms: accepted by the pipeline's document, stored in the bucket, downloaded by link, removed with the event.
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { testHost } from "#core/testing"
import { Bench, type Made } from "../../pipeline/bench.ts"
import { onStoresInTurn } from "../../pipeline/stores.ts"
import { until } from "../../waiting.ts"
import { onBothBuckets, pluginSettings } from "../buckets/stores.ts"

interface Reference {
  readonly key: string
  readonly name: string
  readonly type: string
  readonly size: number
}
interface Listed {
  readonly files: readonly (Reference & { readonly field: string; readonly url: string })[]
}

const env = pluginSettings({ "event-files": { max_file_bytes: 2_000_000, max_pipeline_bytes: 6_000_000 } })

onStoresInTurn("a form with files", ({ start }) => {
  let host: TestHost
  let bench: Bench
  let open: Made

  before(async () => {
    host = await start({ env })
    bench = new Bench(host)
    open = await bench.make({
      name: "Jobs",
      accept_files: true,
      pipeline: [
        { id: "save", type: "dataset.write", dataset_slug: "applications", key: "email" },
        { type: "respond", body: { cv: "{{ event.cv }}", all: "{{ event }}" } },
      ],
    })
  })

  const formOf = (
    fields: Record<string, string>,
    files: readonly [field: string, name: string, type: string, bytes: Uint8Array | string][],
  ) => {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.set(name, value)
    for (const [field, name, type, bytes] of files) form.append(field, new File([bytes as Uint8Array<ArrayBuffer>], name, { type }))
    return form
  }
  const post = async (url: string, form: FormData) => {
    const answer = await fetch(url, { method: "POST", body: form })
    return {
      status: answer.status,
      body: (await answer.json()) as Record<string, unknown> & {
        cv?: Reference
        code?: string
        details?: { reason?: string; fields?: { path: string }[] }
      },
    }
  }
  const listFiles = async (execution: string) => (await host.api<Listed>("GET", `/v1/event-files/${execution}`)).body.files

  it("has a reference for each file in the event, and the bytes behind a link that downloads them", async () => {
    const bytes = new Uint8Array(1_500_000).map((_, n) => (n * 7) % 256)
    const form = formOf({ email: "ada@example.com" }, [
      ["cv", "Lebenslauf Ada (Größe).pdf", "application/pdf", bytes],
      ["more", "a.html", "text/html", "<script>alert(1)</script>"],
      ["more", "", "", "no name"],
    ])
    const { status, body } = await post(open.inbound_url, form)
    expect([status, body.cv]).to.deep.equal([
      200,
      { key: body.cv?.key, name: "Lebenslauf Ada (Größe).pdf", type: "application/pdf", size: 1_500_000 },
    ])
    const { id } = await bench.newest(open.slug)
    const files = await listFiles(id)
    expect(files.map(({ field, name, size }) => [field, name, size])).to.deep.equal([
      ["cv", "Lebenslauf Ada (Größe).pdf", 1_500_000],
      ["more", "a.html", 25],
      ["more", files[2]?.name, 7],
    ])
    expect((await bench.rows("applications"))[0]?.values["cv"]).to.deep.equal(body.cv)
    const download = await fetch(files[0]?.url ?? "")
    expect(new Uint8Array(await download.arrayBuffer())).to.deep.equal(bytes)
    const page = await fetch(files[1]?.url ?? "")
    expect([
      page.headers.get("content-type"),
      page.headers.get("content-disposition"),
      page.headers.get("x-content-type-options"),
    ]).to.deep.equal(["application/octet-stream", "attachment", "nosniff"])
  })

  it("is refused with the limit if its pipeline has stored as many bytes as it may", async () => {
    const full = await bench.make({ name: "Full", accept_files: true, pipeline: [] })
    const send = () => post(full.inbound_url, formOf({}, [["cv", "cv.pdf", "application/pdf", new Uint8Array(1_900_000)]]))
    for (let sentCount = 0; sentCount < 3; sentCount++) expect((await send()).status).to.equal(200)
    const refused = await send()
    expect([refused.status, refused.body.details?.reason]).to.deep.equal([413, "file_quota_exceeded"])
    expect(JSON.stringify(refused.body)).to.include("max_pipeline_bytes")
    expect((await bench.newest(full.slug)).status).to.equal("rejected")
  })

  it("uses the stored file in a replay", async () => {
    const response = await post(open.inbound_url, formOf({ email: "replayed@example.com" }, [["cv", "cv.pdf", "application/pdf", "%PDF"]]))
    const { id } = await bench.newest(open.slug)
    const replayed = await host.api<{ response: { body: { cv: Reference } } }>(
      "POST",
      `/v1/event-pipelines/${open.slug}/executions/${id}/replay`,
    )
    expect(replayed.body.response.body.cv).to.deep.equal(response.body.cv)
  })

  it("is refused with field, size and limit if a file or all files are too large, and nothing is stored", async () => {
    const large = await post(
      open.inbound_url,
      formOf({ email: "large@example.com" }, [["cv", "cv.pdf", "application/pdf", new Uint8Array(2_000_001)]]),
    )
    expect([large.status, large.body.details?.reason, large.body.details?.fields?.[0]?.path]).to.deep.equal([413, "file_too_large", "cv"])
    expect(JSON.stringify(large.body)).to.include("2000001").and.include("2000000")
    const { id } = await bench.newest(open.slug)
    expect(await listFiles(id)).to.deep.equal([])
  })

  it("is refused where a step refuses the event, and nothing is stored", async () => {
    const refused = await post(open.inbound_url, formOf({ other: "no key" }, [["cv", "cv.pdf", "application/pdf", "%PDF"]]))
    expect([refused.status, refused.body.details?.reason]).to.deep.equal([400, "event_not_storable"])
    expect(await listFiles((await bench.newest(open.slug)).id)).to.deep.equal([])
  })

  it("is refused with 415 by auth_mode none unless the document accepts files, and accepted by the other modes", async () => {
    const closed = await bench.make({ name: "Closed" })
    const shared = await bench.make({ name: "Shared", auth_mode: "shared_secret_header", auth_config: { secret: "sixteen-characters" } })
    const form = () => formOf({ email: "a@b.test" }, [["cv", "cv.pdf", "application/pdf", "%PDF"]])
    expect((await post(closed.inbound_url, form())).status).to.equal(415)
    const answer = await fetch(shared.inbound_url, { method: "POST", body: form(), headers: { "x-webhook-secret": "sixteen-characters" } })
    expect(answer.status).to.equal(200)
    const denied = await host.api("PUT", `/v1/event-pipelines/${shared.slug}`, { accept_files: false })
    expect(denied.body).to.include({ accept_files: false })
    const again = await fetch(shared.inbound_url, { method: "POST", body: form(), headers: { "x-webhook-secret": "sixteen-characters" } })
    expect(again.status).to.equal(415)
  })

  it("keeps an empty choice of files as an empty field", async () => {
    const { status, body } = await post(
      open.inbound_url,
      formOf({ email: "none@example.com" }, [["cv", "", "application/octet-stream", ""]]),
    )
    expect([status, body.cv]).to.deep.equal([200, ""])
  })
})

onBothBuckets("files of a form", ({ start }) => {
  it("are downloads behind their links, and go when the person of the row is erased", async () => {
    const host = await start()
    const bench = new Bench(host)
    const pipeline = await bench.make({
      name: "Jobs",
      accept_files: true,
      purpose: "record_capture",
      pipeline: [{ id: "save", type: "dataset.write", dataset_slug: "jobs", key: "email" }],
    })
    const form = new FormData()
    form.set("email", "ada@example.com")
    form.set("cv", new File(["<script>alert(1)</script>"], "cv.html", { type: "text/html" }))
    expect((await fetch(pipeline.inbound_url, { method: "POST", body: form })).status).to.equal(200)
    const { id } = await bench.newest(pipeline.slug)
    const list = async () => (await host.api<Listed>("GET", `/v1/event-files/${id}`)).body.files
    const [file] = await list()
    const download = await fetch(file?.url ?? "")
    expect(await download.text()).to.equal("<script>alert(1)</script>")
    expect([download.headers.get("content-type"), download.headers.get("content-disposition")]).to.deep.equal([
      "application/octet-stream",
      "attachment",
    ])
    await until("the lead", async () => (await host.api<{ leads: object[] }>("GET", "/v1/leads")).body.leads.length > 0)
    const erased = await host.api("POST", "/v1/consents/erase", { email: "ada@example.com", reason: "asked" })
    expect(erased.status, JSON.stringify(erased.body)).to.equal(200)
    await until("the end of the files", async () => (await list()).length === 0)
    expect((await fetch(file?.url ?? "")).status).to.equal(404)
  })
})

describe("files of a form", () => {
  it("are removed when the payload of their event expires", async () => {
    const host = await testHost({ env: { MILLRACE_RETENTION_PAYLOADS_DAYS: "1", MILLRACE_JOBS_POLL_MS: "20" } })
    try {
      const bench = new Bench(host)
      const pipeline = await bench.make({ name: "Jobs", accept_files: true })
      const form = new FormData()
      form.set("cv", new File(["%PDF"], "cv.pdf"))
      expect((await fetch(pipeline.inbound_url, { method: "POST", body: form })).status).to.equal(200)
      const { id } = await bench.newest(pipeline.slug)
      const folder = join(host.dataDir, "buckets", host.organization.id, "event-files", id)
      expect(await readdir(folder)).to.deep.equal(["1-cv-pdf.bin"])
      for (let hours = 0; hours < 26; hours++) host.clock.move(3_600_000)
      await until("the removal of the file", async () => (await readdir(folder)).length === 0)
      await until("the end of the document", async () => (await host.api<Listed>("GET", `/v1/event-files/${id}`)).body.files.length === 0)
    } finally {
      await host.stop()
    }
  })

  it("come with the form of a published page", async () => {
    const host = await testHost({})
    try {
      const html = '<form enctype="multipart/form-data"><input name="email"><input type="file" name="cv"></form>'
      const { body: page } = await host.api<{ slug: string; id: string }>("POST", "/v1/pages", {
        title: "Jobs",
        variants: [{ key: "a", html }],
      })
      await host.api("POST", `/v1/pages/${page.slug}/publish`)
      const bench = new Bench(host)
      await bench.make({
        name: "Applications",
        source_kind: "browser_form",
        auth_mode: "public_artifact",
        owner_artifact_id: page.id,
        purpose: "record_capture",
        pipeline: [{ id: "save", type: "dataset.write", dataset_slug: "jobs" }],
      })
      const form = new FormData()
      form.set("email", "ada@example.com")
      form.set("cv", new File(["%PDF"], "cv.pdf", { type: "application/pdf" }))
      const answer = await fetch(`${host.url}/p/${host.organization.slug}/${page.slug}`, { method: "POST", body: form })
      expect(answer.status).to.equal(200)
      const [row] = await bench.rows("jobs")
      expect(row?.values["email"]).to.equal("ada@example.com")
      expect(row?.values["cv"]).to.include({ name: "cv.pdf", type: "application/pdf", size: 4 })
    } finally {
      await host.stop()
    }
  })
})
