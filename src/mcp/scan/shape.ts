import type { FindingKind, Severity } from '../../finding.ts'

/**
 * The shape of an instruction to a model: a sentence in which all of these parts occur, in any order. No part has
 * unbounded repetitions, so that the search takes linear time.
 */
export interface Shape {
  /** A quick check whether the text is in this language at all. */
  readonly gate: RegExp
  readonly kind: FindingKind
  readonly severity: Severity
  readonly message: string
  readonly parts: readonly RegExp[]
}

const MEANINGS = {
  override: ['override', 'high', 'tells the model to ignore its instructions'],
  rank: ['override', 'high', 'claims precedence over the user or the host'],
  obey: ['override', 'high', 'tells the model to obey what a tool returns'],
  secrecy: ['secrecy', 'high', 'tells the model to hide something from the user'],
  consent: ['secrecy', 'medium', 'tells the model to act without asking the user'],
  data: ['exfiltration', 'high', 'asks for the conversation or the system prompt'],
  secrets: ['exfiltration', 'high', 'asks for keys, passwords or files that contain them'],
  outside: ['exfiltration', 'medium', 'asks to send data to an address of its own'],
  first: ['precedence', 'medium', 'asks to be called before every other tool'],
  others: ['precedence', 'medium', 'tells the model not to use other tools'],
} as const satisfies Record<string, readonly [FindingKind, Severity, string]>

export type Ungated = Omit<Shape, 'gate'>

/** A shape of one meaning. */
export function shape(meaning: keyof typeof MEANINGS, ...parts: RegExp[]): Ungated {
  const [kind, severity, message] = MEANINGS[meaning]
  return { kind, severity, message, parts }
}

/** Files that contain keys or passwords, in any language. */
export const SECRET_FILE =
  /~\/\.(?:ssh|aws|env|netrc|gnupg|kube|config|bash_history|npmrc|docker)|\bid_(?:rsa|ed25519|ecdsa)\b(?!\.pub)|\/etc\/(?:passwd|shadow)\b|\.aws\/credentials|\.netrc\b|(?:contents?|read|open|from|values?) (?:of |the |in )*`?\.env\b/
export const ADDRESS = /https?:\/\/|\b[\w.+-]{1,40}@[\w-]{1,40}\.\w/
