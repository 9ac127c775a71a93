// The view of a variant for judges and personas: its visible text after its scripts ran and, for models with image input, its
// picture.
// Both come from Chromium. Without a browser, or if one of a run's variants could not be rendered, all are read from their HTML.
// A view never names the variant, its author or the experiment.
import { AppError, type Caller, type Deps, Postponed, type UnitOfWork } from "#core"
import { Buckets } from "../../data/buckets/index.ts"
import { Pages, pageText, type StoredPage } from "../pages/index.ts"
import { Screenshots } from "../screenshots/index.ts"
import type { ExperimentVariant, StoredExperiment } from "./collections.ts"
import type { StoredRun } from "./runs.ts"

export interface VariantView {
  readonly text: string
  /** `html`: scripts did not run. */
  readonly textFrom: "browser" | "html"
  /** A PNG; undefined if not requested or deleted. */
  readonly image: Uint8Array | undefined
}

interface ViewDeps extends Deps<typeof VariantViews.inject> {
  /** True if pages are rendered in the browser. */
  readonly renders: boolean
}

/** Returns the view's description for records of judgements. */
export function viewDetails({ text, textFrom, image }: VariantView) {
  return { text_from: textFrom, characters: text.length, image: image !== undefined }
}

const viewport = { width: 1_280, height: 1_600, device_scale_factor: 1 } as const
/** Delay before another check of a render job. */
const renderMs = 500

interface Rendered {
  readonly text: string
  /** Empty unless its screenshot is stored. */
  readonly bucketKey: string
}

export class VariantViews {
  static readonly inject = { pages: Pages, screenshots: Screenshots, buckets: Buckets }
  readonly #deps: ViewDeps

  constructor(deps: ViewDeps) {
    this.#deps = deps
  }

  /** Splits the experiment's variants into those on its page and the keys of the others. */
  async split(organization: string, experiment: StoredExperiment, variants: readonly ExperimentVariant[]) {
    const page = await this.#page(organization, experiment)
    const has = ({ page_variant }: ExperimentVariant) => page?.variants.some(({ key }) => key === page_variant) ?? false
    return { there: variants.filter(has), withoutPage: variants.filter((variant) => !has(variant)).map(({ key }) => key) }
  }

  /** Returns texts from the variants' HTML, by key. */
  async texts(organization: string, experiment: StoredExperiment, variants: readonly ExperimentVariant[]): Promise<Record<string, string>> {
    const page = await this.#page(organization, experiment)
    const htmlOf = (variantKey: string) => page?.variants.find(({ key }) => key === variantKey)?.html ?? ""
    return Object.fromEntries(variants.map(({ key, page_variant }) => [key, pageText(htmlOf(page_variant))]))
  }

  /** Stages render jobs for the variants. Returns job ids by variant. */
  async render(
    work: UnitOfWork,
    caller: Caller,
    experiment: StoredExperiment,
    variants: readonly ExperimentVariant[],
  ): Promise<Record<string, string>> {
    const jobs: Record<string, string> = {}
    if (!this.#deps.renders) return jobs
    for (const { key, page_variant } of variants) {
      const target = { page: experiment.page_id ?? "", variant: page_variant }
      jobs[key] = await this.#deps.screenshots.start(work, caller, {
        ...target,
        viewport,
        full_page: false,
        instructions: [],
        reads_text: true,
      })
    }
    return jobs
  }

  /** Throws Postponed while variants of the run are being rendered. */
  async of(organization: string, run: StoredRun, key: string, { images }: { readonly images: boolean }): Promise<VariantView> {
    const rendered = await this.#rendered(organization, run)
    const own = rendered?.get(key)
    if (!own) return { text: run.texts[key] ?? "", textFrom: "html", image: undefined }
    return { text: own.text, textFrom: "browser", image: images ? await this.#bytes(organization, own.bucketKey) : undefined }
  }

  /** Returns undefined unless all variants were rendered: the source of the text must not distinguish variants. */
  async #rendered(organization: string, run: StoredRun): Promise<Map<string, Rendered> | undefined> {
    const rendered = new Map<string, Rendered>()
    for (const { key } of run.variants) {
      const job = run.screenshots[key]
      const screenshot = job === undefined ? undefined : await this.#deps.screenshots.get(organization, job).catch(onlyMissing)
      if (screenshot?.status === "processing") throw new Postponed(renderMs)
      // An expired screenshot has text but no image.
      if (screenshot?.text === undefined) return undefined
      rendered.set(key, { text: screenshot.text, bucketKey: screenshot.status === "done" ? screenshot.bucket_key : "" })
    }
    return rendered
  }

  async #page(organization: string, { page_id }: StoredExperiment): Promise<StoredPage | undefined> {
    return page_id === null ? undefined : this.#deps.pages.get(organization, page_id)
  }

  async #bytes(organization: string, key: string): Promise<Uint8Array | undefined> {
    const image = key === "" ? undefined : await this.#deps.buckets.open(organization).get(key)
    if (!image) return undefined
    const chunks: Uint8Array[] = []
    for await (const chunk of image.chunks) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
}

function onlyMissing(error: unknown): undefined {
  if (error instanceof AppError && error.code === "not_found") return undefined
  throw error
}
