// Limits of what one process has under way hold for all workers together, so each has its share. (Limits that clients are
// told of are counted together: contract/tally.ts.)
import type { CoreConfig } from "../../kernel/config.ts"

export function shareOf(config: CoreConfig, { slot, workers }: { readonly slot: number; readonly workers: number }): CoreConfig {
  const { inbound } = config
  const part = (whole: number) => Math.floor(whole / workers) + (slot < whole % workers ? 1 : 0)
  const some = (whole: number) => Math.max(1, part(whole))
  return {
    ...config,
    // One is enough, and two would apply the same change.
    pipelines: { ...config.pipelines, watch: config.pipelines.watch && slot === 0 },
    inbound: {
      ...inbound,
      max_in_flight: some(inbound.max_in_flight),
      max_in_flight_per_organization: some(inbound.max_in_flight_per_organization),
      max_in_flight_per_pipeline: some(inbound.max_in_flight_per_pipeline),
      rejected_entries_per_minute: part(inbound.rejected_entries_per_minute),
    },
  }
}
