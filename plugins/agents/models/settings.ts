// Operator settings: models, their prices, and limits.
import { z } from "zod"

const BaseUrl = z
  .string()
  .max(2_048)
  .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), "an absolute http(s) URL such as https://api.example.com/v1")

const model = {
  protocol: z
    .enum(["openai", "anthropic"])
    .default("openai")
    .describe("`openai`: chat completions and embeddings, as many servers offer them. `anthropic`: messages."),
  base_url: BaseUrl.optional().describe("Where the API begins. Needed unless `integration` is given."),
  model: z.string().trim().min(1).max(200).describe("Its name at the provider."),
  api_key: z.string().min(1).max(1_000).optional().describe("The provider's key, best as `{ from_env: NAME }`; absent: none is sent."),
  integration: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe("Slug of each organization's own connection of the app `http` to use instead of `base_url` and a key of the service's."),
  prices: z
    .strictObject({ input: z.number().min(0), output: z.number().min(0).default(0) })
    .describe("Millicents (1/100,000 of a dollar) per million tokens. Budgets are held against them; 0 for a model of your own."),
}

type Reached = { readonly base_url?: string | undefined; readonly integration?: string | undefined }
const isReached = ({ base_url, integration }: Reached) => (base_url === undefined) !== (integration === undefined)
const notReached = { path: ["base_url"], message: "give base_url or integration, one of them" }

const LanguageModelSettings = z
  .strictObject({
    ...model,
    images: z.boolean().default(false).describe("Whether it sees images."),
    structured: z
      .boolean()
      .default(true)
      .describe("Whether the server keeps to a JSON Schema (`response_format`); false: it is asked in words."),
  })
  .refine(isReached, notReached)

const EmbeddingModelSettings = z
  .strictObject(model)
  .refine(isReached, notReached)
  .refine(({ protocol }) => protocol === "openai", { path: ["protocol"], message: "embeddings are had by the openai protocol" })

export const ModelSettings = z.strictObject({
  default: LanguageModelSettings.optional().describe("For each purpose that has none of its own."),
  judge: LanguageModelSettings.optional().describe("Compares page variants and judges results."),
  persona: LanguageModelSettings.optional().describe("Answers as a simulated visitor."),
  digest: LanguageModelSettings.optional().describe("Sums up."),
  agent: LanguageModelSettings.optional().describe("Answers as an agent whose protocol is `model`, and acts on instructions, with tools."),
  others: z
    .array(LanguageModelSettings)
    .max(20)
    .default([])
    .describe("Further language models, for callers that name one, such as eval suites; those above can be named too."),
  embedding: EmbeddingModelSettings.optional().describe("Measures how alike texts are."),
  timeout_ms: z.int().min(1_000).max(600_000).default(60_000).describe("Of one call, retries included."),
  max_retries: z.int().min(0).max(10).default(2).describe("After 408, 409, 429 and 5xx, after the time that the provider asks for."),
  concurrency: z.int().min(1).max(256).default(8).describe("Calls at once from this node; organizations take turns."),
  max_waiting: z.int().min(1).max(100_000).default(2_000).describe("Calls that wait; further ones are refused."),
  max_call_millicents: z.number().min(0).default(100_000).describe("What one call may cost at most, by an estimate from above."),
  max_day_millicents: z.number().min(0).default(10_000_000).describe("What the calls of one organization may cost in a day (UTC)."),
  cache_days: z.int().min(0).max(365).default(30).describe("How long an answer is kept for the same question; 0: not at all."),
})

export type ModelSettings = z.output<typeof ModelSettings>
export type LanguageModelSettings = z.output<typeof LanguageModelSettings>
export type EmbeddingModelSettings = z.output<typeof EmbeddingModelSettings>

export const purposes = ["judge", "persona", "digest", "agent"] as const
/** Purposes of language models. */
export type Purpose = (typeof purposes)[number]
