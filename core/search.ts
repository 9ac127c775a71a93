// What plugins import to build an index of their own: postings, segments and their merging. It loads nothing else of core, so
// that threads start quickly.
export { mergedAtOnce, segmentsToMerge } from "./search/merging.ts"
export {
  bitsFor,
  commonOrdinals,
  mergedPostings,
  type Posting,
  Postings,
  partOf,
  parts,
  postingIn,
  readPart,
} from "./search/token-postings.ts"
export { packUuids, uuidAt, uuidBytes, uuidsIn } from "./search/uuids.ts"
export { WordIndex, type WordPostings, wordPostings } from "./search/word-postings.ts"
