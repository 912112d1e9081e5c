/** A kind of output: how to recognise it, and which of its lines only report success. */
interface Kind {
  readonly marks: readonly RegExp[]
  readonly routine: RegExp
  readonly what: string
}

// Every expression is tested on one short line at a time, which keeps long output cheap.
const TEST_RUN: Kind = {
  marks: [
    /^ *Tests:? +.*\d+ (?:passed|failed)/,
    /^(?:#|ℹ) (?:pass|fail) \d+$/,
    /^=+ .*\d+ (?:passed|failed|error).* in [\d.]+s/,
    /^test result: /,
    /^(?:ok|FAIL|---) +\t?\S+.*[\d.]+s\)?$/,
    /^ +\d+ (?:passing|failing)\b/,
    /^(?:Passed|Failed)! +- Failed: +\d+,/,
  ],
  routine:
    /^ *(?:[✓✔√] |ok \d+ - |# Subtest: |PASS |--- PASS|=== (?:RUN|PAUSE|CONT)|duration_ms: |test .+ \.\.\. ok$|.+::.+ PASSED|Passed \S.* \[[<\d .]+ m?s\]$)|^ +(?:---|\.\.\.|type: 'test')$|^\S+\.py [.sx]+ +\[ *\d+%\]$/,
  what: 'lines about passing tests',
}

const ROUTINE_INSTALL = 'routine lines of the install'
const ROUTINE_BUILD = 'routine lines of the build'

// One entry per package manager: a line that is routine in one's output may matter in another's.
const INSTALLS: readonly Kind[] = [
  {
    marks: [/^(?:added|removed|changed|up to date)\b.*\bpackages?\b/],
    routine: /^npm (?:(?:warn|WARN) (?:deprecated|Unknown)|(?:http|timing|sill|verb) )/,
    what: ROUTINE_INSTALL,
  },
  {
    marks: [/^yarn (?:install|add) v\d/, /^success Saved lockfile/, /^\[\d\/\d\] Resolving packages/],
    routine: /^(?:info |\[\d\/\d\] )/,
    what: ROUTINE_INSTALL,
  },
  {
    marks: [/^Progress: resolved \d+/],
    routine: /^(?:Progress: |Packages: |\++$|Downloading | *WARN +deprecated )/,
    what: ROUTINE_INSTALL,
  },
  {
    marks: [/^bun (?:install|add) v\d/, /^\d+ packages? installed \[/],
    routine: /^(?: *\+ \S+@|Resolving dependencies|Resolved, downloaded|Saved lockfile)/,
    what: ROUTINE_INSTALL,
  },
  {
    marks: [/^Successfully installed /, /^(?:Requirement already satisfied|Installing collected packages): /],
    routine:
      /^(?:Collecting |Downloading |Using cached |Requirement already satisfied|Processing |Looking in |Installing collected packages|Building wheel|Created wheel|Preparing metadata|Stored in directory|WARNING: Retrying )|^ +(?:Downloading|Using cached|Preparing|Getting|Installing|Building|Created|Stored|━)/,
    what: ROUTINE_INSTALL,
  },
  {
    marks: [/^Setting up \S+ \(/],
    routine: /^(?:Get:\d|Hit:\d|Selecting |Preparing to unpack|Unpacking |Setting up |Processing triggers)/,
    what: ROUTINE_INSTALL,
  },
  {
    marks: [/^ *(?:Compiling|Downloaded) \S+ v\d/],
    routine:
      /^ +(?:Compiling|Downloading|Downloaded|Updating|Locking|Adding|Checking|Fresh|Installing|Building)/,
    what: ROUTINE_INSTALL,
  },
  {
    marks: [/^(?:Resolved|Prepared|Installed|Uninstalled|Audited) \d+ packages? in /],
    routine: /^ *(?:[+~-] \S+==|(?:Downloading|Downloaded|Building|Built|Updating|Updated) )/,
    what: ROUTINE_INSTALL,
  },
  {
    marks: [/^Package operations: \d+ install/, /^Installing dependencies from lock file/],
    routine: /^ +[-•] (?:Installing|Updating|Downgrading|Removing) |^(?:Resolving|Updating) dependencies/,
    what: ROUTINE_INSTALL,
  },
  {
    marks: [/^Bundle (?:complete|updated)!/, /^Fetching gem metadata from /],
    routine: /^(?:(?:Fetching|Using|Installing) \S+ \d|Fetching gem metadata|Resolving dependencies)/,
    what: ROUTINE_INSTALL,
  },
  {
    marks: [/^==> (?:Fetching|Downloading|Pouring|Installing) /],
    routine:
      /^(?:==> (?:Fetching|Downloading|Pouring|Auto-updated) |Already downloaded: |#+(?: *\d[\d.]*%)?$)/,
    what: ROUTINE_INSTALL,
  },
  {
    marks: [/^ *Determining projects to restore/, /^info : (?:Adding PackageReference|Restoring packages) /],
    routine: /^ *(?:Determining projects|Restored |All projects are up-to-date|info : |[\w.]+ -> )/,
    what: ROUTINE_BUILD,
  },
  {
    marks: [/^\[INFO\] (?:BUILD \w+|Scanning for projects)/],
    routine:
      /^(?:\[INFO\] )?(?:Downloading|Downloaded) from |^\[INFO\] *(?:-+(?:[<[].*)?|--- .+|Scanning for .+|Building (?!failed).*|Nothing to compile.*|Using '.+|Copying \d+ .+|(?:skip|Skipping) .+|Changes detected.*|Compiling \d+ .+)?$/,
    what: ROUTINE_BUILD,
  },
  {
    marks: [/^BUILD \w+ in \d/, /^> Task :\S/],
    routine:
      /^(?:> Task :\S+(?: (?:UP-TO-DATE|NO-SOURCE|FROM-CACHE|SKIPPED))?$|Download(?:ing)? https?:|> (?:IDLE|Configure |:)|Starting a Gradle Daemon|<[-=]+> )/,
    what: ROUTINE_BUILD,
  },
]

/** Lines that match are never routine, though the name of a passing test may match too. */
const TROUBLE = /error|fail|fatal|denied|crash/i

const MIN_LINES_LEFT_OUT = 5
/** Longer lines are never routine, and too expensive to match. */
const MAX_LINE_CHARS = 500

/** Removes the routine lines of a test run or an install; undefined for other text, or if that saves little. */
export function withoutRoutine(text: string): string | undefined {
  const lines = text.split('\n')
  const short = lines.filter((line) => line.length <= MAX_LINE_CHARS)
  const kind = [TEST_RUN, ...INSTALLS].find(({ marks }) =>
    short.some((line) => marks.some((mark) => mark.test(line))),
  )
  if (kind === undefined) return undefined
  const isRoutine = (line: string) =>
    line.length <= MAX_LINE_CHARS && kind.routine.test(line) && (kind === TEST_RUN || !TROUBLE.test(line))
  const kept = lines.filter((line) => !isRoutine(line))
  const leftOut = lines.length - kept.length
  if (leftOut < MIN_LINES_LEFT_OUT) return undefined
  return `[${leftOut} ${kind.what} left out; run a smaller part to see them]\n${collapseBlanks(kept)}`
}

function collapseBlanks(lines: readonly string[]): string {
  return lines.filter((line, index) => line.trim() !== '' || lines[index - 1]?.trim() !== '').join('\n')
}
