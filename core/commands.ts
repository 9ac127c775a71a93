// Exports for commands of plugins, in addition to #core: the service they call, and rehearsals of pipelines without a service.

export { frameworkRoot } from "./bootstrap/plugins.ts"
export { openVault } from "./bootstrap/vault.ts"
export { type Reading, readGiven } from "./cli/given-file.ts"
export { type JunitCase, type JunitSuite, junitXml } from "./cli/junit.ts"
export { chosenTarget, type ServiceOptions, serviceCalls } from "./cli/own-service.ts"
export type { Target } from "./cli/profiles.ts"
export { isStartedAgain, startedAgain } from "./cli/started-again.ts"
export { connectLive } from "./client/live.ts"
export type { CoreConfig } from "./kernel/config.ts"
export { parsedJson } from "./kernel/json.ts"
export { print, printError, type Terminal } from "./kernel/terminal.ts"
export type { CapturedOutgoing } from "./rehearsal/captured-outgoing.ts"
export { type LocalCompiler, openCompiler } from "./rehearsal/compiler.ts"
export { asJson, type EventOutcome, type HarnessRow, type MadePipeline, PipelineHarness, type SentEvent } from "./rehearsal/harness.ts"
export { type Difference, differences, kinds, matcherNames, writtenMatcher } from "./rehearsal/matching.ts"
export { Rehearsal } from "./rehearsal/rehearsal.ts"
export {
  type CannedAnswer,
  EventDocument,
  type Expectations,
  type Fixture,
  type TestDocument,
  TestFile,
} from "./rehearsal/test-document.ts"
