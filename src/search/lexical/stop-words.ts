/**
 * Words that say nothing about what a tool does: grammar and polite phrases. They are removed from long texts and
 * queries, but not from names and hints, where someone chose them.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  [
    'a an and are as at be been being but by for from has have had having he her here hers him his how i if in into is',
    'it its itself me my myself no nor not of off on or our ours out over own she so some such than that the their',
    'them then there these they this those through to too under until up very was we were what when where which while',
    'who whom why will with would you your yours am do does did doing can could should just let please',
    'about above after again all also any because before below between both down during each few further more most',
    'now once only other same',
    's t d ll m re ve don didn doesn isn aren wasn couldn won wouldn shouldn im id ive',
    'want need like know tell help able thank thanks hi hello hey hope looking',
  ]
    .join(' ')
    .split(' '),
)
