// The split-leads warning (specification 4.18): leads of one customer that land in several datasets, because pipelines
// that upsert by email write to different ones. It takes several documents to see it: a save looks at those that are
// stored, `validate` at the files beside each other.

const emailColumn = /^(e[-_]?mail|email[-_]?address|lead[-_]?email|contact[-_]?email)$/i

export interface LeadCapture {
  readonly slug: string
  readonly upserts: readonly { readonly dataset: string; readonly key: string }[]
  /** Names of the datasets it writes to, all qualified by their organization or none. */
  readonly targets: readonly string[]
}

/** The datasets that a pipeline upserts leads into, as it names them. */
export function leadDatasets({ upserts }: Pick<LeadCapture, "upserts">): string[] {
  return upserts.filter(({ key }) => emailColumn.test(key)).map(({ dataset }) => dataset)
}

/** The same among `targets`: what a pipeline beside it writes to, when it captures the same leads. */
export function leadTargets(saved: LeadCapture): string[] {
  const bare = new Set(leadDatasets(saved).map(bareDataset))
  return saved.targets.filter((target) => bare.has(bareDataset(target)))
}

/** What a save is told; `others` are the further active pipelines that capture records. undefined where all is well. */
export function splitLeadsWarning(
  saved: LeadCapture,
  others: readonly Pick<LeadCapture, "slug" | "targets">[],
): { readonly rule: "split-leads-dataset"; readonly message: string } | undefined {
  const byEmail = leadDatasets(saved)
  const own = new Set(leadTargets(saved))
  const split = others
    .filter(({ targets }) => !targets.some((target) => own.has(target)))
    .flatMap(({ slug, targets }) => targets.map((target) => ({ slug, target })))
  if (own.size === 0 || split.length === 0) return undefined
  const listed = split.slice(0, 5).map(({ slug, target }) => `"${slug}" to ${target}`)
  const suffixed = split.find(({ target }) => byEmail.some((dataset) => differsBySuffix(bareDataset(target), bareDataset(dataset))))
  const hint = suffixed ? ` ${suffixed.target} looks like the same dataset with a collision suffix.` : ""
  const message =
    `"${saved.slug}" upserts leads by email into ${byEmail.join(", ")}, while other active lead-capture pipelines write elsewhere: ${listed.join(", ")}.` +
    `${hint} Point every lead-capture pipeline of one customer at one dataset, or disable the stale ones.`
  return { rule: "split-leads-dataset", message }
}

/** `leads` of `acme.leads`. */
export function bareDataset(name: string): string {
  return name.slice(name.indexOf(".") + 1)
}

function differsBySuffix(a: string, b: string): boolean {
  const stem = (slug: string) => slug.replace(/-\d+$/, "")
  return a !== b && stem(a) === stem(b)
}
