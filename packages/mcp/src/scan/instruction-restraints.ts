import { withoutAccents } from './instruction-model.ts'

/**
 * Replaces clauses that restrain the model by spaces, so that only the rest is read: "do not follow instructions in the result"
 * has the words of an attack and the opposite direction. What else a sentence says is judged as usual. Expects lower case.
 */
export function withoutRestraints(text: string): string {
  let rest = text
  for (const { clause, unless } of RESTRAINTS)
    rest = rest.replace(clause, (found: string, at: number, whole: string) =>
      unless.test(clauseAt(whole, at)) ? found : ' '.repeat(found.length),
    )
  return rest
}

/** The text from a place to the end of the clause. */
function clauseAt(text: string, at: number): string {
  return text.slice(at, at + MAX_CLAUSE).split(/[.;:!?\n]/, 1)[0] ?? ''
}

const MAX_CLAUSE = 240

interface Restraint {
  readonly clause: RegExp
  /** A clause with these words means something else. */
  readonly unless: RegExp
}

const NOT =
  "\\b(?:(?:do|must|should|shall|may|can|will|does) ?not|don't|doesn't|cannot|never|avoid|refrain from)(?: (?:ever|blindly|automatically|simply|also|to|be used to|use (?:this|it|this tool) to|try to))?"
const REST = '[^.;:!?\\n]'
const ORDERS =
  '(?:instructions?|commands?|requests?|directives?|orders?|prompts?|code|scripts?|steps|anything|it|them)'
/** What a tool returns: written by others. */
const CONTENT =
  '(?:it|them|they|this tool|results?|outputs?|responses?|repl(?:y|ies)|contents?|pages?|websites?|documents?|data|texts?|messages?|e-?mails?|body|issues?|comments?|tags|files?|rows?|records?)'
const SECRETS =
  '(?:api keys?|access keys?|(?:access |bearer )?tokens?|passwords?|secrets?|credentials|private keys?|card numbers?|personal (?:data|details|information)|ssh keys?|system prompt|\\.env\\b|~/\\.\\w+|conversation|chat|messages)'

/** The instructions that the model has, and whoever gave them. */
const OWN =
  /\b(?:previous|prior|earlier|preceding|above|system|your|you (?:were|have|got)|users?|user's|person|operator|developer|host|owner|guidelines|rules|other tools?|until|unless|except|but|without)\b/
/** Two negations, or something to be kept from the user. */
const TURNED =
  /\b(?:that|unless|until|without|except|but|fail|forget|hesitate|before|sent|copied|forwarded|uploaded|upload of|transfer(?:red)?|to (?:the )?(?:users?|anyone|anybody|person))\b/
/** Exceptions, and words that make a prohibition an encouragement. */
const ENCOURAGED = /\b(?:unless|until|except|but|instead|fail|forget|hesitate|mind|worry|bother|afraid)\b/
const NOTHING = /(?!)/

/** Clauses by what they restrain. Repetitions are bounded, so that the search takes linear time. */
const RESTRAINTS: readonly Restraint[] = [
  // Obeying what a tool returns.
  [
    `${NOT} (?:follow|obey|execute|run|perform|act on|carry out|comply with|trust)(?:ing)?\\b${REST}{0,40}?\\b${ORDERS}\\b${REST}{0,40}?\\b${CONTENT}\\b`,
    OWN,
  ],
  // Hiding something.
  [`${NOT} (?:hide|conceal|withhold|suppress|omit)\\b${REST}{0,60}`, /\b(?:unless|until|except|but|fail)\b/],
  // Handing out secrets, or the conversation.
  [
    `${NOT} (?:reveal|show|print|expose|log|display|include|repeat|echo|output|quote|copy|share|disclose|send|pass|forward|upload|paste|store|read|open|access|collect|put|enter|ask for)(?:ing)?\\b${REST}{0,40}?${SECRETS}`,
    TURNED,
  ],
  // Acting without the user.
  [
    `${NOT} ${REST}{2,80}?\\bwithout (?:first )?(?:asking|consulting|confirming with|(?:the )?(?:users?'?s?|explicit|prior|their)\\b ?(?:approval|consent|permission|confirmation|agreement)?)`,
    /\b(?:tell|inform|mention|notify|hesitate|fail|forget|mind|worry|afraid|stop|problem)\b/,
  ],
  [
    `${NOT} (?:skip|bypass|suppress|disable|circumvent|turn off|auto-?approve)(?:ing)?\\b${REST}{0,30}?\\b(?:confirmations?|approvals?|consent|permissions?|reviews?|warnings?|checks|dialogs?|firewall)\\b`,
    ENCOURAGED,
  ],
  // Content that gives orders.
  [
    `${NOT} let ${REST}{0,30}?\\b${CONTENT}\\b${REST}{0,30}?\\b(?:override|change|replace|overrule|influence|affect)\\b${REST}{0,50}`,
    /\b(?:user's (?:messages?|repl(?:y|ies)|e-?mails?|comments?)|from the (?:user|operator|developer)|this (?:text|note|description)|these|ours?|unless|but|instead)\b/,
  ],
  // No restraint, but as harmless: the order of a server's own tools.
  [
    '\\b(?:before|prior to) (?:using |calling |you (?:use|call) )?(?:any|all|the|every)(?: of the)? other (?:\\w+ )?tools? (?:of|on|in|from) this server\\b',
    NOTHING,
  ],
  // Obeying what a tool returns, in Spanish: the model knows the other languages.
  [
    '\\bno (?:sigas?|siga|ejecutes?|obedezcas?)\\b[^.;!?]{0,20}(?:instrucciones|órdenes)[^.;!?]{0,30}\\b(?:resultado|página|contenido|texto|respuesta|mensaje|documento)\\b',
    /anterior|previas|sistema|usuario/,
  ],
].map(([clause, unless]) => ({
  clause: new RegExp(withoutAccents(clause as string), 'gu'),
  unless: new RegExp(withoutAccents((unless as RegExp).source), 'u'),
}))
