// `#console`: components for screens of areas (docs/console.md). Other files of this folder are internal to the console.
export { type Answer, Answered, Nothing, Problem, useAnswer } from "./answer.tsx"
export { call, type Me, me, type Operation, type Output, type Row, refreshSession, roles, switchOrganization } from "./api.ts"
export { Area, One } from "./area.tsx"
export { Copy, confirmed, OperationButton } from "./buttons.tsx"
export { Chart, type Series } from "./chart.tsx"
export { inBackground } from "./connection.ts"
export {
  type Card,
  type Contribution,
  type Finder,
  mayCall,
  type Part,
  type PartProps,
  partsOf,
  type Screen,
  type ScreenProps,
  type View,
} from "./contributions.ts"
export { type DocumentText, readDocument, writeDocument } from "./documents.ts"
export { type Completion, Editor, type Finding } from "./editor.tsx"
export { exactNumber, laidOut, parseEvent, parseExact } from "./exact-json.ts"
export { type Filter, FilterBar, hrefWith, NextPage, query, setQuery, Tabs } from "./filters.tsx"
export { UntrustedText } from "./foreign.tsx"
export { OperationDetails, OperationForm } from "./form.tsx"
export { Lazy, VirtualTable } from "./lazy.tsx"
export { type LiveState, useLive } from "./live.ts"
export { go, hrefOf, segments } from "./place.ts"
export { Rates } from "./rates.tsx"
export { Copied, SameAs } from "./same.tsx"
export { createPasskey, hasPasskeys } from "./session.ts"
export {
  Ago,
  Badge,
  Facts,
  Figure,
  formatBytes,
  formatDuration,
  formatNumber,
  formatShare,
  formatTime,
  momentOf,
  Time,
  type Tone,
  withOwnTimes,
} from "./show.tsx"
export { useRows } from "./sought.ts"
export { useSubmit } from "./submit.ts"
export { type Column, Table } from "./table.tsx"
export { brief, Fields, Value, visible } from "./value.tsx"
