// What a judge or a persona is shown of a variant: its text and, where the model sees images, a picture that Chromium took.
// Nothing of it names the variant, its author or the experiment.
import { type Caller, Postponed, token, type UnitOfWork } from "#core"
import type { Buckets } from "../buckets/index.ts"
import type { Pages, StoredPage } from "../pages/index.ts"
import type { Screenshots } from "../screenshots/index.ts"
import type { ExperimentVariant, StoredExperiment } from "./collections.ts"
import { pageText } from "./page-text.ts"
import type { StoredRun } from "./runs.ts"

export interface VariantView {
  readonly text: string
  /** A PNG; undefined where the model sees none, or no picture could be taken. */
  readonly image: Uint8Array | undefined
}

export const VariantViewsToken = token<VariantViews>("VariantViews")

interface ViewDeps {
  readonly pages: Pages
  readonly screenshots: Screenshots
  readonly buckets: Buckets
}

const viewport = { width: 1_280, height: 1_600, device_scale_factor: 1 } as const
/** Until a picture is looked for again. */
const pictureMs = 500

export class VariantViews {
  readonly #deps: ViewDeps

  constructor(deps: ViewDeps) {
    this.#deps = deps
  }

  /** The experiment's variants that its page has, and the keys of the others. */
  async split(organization: string, experiment: StoredExperiment, wanted: readonly ExperimentVariant[]) {
    const page = await this.#page(organization, experiment)
    const has = ({ page_variant }: ExperimentVariant) => page?.variants.some(({ key }) => key === page_variant) ?? false
    return { there: wanted.filter(has), withoutPage: wanted.filter((variant) => !has(variant)).map(({ key }) => key) }
  }

  async text(organization: string, experiment: StoredExperiment, variant: ExperimentVariant): Promise<string> {
    const page = await this.#page(organization, experiment)
    return pageText(page?.variants.find(({ key }) => key === variant.page_variant)?.html ?? "")
  }

  /** Stages pictures of the variants; job ids by variant. */
  async picture(
    work: UnitOfWork,
    caller: Caller,
    experiment: StoredExperiment,
    variants: readonly ExperimentVariant[],
  ): Promise<Record<string, string>> {
    const jobs: Record<string, string> = {}
    for (const { key, page_variant } of variants) {
      const target = { page: experiment.page_id ?? "", variant: page_variant }
      jobs[key] = await this.#deps.screenshots.start(work, caller, { ...target, viewport, full_page: false, instructions: [] })
    }
    return jobs
  }

  /** Throws Postponed while the picture is being taken. */
  async of(organization: string, experiment: StoredExperiment, run: StoredRun, key: string): Promise<VariantView> {
    const variant = run.variants.find((one) => one.key === key) ?? { key, page_variant: key }
    const text = await this.text(organization, experiment, variant)
    const job = run.screenshots[key]
    if (job === undefined) return { text, image: undefined }
    const found = await this.#deps.screenshots.get(organization, job)
    if (found.status === "processing") throw new Postponed(pictureMs)
    return { text, image: found.status === "done" ? await this.#bytes(organization, found.bucket_key) : undefined }
  }

  async #page(organization: string, { page_id }: StoredExperiment): Promise<StoredPage | undefined> {
    return page_id === null ? undefined : this.#deps.pages.get(organization, page_id)
  }

  async #bytes(organization: string, key: string): Promise<Uint8Array | undefined> {
    const found = await this.#deps.buckets.open(organization).get(key)
    if (!found) return undefined
    const chunks: Uint8Array[] = []
    for await (const chunk of found.chunks) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
}
