/**
 * Explains why a launcher could not fetch a server, and names the next step; undefined for other failures. `lastWords`
 * are what the launcher wrote, without secrets.
 */
export function describeLauncherFailure(lastWords: string): string | undefined {
  for (const [sign, describe] of FAILURES) {
    const [found, ...parts] = sign.exec(lastWords) ?? []
    if (found !== undefined) return describe(...parts.map((part = '') => part.slice(0, MAX_PART)))
  }
  return undefined
}

type Failure = readonly [sign: RegExp, describe: (...parts: string[]) => string]

const NPM = '^npm (?:error|ERR!) '
const NETWORK = 'ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ECONNRESET|ENETUNREACH'

const FAILURES: readonly Failure[] = [
  [
    new RegExp(`${NPM}404 +(?:The requested resource )?'(@?[^@'\\n]+)@[^'\\n]*'`, 'm'),
    (name = '') =>
      `package "${name}" does not exist in the npm registry; correct its name in "args", or sign in with "npm login" if it is private`,
  ],
  [
    new RegExp(`${NPM}notarget No matching version found for (\\S+?)\\.?$`, 'm'),
    (wanted = '') => `the npm registry has no "${wanted}"; correct the version in "args"`,
  ],
  [
    new RegExp(`${NPM}could not determine executable to run`, 'm'),
    () => 'its npm package contains no program; check the name of the package in "args"',
  ],
  [
    new RegExp(`${NPM}code (${NETWORK})$`, 'm'),
    (code = '') => `the npm registry cannot be reached (${code}); check the network, and the proxy of npm`,
  ],
  [
    /Because (\S+) was not found in the package registry/,
    (name = '') => `package "${name}" does not exist in the Python package index; correct its name in "args"`,
  ],
  [
    /Because there is no version of (\S+) and/,
    (wanted = '') => `the Python package index has no "${wanted}"; correct the version in "args"`,
  ],
  [
    /^error: (?:Failed to fetch|Request failed after \d+ retries)\b|^\s*Caused by: .*\bdns error\b/m,
    () => 'the Python package index cannot be reached; check the network and the proxy',
  ],
  [
    /pull access denied for (\S+?), repository does not exist/,
    (image = '') =>
      `image "${image}" does not exist; correct its name in "args", or sign in with "docker login" if it is private`,
  ],
  [/Cannot connect to the Docker daemon/i, () => 'Docker is not running; start it'],
]

/** Names are shorter; what a launcher prints may not be. */
const MAX_PART = 200
