// Judges an answer. A verdict is never invented: without a usable judgement the verdict is `could_not_judge`, with the reason.
import { AppError } from "#core"
import type { Models, Question } from "../../models/index.ts"
import { type Judged, Judgement, judgePrompt, shownToJudge } from "./prompt.ts"

export const verdicts = ["pass", "fail", "could_not_judge"] as const
export type Verdict = (typeof verdicts)[number]

export interface Judging {
  readonly verdict: Verdict
  readonly reason: string
  /** Set for `could_not_judge`: the error's reason, or `cannot_judge` if the judge refused a verdict. Empty otherwise. */
  readonly cause: string
  readonly costMillicents: number
}

const maxAnswerTokens = 1_500

/** Throws AppError `unavailable` if a retry may succeed. */
export async function judge(
  models: Models,
  organization: string,
  judged: Judged,
  { judgeModel, signal }: { readonly judgeModel: string; readonly signal: AbortSignal },
): Promise<Judging> {
  try {
    const question = { ...questionOf(judged, judgeModel), signal, schema: Judgement }
    const { value, costMillicents } = await models.object(organization, question)
    const judging = { reason: value.reasoning, costMillicents }
    if (value.verdict === "cannot_judge") return { ...judging, verdict: "could_not_judge", cause: value.verdict }
    return { ...judging, verdict: value.verdict, cause: "" }
  } catch (error) {
    if (signal.aborted || !(error instanceof AppError) || error.code === "unavailable") throw error
    return unjudged(error)
  }
}

/** Returns the result for a missing or unjudged answer. Texts of unexpected errors are hidden from callers. */
export function unjudged(error: unknown): Judging & { readonly verdict: "could_not_judge" } {
  const [reason, cause] =
    error instanceof AppError ? [error.message, error.details.reason ?? error.code] : ["The service failed.", "internal"]
  return { verdict: "could_not_judge", reason, cause, costMillicents: 0 }
}

/** Returns the maximum cost of a judgement in millicents. */
export function estimateOf(models: Models, judged: Judged, judgeModel: string): number {
  return models.estimate(questionOf(judged, judgeModel))
}

/** Returns the judge's name: `<model>@<prompt>-v<version>`. Throws `failed_precondition`, reason `model_not_configured`. */
export function judgeOf(models: Models, judgeModel: string): string {
  return `${models.language("judge", modelName(judgeModel)).model}@${judgePrompt.name}-v${judgePrompt.version}`
}

function questionOf(judged: Judged, judgeModel: string): Question {
  const model = modelName(judgeModel)
  const question = { purpose: "judge" as const, prompt: judgePrompt, input: shownToJudge(judged), maxOutputTokens: maxAnswerTokens }
  return model === undefined ? question : { ...question, model }
}

function modelName(judgeModel: string): string | undefined {
  return judgeModel === "" ? undefined : judgeModel
}
