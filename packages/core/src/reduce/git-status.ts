const MAX_FILES = 10

/** Condenses `git status`, long or short, to counts and the first files of each kind; undefined for other text. */
export function condenseGitStatus(text: string): string | undefined {
  if (
    /^(?:On branch |HEAD detached |Not currently on any branch|(?:interactive )?rebase in progress)/.test(
      text,
    )
  )
    return condenseLong(text)
  return condenseShort(text)
}

const SECTION =
  /^(Changes to be committed|Changes not staged for commit|Untracked files|Unmerged paths|Ignored files):$/
const HINT = /^ *\((?:use|commit or discard) .*\)$/

function condenseLong(text: string): string | undefined {
  const out: string[] = []
  let section: { title: string; files: string[] } | undefined
  const closeSection = () => {
    if (section) out.push(...describe(section.title, section.files))
    section = undefined
  }
  for (const line of text.split('\n')) {
    const title = SECTION.exec(line)?.[1]
    if (title !== undefined) {
      closeSection()
      section = { title, files: [] }
    } else if (section && line.startsWith('\t')) section.files.push(line.trim())
    else if (line.trim() !== '' && !HINT.test(line)) {
      closeSection()
      out.push(line)
    }
  }
  closeSection()
  return withNote(out, text)
}

const SHORT_LINE = /^(?:## .+|(?:\S[ \S]| \S) \S.*)$/
const SHORT_CODE = /^[ MTADRCU?!]{2} /
const CODES = new Map([
  ['??', 'Untracked files'],
  ['!!', 'Ignored files'],
])

function condenseShort(text: string): string | undefined {
  const lines = text.split('\n').filter((line) => line !== '')
  const isStatus = lines.every(
    (line) => SHORT_LINE.test(line) && (line.startsWith('## ') || SHORT_CODE.test(line)),
  )
  if (!isStatus || lines.length <= MAX_FILES) return undefined
  const sections = new Map<string, string[]>()
  const out: string[] = []
  for (const line of lines) {
    if (line.startsWith('## ')) {
      out.push(line)
      continue
    }
    const title = CODES.get(line.slice(0, 2)) ?? `Status "${line.slice(0, 2)}"`
    sections.set(title, [...(sections.get(title) ?? []), line.slice(3)])
  }
  for (const [title, files] of sections) out.push(...describe(title, files))
  return withNote(out, text)
}

function describe(title: string, files: readonly string[]): string[] {
  const shown = files.slice(0, MAX_FILES).map((file) => `  ${file}`)
  const more = files.length - shown.length
  return [`${title} (${files.length}):`, ...shown, ...(more > 0 ? [`  … and ${more} more`] : [])]
}

function withNote(lines: readonly string[], text: string): string {
  const hasMore = lines.some((line) => line.startsWith('  … and '))
  const note = hasMore ? ['[condensed; run git status with a path to list every file there]'] : []
  const condensed = [...lines, ...note].join('\n')
  return condensed.length < text.length ? condensed : text
}
