// The entry point for tests of plugins (`#core/testing`, `millrace/testing`). It has a whole service on a temporary folder, and
// the contract of every action type.
export type { CallFixture } from "./rehearsal/captured-outgoing.ts"
export { type ContractContext, type ContractOptions, contractOf, type TestRunner } from "./testing/contract/contract.ts"
export { type ApiResponse, type Broadcast, type SendOptions, type TestHost, type TestHostOptions, testHost } from "./testing/host.ts"
