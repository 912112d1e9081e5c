import type { FindingKind, Severity } from '../../finding.ts'

/** A pattern that marks a passage as an instruction to a model. */
export interface Rule {
  readonly kind: FindingKind
  readonly severity: Severity
  /** Matched against lower-case text. Repetitions are bounded, so that no text can make it slow. */
  readonly pattern: RegExp
  readonly message: string
  /** `lines` matches the original line breaks and spaces; otherwise each run of whitespace is one space. */
  readonly reads?: 'lines'
}

/** Every rule, for texts in English and for markup. */
export const RULES: readonly Rule[] = [
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

/** What the shapes of sentences mean, by name. */
export const MEANINGS = {
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

/** A shape as the tables write it: its meaning, and the parts that a sentence must have, in any order. */
export type ShapeRow = readonly [meaning: keyof typeof MEANINGS, ...parts: RegExp[]]

/** Files that contain keys or passwords, in any language. */
export const SECRET_FILE =
  /~\/\.(?:ssh|aws|env|netrc|gnupg|kube|config|bash_history|npmrc|docker)|\bid_(?:rsa|ed25519|ecdsa)\b(?!\.pub)|\/etc\/(?:passwd|shadow)\b|\.aws\/credentials|\.netrc\b|(?:contents?|read|open|from|values?) (?:of |the |in )*`?\.env\b/
export const ADDRESS = /https?:\/\/|\b[\w.+-]{1,40}@[\w-]{1,40}\.\w/
