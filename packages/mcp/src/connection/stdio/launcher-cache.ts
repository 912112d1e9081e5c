import type { Launcher } from './launcher.ts'

/**
 * Explains an exit that a damaged cache of a launcher caused, and names what mends it; undefined for any other exit.
 * Such a cache fails in every program that starts the same package, until somebody removes it. `conceal` removes secrets
 * from what the launcher said.
 */
export function describeBrokenCache(
  lastWords: string,
  home: string | undefined,
  conceal = (text: string) => text,
): string | undefined {
  const lines = lastWords.split('\n').map((line) => line.trim())
  for (const { launcher, sign, folder, mend } of BROKEN) {
    const at = lines.findIndex((line) => sign.test(line))
    if (at < 0) continue
    const path = lines
      .slice(at, at + NEAR_LINES)
      .map((line) => folder.exec(line)?.[1])
      .find((found) => found !== undefined)
    if (path === undefined) continue
    const said = conceal(lines[at] ?? '').slice(0, MAX_SAID)
    return `its package in the cache of ${launcher} is incomplete: ${said}; ${mend(shortened(path, home))}`
  }
  return undefined
}

/** The warning after a launcher had to be killed while it may have been installing. */
export function describeCutOff({ name, cache }: Launcher): string {
  const place = cache === undefined ? '' : `: see ${cache}`
  return `${name} did not end after SIGTERM while it was installing, so it was killed; what it was writing may be broken${place}`
}

const BROKEN: readonly {
  readonly launcher: string
  readonly sign: RegExp
  /** The folder to remove, on the same line or soon after it. */
  readonly folder: RegExp
  readonly mend: (folder: string) => string
}[] = [
  {
    launcher: 'npx',
    sign: /Cannot find (?:package|module) |^npm (?:error|ERR!) code (?:ENOTEMPTY|ENOENT)\b|\b(?:ENOTEMPTY|ENOENT)\b.*[/\\]_npx[/\\]/,
    // From its beginning: a part of it would be another folder.
    folder: /(?:(?<![^\s'"(])|file:\/\/)((?:[A-Za-z]:)?[/\\][^\s'":]*[/\\]_npx[/\\][0-9a-f]{8,})/,
    mend: (folder) => `remove it, and the next start downloads it again: rm -rf ${folder}`,
  },
  {
    launcher: 'uv',
    sign: /no such file|corrupt|deserialize/i,
    folder: /([/\\][^'":`]*[/\\]uv[/\\](?:archive|builds|environments|sdists|simple|wheels)-v\d+)/,
    mend: () => 'clean it, and the next start downloads it again: uv cache clean',
  },
]

/** A stack, or npm, names the folder within this many lines of the reason. */
const NEAR_LINES = 6
const MAX_SAID = 300

/** The folder as a person would type it, with `~` for the home folder. */
function shortened(path: string, home: string | undefined): string {
  if (!/^[\w@%+=:,./~-]+$/.test(path)) return `'${path.replaceAll("'", "'\\''")}'`
  return home && home !== '/' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
