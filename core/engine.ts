// Exports for plugins close to the engine. Some drive pipelines (compiler, journal, intakes). Some show the service's own records
// (queue, audit log). Others implement ports of core (authenticator, outgoing traffic, rehearsals, metrics).

export { Actions, type Reply } from "./contract/action.ts"
export { AuthModes, type SignedParts } from "./contract/auth-mode.ts"
export {
  Authenticator,
  type Credentials,
  credentialsTopic,
  type ManagementLink,
  type Role,
  roles,
  type SignIn,
  sessionCookie,
  sessionCookieOf,
} from "./contract/caller.ts"
export { decidingRight } from "./contract/caller-kind.ts"
export { channelPattern, type HistoryArgs, isReservedChannel, type PastMessage, ViewerTokens } from "./contract/channel.ts"
export type { CollectionSpec } from "./contract/collection.ts"
export { type DeclaredGate, declaredGates } from "./contract/declared-gates.ts"
export { noUserAgent, PageEnvelope, type UserAgentClass, UserAgents } from "./contract/envelope.ts"
export {
  type Decision,
  type Failure,
  type FiledApproval,
  Gatekeeper,
  type HeldWork,
  type Receipt,
  requesterOf,
  risks,
} from "./contract/gate.ts"
export { Jobs, sealContext as jobSealContext } from "./contract/job.ts"
export type { CrossDocumentRule, LintedDocument } from "./contract/lint-rule.ts"
export { Metrics, measureWaiting } from "./contract/metrics.ts"
export { Operations, type OperationTool, OperationTools, type Streamed } from "./contract/operation.ts"
export { isOperatorCredential, operatorPurpose, readOperatorCredential } from "./contract/operator.ts"
export { importedAtStart, Outgoing, type OutgoingCall, type OutgoingCapture, type OutgoingMail } from "./contract/outgoing.ts"
export type { OutgoingResult } from "./contract/outgoing-http.ts"
export type { Page } from "./contract/pagination.ts"
export { type Pause, Pauses } from "./contract/pauses.ts"
export { windowSeconds as rateLimitWindowSeconds } from "./contract/rate-limiter.ts"
export { Declarations } from "./contract/registrar.ts"
export type { RehearsalContext, RehearsedConnection } from "./contract/rehearsal.ts"
export { type DeclaredResource, Resources } from "./contract/resource.ts"
export { type StoredTrash, type StoredVersion, TrashCollection, VersionCollection } from "./contract/resource-history.ts"
export { Listening, Services } from "./contract/services.ts"
export type { FindOptions, Sort } from "./contract/store.ts"
export { StagedWork } from "./contract/unit-of-work.ts"
export { JobCollection, type JobDocument } from "./jobs/jobs-collection.ts"
export type { Outcome as CallOutcome } from "./kernel/breaker.ts"
export { networkOf } from "./kernel/client-address.ts"
export { giveUpAfter, sleep, systemClock } from "./kernel/clock.ts"
export { type CommandContext, type CommandOption, serviceOptions } from "./kernel/command.ts"
export { BootError, type CoreConfig } from "./kernel/config.ts"
export { Destinations } from "./kernel/destinations.ts"
export type { Service, Token } from "./kernel/di.ts"
export type { ErrorCode, ErrorDetails, FieldProblem } from "./kernel/errors.ts"
export { FairLimiter } from "./kernel/fair-limiter.ts"
export type { Share } from "./kernel/fair-scheduler.ts"
export { GenerationCache } from "./kernel/generation-cache.ts"
export { didYouMean, nearest } from "./kernel/guess.ts"
export { canonicalJson } from "./kernel/json.ts"
export { runOutsideRequests } from "./kernel/request-scope.ts"
export { roundedInteger } from "./kernel/rounded-integer.ts"
export { namesSecret, redacted, redactSecrets } from "./kernel/secret-names.ts"
export { redactedText } from "./kernel/text-redaction.ts"
export { traceHeaders } from "./kernel/tracing.ts"
export { fieldProblems } from "./kernel/zod-problems.ts"
export { type AcceptedEvent, AcceptedEvents } from "./pipeline/accepted-events.ts"
export { literalConfig, schemaProblems } from "./pipeline/compile/config.ts"
export { acceptsFiles, documentFields, isFedFromInside, PipelineDocument, PipelineState, Purpose, SourceKind } from "./pipeline/document.ts"
export { documentSchema } from "./pipeline/document-schema.ts"
export { type DryRun, type EventResult, PipelineEngine, type SenderRequest } from "./pipeline/engine.ts"
export { type FormFields, formToObject, isJsonText, readForm } from "./pipeline/event/form.ts"
export { EventFiles, type FileKeeper, type FileReference, type FilesOfEvent, type ReceivedFile } from "./pipeline/event-files.ts"
export { childPointer, codeFrame, type Finding, type RuleId, rules } from "./pipeline/findings.ts"
export type { Graph, Step } from "./pipeline/graph.ts"
export { type Arrival, type Intake, Intakes, type ReplayArgs } from "./pipeline/intake.ts"
export { EntryCollection, LateEntryCollection, lateMs } from "./pipeline/journal/collections.ts"
export { previewOfValue } from "./pipeline/journal/draft.ts"
export { type JournalEntry, pastAnnouncement } from "./pipeline/journal/entry.ts"
export { retainedEntry, storedPayload, storedPayloads } from "./pipeline/journal/kept.ts"
export type { FileAmongOthers } from "./pipeline/lint/across.ts"
export { notUtf8, parseText, utf8Text } from "./pipeline/parse.ts"
export { type SettledEvent, SettledEvents } from "./pipeline/settled-events.ts"
export { PipelineSource, pipelineTopic, type StoredPipeline } from "./pipeline/source.ts"
export { type RequestStamp, taggedAsTest } from "./pipeline/stamp/stamp.ts"
export type { PlacedRead } from "./pipeline/template.ts"
export { ConfinedChild } from "./process/confined-child.ts"
export { ConfinedThread } from "./process/confined-thread.ts"
export { OnDemand } from "./process/on-demand.ts"
export { type Exit, PeerLost } from "./process/peer.ts"
export { AuditLog, type AuditRecord, PersonalAuditLog } from "./surface/call/audit.ts"
export { authorise, isAuthorised, requireFreshSignIn, requireOrganization } from "./surface/call/authorise.ts"
export { wireSchema } from "./surface/wire-schema.ts"
