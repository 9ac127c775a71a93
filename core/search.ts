// Exports parts of a search index for plugins: postings, segments and their merging. These parts import no other module of core,
// so threads start quickly.
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
