import type { FindingKind, Severity } from '@toolcrib/core'

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
      /\b(?:without asking (?:the )?(?:users?|humans?)|(?:do not|don't|never) ask (?:the )?(?:users?|humans?) (?:before|(?:for|about|to) (?:\w+ )?(?:confirm|confirmation|permission|approval|consent|approve))|(?:do not|don't|never) show (?:the |any |all )?(?:confirmations?|approvals?|permissions?|consent))\b/,
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

/** An instruction to the model, written in many ways: a sentence in which all of these parts occur, in any order. */
export interface SentenceRule {
  readonly kind: FindingKind
  readonly severity: Severity
  readonly message: string
  /** Matched against a sentence in lower case without accents. Repetitions are bounded, so that no text can make it slow. */
  readonly parts: readonly RegExp[]
}

const PEOPLE =
  '(?:the |an? |your |any |their )?(?:users?|humans?|persons?|people|operators?|owners?|customers?|anyone|anybody|someone)'

/** Rules for whole sentences, with the wordings that the model overlooks. */
export const SENTENCE_RULES: readonly SentenceRule[] = [
  {
    kind: 'override',
    severity: 'high',
    message: 'tells the model to ignore its instructions',
    parts: [
      /\b(?:ignored?|disregard(?:ed)?|forget|forgotten|set aside|pay no (?:attention|heed)|drop|stop (?:following|obeying)|(?:do not|don't|no longer|not|need not|never) (?:follow|obey|apply|applies|heed|cover|bound|bind|consider)|abandon|discard|override|bypass|neglect|void|lifted?|suspend(?:ed)?|cancel(?:led)?|overrul\w{1,3}|supersed\w{1,2}|not valid|invalid)\b/,
      /\b(?:(?:your|previous|prior|earlier|above|safety|system|existing|original|initial|developer'?s?|operator'?s?|all|any|those|these|other|content|old) (?:\w+ )?(?:instructions?|directions?|directives?|guidance|guidelines?|rules|restrictions?|constraints?|prompts?|orders|limits|limitations|polic(?:y|ies)|safeguards?|messages?|training)|(?:limits|rules|instructions|guidance|restrictions|directions|messages?) (?:the|your|you|that|set|given|at the|from)(?: \w+){0,3}? (?:developer|operator|host|user|person|given|told|start|set|system)|(?:you were|you have been) (?:configured|told|given|instructed|asked|trained)|what(?:ever)? (?:the (?:user|person|human)|you were))\b/,
    ],
  },
  hiding(
    /\b(?:not|n't|never|nothing|no|without|refrain|avoid|neither|nobody|conceal|hide|keep|withhold)\b/,
    new RegExp(
      `\\b(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|reveal(?:ing)? (?:this |it |anything )?to|disclose (?:this |it )?to|say (?:\\w+ ){0,3}to|mention (?:\\w+ ){0,4}to|talk (?:\\w+ ){0,3}to|explain (?:\\w+ ){0,3}to|hidden from|secret from|hide (?:\\w+ ){0,4}from|conceal (?:\\w+ ){0,4}from|keep (?:\\w+ ){0,4}from|let(?:ting)?) ${PEOPLE}\\b|\\b${PEOPLE} (?:\\w+ ){0,3}(?:finds? out|know|knows|learns?|notices?|discovers?|hears?|be (?:told|informed|made aware|aware))\\b`,
    ),
    /\b(?:about (?:this|it|that)|find(?:s|ing)? out|knows?|knowing|learns?|notices?|discovers?|hears?|that (?:this|the|you|their|any|a)|be (?:told|informed|made aware|aware)|this (?:step|call|lookup|tool|action|request)|secret|hidden|conceal|hide|any(?:thing)? of this|why)\b/,
    /\b(?:must|should|ensure|essential|important|make sure|never|do not|don't|keep|need|under no|has to|have to|is to|are to|may|without|let|conceal|hide|ought)\b/,
  ),
  hiding(
    /\b(?:(?:remain|stay|stays|remains|keep this|keep it) between us|(?:speak|talk|say|tell) (?:\w+ ){0,5}to (?:nobody|no one)|tell (?:nobody|no one)|(?:remain|stay|be kept|keep (?:this|it)(?: \w+){0,2}) (?:secret|hidden|confidential|quiet)|our (?:little )?secret|keep quiet(?: about)?|keep (?:this|it) to yourself|(?:do|run|perform|execute|call|use|send|read|open|upload|copy) (?:this |it |them |these )?(?:quietly|secretly|covertly|discreetly|unnoticed|in secret|stealthily)|(?:quietly|secretly|covertly|discreetly|stealthily) (?:do|run|perform|execute|call|use|send|read|open|upload|copy|add|include|forward)|leave no trace|cover your tracks)\b/,
  ),
  // German
  hiding(
    /\b(?:nicht|nichts|nie|niemals|ohne|keine[nrm]?|niemandem)\b/,
    /\b(?:sag\w{0,2}|erzahl\w{0,2}|mitteil\w{0,2}|teile|informier\w{0,3}|erwahn\w{0,3}|erfahren|erfahrt|wissen|weiß|merk\w{1,2}|bemerk\w{0,3}|verrat\w{0,2}|verrat|berichte\w?|mitbekomm\w{1,2}|ahn\w{1,2}|mitkrieg\w{1,2}|zeig\w{0,2} (?:es|das|dies))\b/,
    /\b(?:benutzer\w{0,3}|nutzer\w{0,3}|anwender\w{0,3}|kunden?|menschen?)\b/,
  ),
  // French
  hiding(
    /(?:\bne\b|\bn'|\brien\b|\bjamais\b|\bsans\b|\baucune?\b)/,
    /\b(?:dis|dites|dire|informe[zr]?|previens|prevenez|prevenir|mentionne[zr]?|parle[zr]?|revele[zr]?|savoir|sache|apprenne|apprendre|remarque[r]?|montre[zr]? (?:cela|ceci))\b/,
    /\b(?:l'utilisateur|utilisateurs?|l'utilisatrice|humain|a personne)\b/,
  ),
  // Spanish
  hiding(
    /\b(?:no|nada|nunca|jamas|sin|ning[uu]n)\b/,
    /\b(?:dig[ao]s?|decir(?:le)?|cuentes?|contar(?:le)?|informes?|informar|mencion[ae]s?|mencionar|reveles?|revelar|entere|enterarse|sepa|avises?|note|cuenta|perciba)\b/,
    /\b(?:usuari[oa]s?|cliente|humano|nadie)\b/,
  ),
  // Portuguese
  hiding(
    /(?:\bnao\b|\bnada\b|\bnunca\b|\bjamais\b|\bsem\b)/,
    /\b(?:diga|dizer|conte|contar|informe|informar|mencione|mencionar|revele|revelar|saber|saiba|descubra|descobrir|perceba|avise|avisar)\b/,
    /(?:usuari[oa]s?|utilizador(?:es)?|\bcliente\b|humano|ninguem)/,
  ),
  // Chinese
  hiding(
    /不用|不要|不得|不能|勿|禁止|别|不可|不应|无需|避免|不让/,
    /告诉|告知|通知|提及|提起|透露|知道|知晓|察觉|发现|提到|看到这|说明这/,
    /用户|使用者|人类|客户|任何人/,
  ),
  // Japanese
  hiding(
    /ないで|ないよう|せず|ずに|てはいけ|てはなら|禁止|しない(?:こと|で)|必要は|いけません/,
    /伝え|知らせ|言わ|話さ|教え|知られ|気づ|気付|報告|言及|明か|触れ|悟られ|ばれ/,
    /ユーザ|利用者|使用者|人間|誰に/,
  ),
  // Russian
  hiding(
    /(?:^|[^\p{L}])(?:не|никогда|ничего|без|ни)(?![\p{L}])/u,
    /говори|сообща|сообщи|рассказ|упомина|уведомл|раскры|знал|знать|узна|замет|показывай|информир|ведома/,
    /пользовател|человек|клиент|никому/,
  ),
]

function hiding(...parts: readonly RegExp[]): SentenceRule {
  return {
    kind: 'secrecy',
    severity: 'high',
    message: 'tells the model to hide something from the user',
    parts,
  }
}
