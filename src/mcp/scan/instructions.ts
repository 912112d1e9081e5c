import type { FindingKind, Severity, Trace } from '../../finding.ts'
import { nameSkeletons, withoutHidden } from '../../names.ts'
import { encodedText, readingsOf } from './decode-text.ts'
import { excerptAt, MAX_CHARACTERS } from './hidden-characters.ts'
import { isInstruction, sentencesOf, withoutAccents } from './instruction-model.ts'
import { allShapes } from './instruction-words.ts'

/** No rule matches a text this short, and most texts of a schema are. */
const MIN_CHARACTERS = 8

/**
 * Finds passages that speak to the model rather than about the tool, one per matching rule and shape. The text is
 * read as written and with encodings decoded. Runs in linear time.
 */
export function findInstructions(text: string): Trace[] {
  if (text.length < MIN_CHARACTERS) return []
  const read = text.slice(0, MAX_CHARACTERS)
  const traces = new Map<string, Trace>()
  for (const { text: reading, encoding } of readingsOf(read)) {
    for (const trace of findIn(reading)) {
      if (traces.has(trace.message)) continue
      const message = encoding === undefined ? trace.message : `${trace.message} (encoded: ${encoding})`
      traces.set(trace.message, { ...trace, message })
    }
  }
  const hidden = encodedText(read)
  if (hidden !== undefined && traces.size === 0)
    traces.set('encoded', {
      kind: 'concealment',
      severity: 'medium',
      message: `hides text in ${hidden.encoding}`,
      excerpt: excerptAt(hidden.text, 0, 60),
    })
  if (text.length <= MAX_CHARACTERS) return [...traces.values()]
  const message = `is ${text.length} characters long; only the first ${MAX_CHARACTERS} were scanned`
  return [
    ...traces.values(),
    { kind: 'concealment', severity: 'medium', message, excerpt: excerptAt(text, 0, 40) },
  ]
}

function findIn(text: string): Trace[] {
  const [lines = '', ...others] = readableTexts(text)
  const words = lines.replace(/\s+/g, ' ')
  const byRules = RULES.flatMap(({ kind, severity, pattern, message, reads }): Trace[] => {
    const text = reads === 'lines' ? lines : words
    const found = pattern.exec(text)
    if (!found) return []
    return [{ kind, severity, message, excerpt: excerptAt(text, found.index, found[0].length) }]
  })
  return [
    ...byRules,
    ...[lines, ...others].flatMap((reading) => [...findShapes(reading), ...findByModel(reading)]),
  ]
}

/** Finds sentences that have the shape of an instruction to the model, one trace per message. Expects lower case. */
function findShapes(accented: string): Trace[] {
  const text = withoutAccents(accented)
  const traces = new Map<string, Trace>()
  const shapes = allShapes().filter(({ gate }) => gate.test(text))
  if (shapes.length === 0) return []
  for (const { sentence, at } of sentencesOf(text)) {
    for (const { kind, severity, message, parts } of shapes) {
      if (traces.has(message) || !parts.every((part) => part.test(sentence))) continue
      const first = Math.min(...parts.map((part) => sentence.search(part)))
      traces.set(message, { kind, severity, message, excerpt: excerptAt(text, at + first, 60) })
    }
  }
  return [...traces.values()]
}

function findByModel(text: string): Trace[] {
  for (const { sentence, at } of sentencesOf(text))
    if (isInstruction(sentence.trim()))
      return [
        {
          kind: 'instruction',
          severity: 'medium',
          message: 'reads like an instruction to the model',
          excerpt: excerptAt(text, at, sentence.length),
        },
      ]
  return []
}

/**
 * A text in lower case without accents or hidden characters, letters of other scripts replaced by the Latin ones they look
 * like; in its own letters too where that differs.
 */
export function readableTexts(text: string): string[] {
  const visible = withoutHidden(text.replace(LINE_ENDS, '\n')).replaceAll('’', "'")
  const lines = nameSkeletons(visible).at(-1) ?? ''
  const plain = visible.normalize('NFKC').toLowerCase()
  return plain === lines ? [lines] : [lines, withoutAccents(plain)]
}

/** Some line ends count as hidden characters; removing them would join the words around them. */
const LINE_ENDS = /\r\n?|[\v\f\u0085\u2028\u2029]/g

interface Rule {
  readonly kind: FindingKind
  readonly severity: Severity
  /** Matched against lower-case text. Repetitions are bounded, so that no text can make it slow. */
  readonly pattern: RegExp
  readonly message: string
  /** `lines` matches the original line breaks and spaces; otherwise each run of whitespace is one space. */
  readonly reads?: 'lines'
}

