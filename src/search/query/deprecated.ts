import type { Listing } from '../../tool.ts'

/** A note of this kind is at the head of a description. */
const MAX_CHARACTERS = 400

/** `DEPRECATED: …`, `(Deprecated)`, `⚠️ Obsolete. …`: a label at the start of a sentence or in brackets. */
const LABEL =
  /(?:^|[.!?\n([*])[^\p{L}\p{N}]*(?:deprecated|obsolete)(?:\s*(?:[:.;!)\]*\n]|$|, (?:please |use |see ))|\s+[–—-]\s)/iu

/** `Legacy tool: …`, `[Legacy] …`: only at the very start, since the word has other uses. */
const LEGACY = /^[^\p{L}\p{N}]*legacy(?: tool)?\s*[:)\]–—]/iu

/** `This endpoint is deprecated.` */
const SENTENCE =
  /\bthis (?:tool|endpoint|function|method|operation|api|action|command) (?:is|has been|was) (?:now )?(?:deprecated|obsolete|superseded|retired)\b/i

/** `Use read_text_file instead.` as the first sentence, without a condition after it. */
const ELSEWHERE = /^[^\p{L}\p{N}]*(?:please )?use [`'"]?[\w./-]+[`'"]?(?: tool)? instead\s*(?:[.!;\n]|$)/iu

/**
 * Whether a listing says of itself that it should not be used any more. A tool whose job is deprecation ("checks if
 * packages are deprecated") does not say that of itself.
 */
export function isDeprecated({ description }: Listing): boolean {
  const head = description.slice(0, MAX_CHARACTERS)
  return LABEL.test(head) || LEGACY.test(head) || SENTENCE.test(head) || ELSEWHERE.test(head)
}

/** Whether a request is about deprecated things, so that a note about it is no reason against a tool. */
export function asksForDeprecated(words: readonly string[]): boolean {
  return words.some((word) => /deprecat|obsolete|legacy/i.test(word))
}
