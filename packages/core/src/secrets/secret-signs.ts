/** Whether a value with this name (`--access-token`, `clientSecret`, `API_KEY`) is likely a secret. */
export function isSecretName(name: string): boolean {
  return LONG_WORD.test(name) || SHORT_WORD.test(name) || CAMEL_WORD.test(name)
}

const SUFFIX = '(?:[-_.]?(?:value|id|base|b64|base64))?$'
/** Words that mark a secret at the end of any name. */
const LONG_WORD = new RegExp(
  `(?:token|secret|password|passwd|passphrase|pwd|credentials?|jwt|(?:access|account|api|auth|client|encryption|private|secret|shared|signing)[-_.]?key)${SUFFIX}`,
  'i',
)
/** Short words that other words end with: `monkey`, `compass`. */
const SHORT_WORD = new RegExp(
  `(?:^|[-_.])(?:pass|pat|pw|auth|authorization|bearer|cookie|signature|sig|key)${SUFFIX}`,
  'i',
)
const CAMEL_WORD = /[a-z](?:Key|Pass|Auth)$/

/** Tokens with a known prefix. */
export const SECRET_TOKEN =
  /(?<![A-Za-z0-9])(?<value>(?:gh[pousr]_|github_pat_|glpat-|sk-|sk_live_|xox[abprs]-|AKIA|AIza|npm_|eyJ[\w-]{1,400}\.)(?=[\w.-]{0,100}\d)[\w.-]{12,})/dg

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether a part of a URL looks like a key: long, unbroken, with letters and digits mixed. */
export function looksRandom(part: string): boolean {
  if (UUID.test(part)) return true
  const runs = part.match(/[A-Za-z0-9+=]{16,}/g) ?? []
  return runs.some((run) => /[A-Za-z]/.test(run) && (run.match(/\d/g) ?? []).length >= 2)
}
