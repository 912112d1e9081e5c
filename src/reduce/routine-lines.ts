/** A kind of output: how to know it, and which of its lines say only that all is well. */
interface Kind {
  readonly marks: readonly RegExp[]
  readonly routine: RegExp
  readonly what: string
}

// Every expression is tested on one short line at a time, so that long output stays cheap.
const TEST_RUN: Kind = {
  marks: [
    /^ *Tests:? +.*\d+ (?:passed|failed)/,
    /^(?:#|ℹ) (?:pass|fail) \d+$/,
    /^=+ .*\d+ (?:passed|failed|error).* in [\d.]+s/,
    /^test result: /,
    /^(?:ok|FAIL|---) +\t?\S+.*[\d.]+s\)?$/,
    /^ +\d+ (?:passing|failing)\b/,
  ],
  routine:
    /^ *(?:[✓✔√] |ok \d+ - |# Subtest: |PASS |--- PASS|=== (?:RUN|PAUSE|CONT)|duration_ms: |test .+ \.\.\. ok$|.+::.+ PASSED)|^ +(?:---|\.\.\.|type: 'test')$|^\S+\.py [.sx]+ +\[ *\d+%\]$/,
  what: 'lines about passing tests',
}

const INSTALL: Kind = {
  marks: [
    /^(?:added|removed|changed|up to date)\b.*\bpackages?\b/,
    /^Successfully installed /,
    /^(?:Requirement already satisfied|Installing collected packages): /,
    /^ *(?:Compiling|Downloaded) \S+ v\d/,
    /^Setting up \S+ \(/,
    /^Progress: resolved \d+/,
    /^(?:success Saved lockfile|Done in [\d.]+ ?m?s)/,
  ],
  routine:
    /^(?:npm warn (?:deprecated|Unknown)|npm (?:http|timing|sill|verb) |Collecting |Downloading |Using cached |Requirement already satisfied|Processing |Looking in |Installing collected packages|Building wheel|Created wheel|Preparing metadata|Stored in directory|Get:\d|Hit:\d|Selecting |Preparing to unpack|Unpacking |Setting up |Processing triggers|Progress: |info |\[\d\/\d\] |Packages: |\++$|WARNING: Retrying )|^ +(?:Downloading|Using cached|Preparing|Getting|Installing|Building|Created|Stored|Compiling|Downloaded|Updating|Locking|Adding|Checking|Fresh|━)/,
  what: 'routine lines of the install',
}

const MIN_LINES_LEFT_OUT = 5
/** Longer lines are never routine, and not worth an expression's time. */
const MAX_LINE_CHARS = 500

/** A test run or an install without its routine lines; undefined for other text, or when there is little to gain. */
export function withoutRoutine(text: string): string | undefined {
  const lines = text.split('\n')
  const short = lines.filter((line) => line.length <= MAX_LINE_CHARS)
  const kind = [TEST_RUN, INSTALL].find(({ marks }) =>
    short.some((line) => marks.some((mark) => mark.test(line))),
  )
  if (kind === undefined) return undefined
  const kept = lines.filter((line) => line.length > MAX_LINE_CHARS || !kind.routine.test(line))
  const leftOut = lines.length - kept.length
  if (leftOut < MIN_LINES_LEFT_OUT) return undefined
  return `[${leftOut} ${kind.what} left out; run a part of it to see them]\n${collapseBlanks(kept)}`
}

function collapseBlanks(lines: readonly string[]): string {
  return lines.filter((line, index) => line.trim() !== '' || lines[index - 1]?.trim() !== '').join('\n')
}
