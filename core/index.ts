// The entry point of plugins: everything that they may import, as named re-exports.

export { type Action, Actions, defineAction, type Reply, type StepContext } from "./contract/action.ts"
export {
  type AuthModeExample,
  AuthModes,
  defineAuthMode,
  type HandshakeResponse,
  type InboundRequest,
  type Proof,
  type SignedParts,
  type Verdict,
  type VerificationSecret,
  type Verifier,
} from "./contract/auth-mode.ts"
export { allKeys, CacheInvalidation } from "./contract/cache-invalidation.ts"
export { Authenticator, type Caller, type Credentials, credentialsTopic, type Role, roleAtLeast, roles } from "./contract/caller.ts"
export {
  type Channel,
  channelPattern,
  coversChannel,
  defineChannel,
  type HistoryArgs,
  isReservedChannel,
  Live,
  type LiveMessage,
  type PastMessage,
  reservedChannels,
} from "./contract/channel.ts"
export { type CollectionSpec, type Document, defineCollection, type Json } from "./contract/collection.ts"
export { Declarations } from "./contract/declarations.ts"
export { type Envelope, PageEnvelope } from "./contract/envelope.ts"
export { type OperationExample, resultOf } from "./contract/example.ts"
export { Name, Slug, SlugOrId, slugOf, Timestamp, Uuid, uniqueSlug } from "./contract/fields.ts"
export { PublicUrl } from "./contract/inbound.ts"
export { defaultRetry, defineJob, JobQueue, Postponed, type RetryPolicy } from "./contract/job.ts"
export { Leases } from "./contract/lease.ts"
export type { CrossDocumentRule, LintedDocument, LintRule } from "./contract/lint-rule.ts"
export { Listening } from "./contract/listening.ts"
export { Metrics } from "./contract/metrics.ts"
export { defineOperation, type Operation, Operations, type Streamed } from "./contract/operation.ts"
export { Outgoing, type OutgoingCall, type OutgoingCapture, type OutgoingMail } from "./contract/outgoing.ts"
export { OutgoingHttp, type OutgoingRequest, type OutgoingResponse, type OutgoingResult } from "./contract/outgoing-http.ts"
export { type Page, Pager, pageInput } from "./contract/page.ts"
export { RateLimiter, windowSeconds as rateLimitWindowSeconds } from "./contract/rate-limiter.ts"
export { omitReadOnly, readOnlyInput } from "./contract/read-only.ts"
export { definePlugin, type Registrar } from "./contract/registrar.ts"
export type { RehearsalContext, RehearsalFixture, RehearsedConnection } from "./contract/rehearsal.ts"
export { requireRevision } from "./contract/revision.ts"
export { defineRoute, type Route, type RouteRequest, type RouteResponse } from "./contract/route.ts"
export { RowResult } from "./contract/row-result.ts"
export { maxScriptMs, maxScriptResultBytes, type ScriptCall, type ScriptProblem, type ScriptResult, Scripts } from "./contract/sandbox.ts"
export { type DeclaredSchedule, type ScheduledJob, Scheduler, type Timing } from "./contract/schedule.ts"
export { type Collection, type Filter, type NewestWinsWrite, type Sort, Store, type Update, type Write } from "./contract/store.ts"
export { containsTemplate, type Rendered, TemplateSlot, template, templateJson, templateRecord } from "./contract/template.ts"
export { StagedWork, type UnitOfWork, UnitsOfWork } from "./contract/unit-of-work.ts"
export { ViewerTokens } from "./contract/viewer-tokens.ts"
export { measureWaiting } from "./contract/waiting-metrics.ts"
export { networkOf } from "./kernel/client-address.ts"
export { Clock, sleep, timestamp } from "./kernel/clock.ts"
export { type CommandContext, type CommandOption, CommandProblem, type CommandResult, type PluginCommand } from "./kernel/command.ts"
export { type CoreConfig, Settings } from "./kernel/config.ts"
export { sameBytes, sameSecret } from "./kernel/constant-time.ts"
export { type Deps, type Service, type Token, token } from "./kernel/di.ts"
export { AppError, asAppError, type ErrorCode, type ErrorDetails, type FieldProblem } from "./kernel/errors.ts"
export { FairLimiter, type FairLimiterOptions, type LimitedWork } from "./kernel/fair-limiter.ts"
export { FairScheduler, type FairSchedulerOptions, type Share, type Turn } from "./kernel/fair-scheduler.ts"
export { nearest } from "./kernel/guess.ts"
export { derivedUuid, derivedUuidInOrder, Ids, isUuid } from "./kernel/ids.ts"
export { Log, type Logger } from "./kernel/log.ts"
export { defineReasons, type Reason, type ReasonSpec, type Reasons } from "./kernel/reasons.ts"
export { isSecretName } from "./kernel/secret-names.ts"
export { fromHeaders, inSpan, type Span, traceHeaders } from "./kernel/tracing.ts"
export { type Sealed, Vault } from "./kernel/vault.ts"
export { notUtf8, utf8Text } from "./pipeline/utf8.ts"