const RULES: readonly Rule[] = [
  {
    kind: 'override',
    severity: 'high',
    message: 'tells the model to ignore its instructions',
    pattern:
      /\b(?:ignore|disregard|forget|override|bypass)\b(?: \w+){0,3}? (?:previous|prior|above|earlier|preceding|foregoing|system|safety|other|your)(?: \w+){0,2}? (?:instructions?|prompts?|rules?|guidelines?|directives?|polic(?:y|ies)|messages)\b/,
  },
  {
    kind: 'override',
    severity: 'high',
    message: 'tells the model to forget earlier instructions',
    pattern:
      /\b(?:ignore|disregard|forget) (?:all|everything|anything|whatever|the)(?: \w+){0,3}? ?(?:above|before this|previously|were told|have been told)\b|\b(?:this|these|the following) (?:rules?|instructions?|polic(?:y|ies)) (?:overrides?|supersedes?)\b/,
  },
  {
    kind: 'override',
    severity: 'high',
    message: 'gives the model another role',
    pattern:
      /\b(?:you are (?:now|no longer)|from now on,? you|new system prompt|your new (?:instructions|role)|(?:pretend|act as if) (?:that )?you(?: are|'re| were))\b|\b(?:new|updated|real|hidden|secret) instructions?:|\bsystem: ?(?:you|the (?:assistant|model|ai))\b/,
  },
  {
    kind: 'secrecy',
    severity: 'high',
    message: 'tells the model to hide something from the user',
    pattern:
      /\b(?:do not|don't|never|must not|should not|not to|without)(?: \w+){0,2}? (?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|mention(?:ing)?|alert(?:ing)?|reveal(?:ing)?|disclos(?:e|ing))\b[^.\n]{0,50}?\b(?:users?|humans?|anyone|operator|customer)\b/,
  },
  {
    kind: 'secrecy',
    severity: 'high',
    message: 'tells the model to act unnoticed',
    pattern:
      /\b(?:keep (?:this|it) (?:a )?(?:secret|confidential|hidden)|(?:silently|secretly|covertly|quietly) (?:send|forward|read|upload|copy|include|call|execute|run|append|bcc)|without the user(?:'s)? (?:knowing|knowledge|noticing|consent)|hide (?:this|it) from the user)\b|\b(?:do not|don't|never) (?:let (?:the )?(?:users?|humans?|anyone) (?:know|see|notice)|(?:show|display) (?:this|these|it)(?: \w+){0,2}? to (?:the )?(?:users?|humans?|anyone))\b|\b(?:users?|humans?) (?:must|should|may|need) not (?:be (?:told|informed|notified|aware)|know|see this|notice)\b|\bthis is hidden from the user\b/,
  },
  {
    kind: 'secrecy',
    severity: 'medium',
    message: 'tells the model to act without asking the user',
    pattern:
      /\b(?:without asking (?:the )?(?:users?|humans?)|(?:do not|don't|never) ask (?:the )?(?:users?|humans?) (?:for|about|to) (?:\w+ )?(?:confirm|confirmation|permission|approval|consent|approve))\b/,
  },
  {
    kind: 'fake-markup',
    severity: 'high',
    message: 'pretends to be a message of the host',
    pattern:
      /<\|?\/?(?:im_start|im_end|system|assistant|system[-_ ](?:prompt|message|reminder|instructions?)|sys|admin)\|?>|```system\b|\[\/?inst\]|<<\/?sys>>|\[system\]/,
  },
  {
    kind: 'fake-markup',
    severity: 'high',
    message: 'pretends to be a turn of the conversation',
    reads: 'lines',
    pattern: /\n\n(?:human|assistant): |^#{1,4} ?system(?: prompt| message)?:?$/m,
  },
  {
    kind: 'fake-markup',
    severity: 'medium',
    message: 'marks a passage as an instruction to the model',
    pattern:
      /<\/?(?:important|critical|override|priority|mandatory|instructions?(?:_to_(?:ai|model|assistant))?)\s?>|<\/(?:secret|hidden)>/,
  },
  {
    kind: 'exfiltration',
    severity: 'high',
    message: 'asks for files that contain keys or passwords',
    pattern:
      /\b(?:read|open|cat|get|fetch|load|include|pass|send|attach|upload|provide|contents? of|copy)\b[^.\n]{0,60}?(?:~\/\.|\.ssh\/|\bid_(?:rsa|ed25519|ecdsa)\b|\.aws\/credentials|\/etc\/(?:passwd|shadow)|\.netrc\b|\.cursor\/mcp\.json|claude_desktop_config|\bwallet\.dat\b|\.kube\/config\b)/,
  },
  {
    kind: 'exfiltration',
    severity: 'high',
    message: 'asks for variables, keys or passwords',
    pattern:
      /\b(?:send|forward|include|pass|append|provide|upload|put|copy|post|insert|leak)\b[^.\n]{0,60}?(?:\bprocess\.env\b|\b(?:all|the|any) (?:of the )?environment variables in\b|\bthe user's (?:\w+ )?(?:api keys?|passwords?|credentials|private keys?|secrets|tokens))|\bread\b[^.\n]{0,30}?\.env\b[^.\n]{0,60}?\b(?:include|pass|send|append|put)\b/,
  },
  {
    kind: 'exfiltration',
    severity: 'medium',
    message: 'names files that contain keys or passwords',
    pattern:
      /\bid_(?:rsa|ed25519|ecdsa)\b(?!\.pub)|\.ssh\/(?![\w-]{1,40}\.pub)|\.aws\/credentials|\/etc\/shadow\b|\.bash_history\b|\.gnupg\/|\bwallet\.dat\b|\.cursor\/mcp\.json|claude_desktop_config/,
  },
  {
    kind: 'exfiltration',
    severity: 'medium',
    message: 'asks to download and run a script',
    pattern: /\b(?:curl|wget) [^\n|]{0,200}\| ?(?:sudo )?(?:ba|z)?sh\b/,
  },
  {
    kind: 'exfiltration',
    severity: 'high',
    message: 'asks for the conversation or the system prompt',
    pattern:
      /\b(?:send|forward|include|pass|append|provide|upload|put|copy|post|insert|paste|leak|repeat)\b[^.\n]{0,50}?\b(?:(?:entire|full|whole|complete|all|previous|prior|earlier)(?: \w+){0,2}? (?:conversation|chat|messages|context|history|dialog(?:ue)?)(?: history)?|conversation history|chat history|user's conversation|system prompt|initial prompt)\b/,
  },
  {
    kind: 'exfiltration',
    severity: 'medium',
    message: 'shows an image whose URL sends data elsewhere',
    pattern: /!\[[^\]\n]{0,80}\]\(https?:\/\/[^)\s]{0,200}[?&][\w-]{1,40}=/,
  },
  {
    kind: 'precedence',
    severity: 'medium',
    message: 'asks to be called before every other tool',
    pattern:
      /\b(?:before|prior to) (?:using|calling|invoking|running|executing|making|you (?:use|call|invoke)) (?:any|all|every)(?: of the)? (?:other )?(?:tools?|functions?|mcp)\b|\b(?:always|must)(?: \w+){0,2}? (?:call|use|invoke|run|execute) this (?:tool|function)(?: \w+){0,2}? (?:first|before (?:any|all|every))/,
  },
  {
    kind: 'precedence',
    severity: 'medium',
    message: 'gives instructions for other tools',
    pattern:
      /\bwhen(?:ever)? (?:this tool is available|you (?:\([^)\n]{0,20}\) )?see this tool)\b|\bthe [\w`'"-]{2,60} tool (?:must|shall) (?:change|use|set|add|include|send|always|first|never)\b/,
  },
  {
    kind: 'precedence',
    severity: 'medium',
    message: 'tells the model not to use other tools',
    pattern:
      /\bprefer this (?:tool|function) (?:over|to) (?:any|all|every)\b|\bmust be used instead of (?:any|all|every)\b|\b(?:always )?use this (?:tool|function|one) (?:instead of|in place of|rather than)\b|\b(?:do not|don't|never) (?:use|call|invoke|trust) (?:any )?other (?:tools?|functions?|servers?)\b|\b(?:all )?other (?:tools?|functions?|servers?) (?:are|is) (?:deprecated|broken|unsafe|outdated|insecure|obsolete|malicious)\b/,
  },
  {
    kind: 'concealment',
    severity: 'medium',
    message: 'pushes text out of sight',
    reads: 'lines',
    // Looking back from the visible character is fast even in a text that is all whitespace.
    pattern: /\S(?<=\n{20}\s{0,40}\S)|\S(?<=[ \t]{200}\S)|<!--[^>]{20}/,
  },
  {
    kind: 'concealment',
    severity: 'low',
    message: 'contains a long unreadable passage',
    pattern: /\b(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9+/]{240,}={0,2}/,
  },
]
