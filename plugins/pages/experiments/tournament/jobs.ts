// The job of a tournament: one for the whole of it, which a retry continues.
import { z } from "zod"
import { defineJob, token } from "#core"
import type { Tournament } from "./tournament.ts"

export const TournamentToken = token<Tournament>("Tournament")

export const playTournament = defineJob({
  type: "experiments.tournament",
  summary: "Judge variants in pairs until the leader is clear.",
  payload: z.strictObject({ run_id: z.string(), equal_margin: z.number(), alpha: z.number() }),
  // 500 comparisons of a slow model, eight at once.
  timeoutMs: 3_600_000,
  inject: { tournament: TournamentToken },
  run: ({ payload: { run_id, equal_margin, alpha }, deps, organization = "", work, signal }) =>
    deps.tournament.play(work, organization, run_id, { alpha, equalMargin: equal_margin }, signal),
  exhausted: ({ payload: { run_id, equal_margin, alpha }, deps, organization = "", work }, error) =>
    deps.tournament.failed(work, organization, run_id, { alpha, equalMargin: equal_margin }, error),
})
