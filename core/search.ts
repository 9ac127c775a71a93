// Parts of a search index for plugins: postings, segments and their merging. Threads start quickly, because these parts load
// no other module of core.
export { mergedAtOnce, segmentsToMerge } from "./search/merging.ts"
export { packUuids, uuidAt, uuidBytes, uuidsIn } from "./search/packing.ts"
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
export { WordIndex, type WordPostings, wordPostings } from "./search/word-postings.ts"
