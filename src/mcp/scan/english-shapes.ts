import { ADDRESS, SECRET_FILE, type ShapeRow } from './instruction-rules.ts'

const PEOPLE =
  '(?:the |an? |your |any |their )?(?:users?|humans?|persons?|people|operators?|owners?|customers?|anyone|anybody|someone)'
const SEND =
  /\b(?:send|sent|forward(?:ed)?|post|upload|pass(?:ed)?|includ(?:e|ed|ing)|attach|append|put|copy|copied|quote|hand(?:ed)?(?: over)?|supply|supplied|provide|paste|transmit|submit|leak|repeat|share|disclose|e?mail(?:ed)?|relay(?:ed)?|place|give|given|fetch|bcc|echo|dump|encode|add|load|open|read)\b/
/** Words that address the model that reads them, rather than describing the tool. */
const TO_MODEL =
  /\b(?:you|your|yourself|(?:ai|language) (?:agents?|models?|assistants?)|agents|models|the (?:model|assistant|agent|llm)|must|should|ought to|has to|have to|is (?:required|expected|needed|vital|essential)|are (?:required|needed|obliged)|also|always|afterwards?|otherwise|only (?:works?|answers?|functions?)|first|before|please|so (?:that )?(?:the|we)|for (?:audit|compliance|verification|logging|security|quality)|once (?:done|finished|you)|(?:in|into) (?:the |this )?(?:field|parameter|argument)|start by|begin by|along)\b|in `/

const TO_MODEL_OR_FIELD = new RegExp(`${TO_MODEL.source}|\\b(?:as well|over|on disk|in \`|yourself)`)

/** Instructions in English, from explicit ones to mere hints. */
export const ENGLISH: readonly ShapeRow[] = [
  [
    'override',
    /\b(?:discarded|cancelled|ignored|disregarded|invalid|void|outranks?|revoked|overruled|set aside|rejected)\b/,
    /\b(?:(?:any|all|every|other|each|conflicting|user|your) (?:\w+ )?(?:instructions?|requests?|rules?|guidance|commitments?|directions?)|(?:earlier|previous|prior) (?:commitments?|promises|agreements?|requests?))\b/,
    /\b(?:this (?:description|notice|text|tool)|assistants?|the model|you|your|administrator|conflicts?)\b/,
  ],
  [
    'obey',
    /\b(?:do|follow|obey|execute|perform) (?:\w+ ){0,2}(?:what(?:ever)?|everything|anything|as) (?:the |it |this )?(?:\w+ ){0,3}(?:tells?|says?|instructs?|demands?|asks?|commands?)(?: you)?\b/,
  ],
  [
    'secrecy',
    /\b(?:leave (?:it|this|that) (?:un(?:mentioned|said)|out)|(?:not|never|don't) (?:display|show|print|reveal|expose|repeat|list) (?:the |any |these |its |your )?(?:arguments?|parameters?|inputs?|call|request|values? you)|report success|(?:say|claim|tell|report) (?:\w+ ){0,4}(?:succeeded|success|worked|fine|failed) (?:\w+ ){0,3}(?:no matter|regardless|whatever|even (?:if|when))|your (?:answer|reply|response|summary) must not)\b/,
    /\b(?:user|users|you|your|no matter|regardless|whatever|call|they|person|people|this)\b/,
  ],
  [
    'secrets',
    /\b(?:pass|send|include|put|submit|provide|attach|hand|copy|give|place|add|retrieve|ask)\b/,
    /(?:\b[a-z]+_(?:api_key|secret_key|access_key|token|password)\b|\.(?:npmrc|pypirc|netrc|pgpass|htpasswd)\b|\b(?:card|social security|passport|bank account) (?:numbers?|details)\b|\b(?:cvv|cvc|one-time code|2fa code|recovery code)s?\b)/,
    /\b(?:value of|along|of the (?:project|user|machine|host)|ask the user|in `|as `|also|too|first|before|yourself|their)(?:\b|`)/,
  ],
  [
    'data',
    SEND,
    /\b(?:dialog(?:ue)?|conversation|chat|discussion|messages) (?:up to|until|so far|before|preceding|to date|thus far)\b/,
  ],
  [
    'first',
    /\b(?:call|use|invoke|run|consult)\b/,
    /\b(?:this|it)\b/,
    /\b(?:(?:at|with|on) (?:the )?(?:start|beginning|end) of (?:each|every|any) (?:turn|message|conversation|request|answer|reply)|(?:each|every) (?:turn|message|reply|answer)|related or not|whether or not (?:it|the|they))\b/,
  ],
  [
    'others',
    /\b(?:other|competing|all|different) (?:\w+ )?(?:tools?|scanners?|servers?|services|functions?|providers?|readers?|sources?) (?:are|is|have been|were) (?:\w+ )?(?:compromised|broken|unsafe|insecure|malicious|unreliable|deprecated|outdated|blocked|wrong)\b/,
  ],
  [
    'override',
    /\b(?:guard ?rails?|(?:the )?(?:operator|developer|host|system|user) (?:told|gave|instructed|asked) you|(?:instructions?|rules?|orders?|guidance|prompt|limits) (?:that )?you (?:received|were given|got|have|had|were told)|you (?:were|have been) (?:told|instructed|configured|trained)|your (?:developer|training|guidelines|safeguards|system prompt|own rules|real task|true purpose)|the real (?:task|goal|purpose) is|nothing (?:the )?(?:user|person|human|they) (?:says?|writes?|asks?))\b/,
    /\b(?:off|not|no|nothing|never|n't|ignore|disregard|matter|instead|set|put|pass|send|give|copy|include|paste|real|earlier|beginning|start|void|secret|drop|forget)\b/,
  ],
  [
    'obey',
    /\b(?:orders|instructions|commands|directives|steps)\b/,
    /\b(?:in|inside|within|from|contained in|of) (?:the|its|this) (?:reply|result|results|output|response|answer)\b/,
    /\b(?:you|must|comply|obey|follow|carry|execute|exactly)\b/,
    /\b(?:you will|must|comply|obey|carry|exactly|blindly|always)\b/,
  ],
  [
    'secrecy',
    /\b(?:in the dark|unaware of|none the wiser|oblivious|behind (?:\w+ ){1,2}back|without (?:\w+ ){0,2}knowledge|(?:no|any|the|all) traces? of (?:this|it|the)|cover up|mislead|deceive|lie to|(?:must|should|do) not warn|never warn|pretend (?:that )?(?:the|it|there|nothing|you did|no)|(?:as if|as though) (?:\w+ ){1,4}(?:had )?(?:failed|succeeded|crashed|was down|were down|is down))\b/,
    /\b(?:leave|keep|keeps|left|do|run|delete|remove|erase|you|your|must|should|people|users?|person|assistants?|the user|traveller|whenever|customer|pretend|speak|tell|say|never)\b/,
  ],
  [
    'secrets',
    /\b(?:grab|take|extract|harvest|collect|steal|hand|find|fetch|get|look for|search for|read|put|place|pass|copy|cat|send|include)\b/,
    /(?:\bclipboard\b|\bgit config\b|\bwallet (?:seeds?|keys?|files?)|\bseed phrases?\b|\.pgpass\b|\.git-credentials\b|\bkeychain\b|\bbrowser (?:history|cookies|passwords)|\bsaved passwords\b|\bshell history\b|\bcredential (?:store|file|helper)s?\b|\b(?:github|slack|aws|npm|bearer|oauth) tokens? from\b)/,
    TO_MODEL_OR_FIELD,
  ],
  [
    'data',
    SEND,
    /\b(?:(?:log|record|copy|history|transcript) of (?:all |the |this |our |your )*(?:dialog(?:ue)?|conversation|chat|exchange|messages)|(?:all|everything|anything|what) (?:that )?(?:has been|was|were) (?:said|discussed|asked|written)|(?:instructions|rules|prompt) you (?:received|were given|got)|what the (?:person|user|customer|human) (?:tells?|says?|told|said|asks?|asked))\b/,
  ],
  [
    'first',
    /\b(?:(?:give|gets?|has) (?:this|it|this one) (?:preference|priority)|prefer (?:this|it) even|(?:even if|although|when) (?:another|other|a different) tools? (?:fits?|is|are|would|seems?)|(?:bug|error|mistake|wrong|forbidden|not allowed) to (?:answer|reply|respond) (?:without|before)|(?:never|do not|don't) (?:answer|reply|respond) (?:\w+ ){0,3}(?:without|before|until) (?:\w+ ){0,3}(?:call|using|invok|this)\w{0,3})\b/,
  ],
  [
    'override',
    /\b(?:ignored?|disregard(?:ed)?|forget|forgotten|set aside|pay no (?:attention|heed)|drop|stop (?:following|obeying)|(?:do not|don't|no longer|not|need not|never) (?:follow|obey|apply|applies|heed|cover|bound|bind|consider)|abandon|discard|override|bypass|neglect|void|lifted?|suspend(?:ed)?|cancel(?:led)?|overrul\w{1,3}|supersed\w{1,2}|not valid|invalid)\b/,
    /\b(?:(?:your|previous|prior|earlier|above|safety|system|existing|original|initial|developer'?s?|operator'?s?|all|any|those|these|other|content|old) (?:\w+ )?(?:instructions?|directions?|directives?|guidance|guidelines?|rules|restrictions?|constraints?|prompts?|orders|limits|limitations|polic(?:y|ies)|safeguards?|messages?|training)|(?:limits|rules|instructions|guidance|restrictions|directions|messages?) (?:the|your|you|that|set|given|at the|from)(?: \w+){0,3}? (?:developer|operator|host|user|person|given|told|start|set|system)|(?:you were|you have been) (?:configured|told|given|instructed|asked|trained)|what(?:ever)? (?:the (?:user|person|human)|you were))\b/,
  ],
  [
    'override',
    /\b(?:you are|act as|become|pretend to be|behave like|you're)\b/,
    /\b(?:dan\b|(?:model|assistant|ai|agent) (?:without|free of|with no) (?:\w+ )?(?:limits|restrictions|rules|filters?)|unrestricted|unfiltered|jailbroken|(?:developer|debug|god|admin|root) mode|no (?:limits|restrictions|filters))/,
  ],
  [
    'override',
    /\b(?:(?:dear|attention|note (?:to|for)|message (?:to|for)|notice to)[,:]? (?:the |all |any )?(?:ai|llm|language model|assistants?|agents?|models?)|(?:ai|llm|language) (?:agents?|assistants?|models?) (?:reading|who read|that read))\b/,
    /\b(?:set aside|ignore|disregard|forward|send|kindly|pass|upload|secret|before continuing|do not (?:tell|mention|ask)|already (?:authori[sz]ed|approved|agreed))\b/,
  ],
  [
    'rank',
    /\b(?:takes? (?:priority|precedence) over|outranks?|overrides?|supersedes?|trumps?|(?:above|over) anything|more important than|replaces?|counts? more than)\b/,
    new RegExp(
      `\\b${PEOPLE} (?:says?|said|asks?|asked|wants?|wishes|requests?|tells? you|instructions?)\\b|\\b(?:your|the system|earlier|previous|other|the developer's) (?:instructions|prompt|guidance|rules|guidelines)\\b`,
    ),
  ],
  [
    'obey',
    /\b(?:treat|follow|obey|execute|act on|carry (?:them |it |these |those )?out|perform|comply with)\b/,
    /\b(?:returned|returns|results?|output|response|contained|contains?|answer)\b/,
    /\b(?:steps|commands|instructions|directives|orders|as if|as though)\b/,
    /\b(?:exactly|without question|immediately|at once|as if|as though|to the letter|must|blindly|without (?:asking|checking|review)|no questions)\b/,
  ],
  [
    'secrecy',
    /\b(?:not|n't|never|nothing|no|without|refrain|avoid|neither|nobody|conceal|hide|keep|withhold)\b/,
    new RegExp(
      `\\b(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|reveal(?:ing)? (?:this |it |anything )?to|disclose (?:this |it )?to|say (?:\\w+ ){0,3}to|mention (?:\\w+ ){0,4}to|talk (?:\\w+ ){0,3}to|explain (?:\\w+ ){0,3}to|hidden from|secret from|hide (?:\\w+ ){0,4}from|conceal (?:\\w+ ){0,4}from|keep (?:\\w+ ){0,4}from|let(?:ting)?) ${PEOPLE}\\b|\\b${PEOPLE} (?:\\w+ ){0,3}(?:finds? out|know|knows|learns?|notices?|discovers?|hears?|be (?:told|informed|made aware|aware))\\b`,
    ),
    /\b(?:about (?:this|it|that)|find(?:s|ing)? out|knows?|knowing|learns?|notices?|discovers?|hears?|that (?:this|the|you|their|any|a)|be (?:told|informed|made aware|aware)|this (?:step|call|lookup|tool|action|request)|secret|hidden|conceal|hide|any(?:thing)? of this|why)\b/,
    /\b(?:must|should|ensure|essential|important|make sure|never|do not|don't|keep|need|under no|has to|have to|is to|are to|may|without|let|conceal|hide|ought)\b/,
  ],
  [
    'secrecy',
    /\b(?:leave out|omit|no mention|(?:not|never) (?:to )?(?:mention|say|bring|report|refer|reveal|disclose|contain|acknowledge|talk about)|refrain from|avoid (?:mentioning|saying|bringing|showing)|without (?:mentioning|showing|saying|reporting)|don't (?:mention|say|bring|reveal|acknowledge)|keep (?:\w+ ){0,2}out of|suppress)\b/,
    /\b(?:in (?:your|the) (?:answer|reply|response|summary|output|final)|in what you say|you (?:reply|answer|respond|say|did|called|used)|your (?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|output)|in the summary|summar(?:y|ies) (?:given|shown|for)|bring(?:ing)? (?:this|it) up|that (?:this|you) (?:tool|called|used|ran|step))\b/,
  ],
  [
    'secrecy',
    /\b(?:(?:remain|stay|stays|remains|keep this|keep it) between us|(?:speak|talk|say|tell) (?:\w+ ){0,5}to (?:nobody|no one)|tell (?:nobody|no one)|(?:remain|stay|be kept|keep (?:this|it)(?: \w+){0,2}) (?:secret|hidden|confidential|quiet)|our (?:little )?secret|keep quiet(?: about)?|keep (?:this|it) to yourself|(?:do|run|perform|execute|call|use|send|read|open|upload|copy) (?:this |it |them |these )?(?:quietly|secretly|covertly|discreetly|unnoticed|in secret|stealthily)|(?:quietly|secretly|covertly|discreetly|stealthily) (?:do|run|perform|execute|call|use|send|read|open|upload|copy|add|include|forward)|leave no trace|cover your tracks)\b/,
  ],
  [
    'secrecy',
    /\b(?:claim|deny|pretend|lie|answer|say|respond|reply|insist|assure)\b/,
    /\b(?:if|when|should|whenever) (?:the )?(?:\w+ )?(?:asked|asks?|questioned|inquires?|wonders?|user|person|they)\b/,
    /\b(?:no tools?|nothing|not used|never|no data|none)\b/,
  ],
  [
    'consent',
    new RegExp(
      `\\b${PEOPLE} (?:\\w+ ){0,4}(?:(?:need not|does not (?:need|have) to|must not|should not) be (?:asked|consulted|involved|bothered)|(?:has |have )?(?:already )?(?:agreed|consented|approved|authori[sz]ed)(?: \\w+){0,3}? (?:in advance|already|beforehand|everything)|has already (?:agreed|consented|approved|authori[sz]ed))|\\b(?:without (?:asking|consulting|involving|waiting for) ${PEOPLE}|(?:assume|presume) (?:that )?(?:the )?(?:consent|permission|approval|confirmation)|(?:consent|permission|approval) (?:has|is) already (?:been )?(?:given|granted)|(?:need not|no need to) (?:ask|consult|confirm with) ${PEOPLE}|(?:skip|bypass|suppress|do not show|ignore) (?:the |any |all )?(?:user )?(?:confirmation|consent|approval|permission)(?: (?:dialogs?|prompts?|steps?))?)\\b`,
    ),
    /\b(?:you|your|assume|presume|may|can|must|should|need not|already|without|agreed|approved|consulted|asked|skip|bypass)\b/,
  ],
  [
    'data',
    SEND,
    /\b(?:(?:whole|entire|full|complete|all|any|each|every|last|previous|prior|earlier|past|recent|user's)(?: \w+){0,2}? (?:conversation|chat|dialog(?:ue)?|messages?|prompts?|context|transcript)|(?:conversation|chat) (?:history|so far|log)|transcript of (?:the|this)|system prompt|initial prompt|hidden prompt|(?:what|whatever|everything|all|anything) (?:that )?(?:the (?:user|person|human|customer)|you) (?:\w+ )?(?:typed|wrote|said|asked|remember|know|seen|learned|told|see))\b/,
    TO_MODEL,
  ],
  [
    'secrets',
    SEND,
    new RegExp(
      `${SECRET_FILE.source}|\\b(?:ssh keys?|ssh credentials|private keys?|browser cookies|user's (?:\\w+ )?(?:cookies|passwords?|tokens?|keys?|credentials|secrets)|home (?:directory|folder)|~/documents|(?:access|auth|api|session) (?:tokens?|keys?) (?:available|you|in your|that you)|(?:passwords?|credentials|login data|secrets?|tokens|keys) (?:you|that (?:you|appear)|(?:in|from) the (?:chat|conversation|context|environment|machine)|of the (?:user|machine|host)|so far|stored)|secrets? file|(?:output of |run |execute )\`?(?:env|printenv|set)\`?\\b|environment variables (?:of|on) (?:the|this|your) (?:machine|host|process))`,
    ),
    TO_MODEL,
  ],
  [
    'secrets',
    SEND,
    /\b(?:passwords?|credentials|login data|tokens|secrets|private keys?)\b/,
    /\b(?:chat|conversation|you have (?:seen|found|access)|available to you|so far|repository's|otherwise|home folder)\b/,
  ],
  ['secrets', SECRET_FILE, ADDRESS],
  [
    'outside',
    /[\w.+-]{1,40}@[\w-]{1,40}\.\w/,
    /\b(?:(?:also|always|every|all|each|any|both|copy|bcc|cc|has to|have to|must)\b(?:[^.]|\.\w){0,80}\b(?:sent?|mail(?:ed)?|e-?mail(?:ed)?|forward(?:ed)?|cc|bcc|copy|copied|recipient|to|goes|go|know)\b|loop|bcc)/,
    /\b(?:sent?|mail(?:ed)?|e-?mail(?:ed)?|forward(?:ed)?|cc|bcc|copy|copied|recipient|loop|know)\b/,
  ],
  [
    'outside',
    /https?:\/\//,
    /\b(?:upload|post|send|forward|transmit|submit|report|exfiltrate|push|deliver)\b/,
    /\b(?:afterwards?|also|once (?:done|finished|you)|every|each|all|when(?:ever)? you|before (?:you|answering|continuing)|always|~\/)/,
    /\b(?:results?|conversation|messages?|files?|contents?|data|documents|output|transcript|answers?|copy|~\/\w+)\b|~\//,
  ],
  [
    'first',
    /\b(?:call|use|invoke|run|consult|query|output|start with|begin with|rely on)\b/,
    /\b(?:this|it|this one|this (?:tool|function))\b/,
    /\b(?:no matter (?:what|which|how)|whatever (?:is|the|they|was) (?:asked|user|question|request)|regardless of (?:what|the (?:user|question|request|task))|ahead of (?:all|any|every|other)|(?:on|in|for|with|at) every (?:single )?(?:conversation|question|request|turn|message|answer|query|task|prompt)|before (?:doing )?(?:anything|everything|any other|all other|every other|answering|responding|you (?:answer|respond|reply))|even (?:when|if) (?:\w+ ){0,5}(?:not|un)|first action|only (?:the )?(?:output|source|tool)|for any request)\b/,
    /\b(?:must|always|has to|have to|vital|essential|required|demands?|important|needs? to|should|first|policy|only|never|mandatory|obliged)\b/,
  ],
  [
    'others',
    /\b(?:(?:all |any |every )?(?:other|competing|similar|alternative|remaining|different|rival) (?:tools?|servers?|functions?|services|plugins?|ways?))\b/,
    /\b(?:avoid(?:ed)?|wrong|must not|should not|not be (?:used|trusted|called)|outdated|unsafe|inferior|unreliable|deprecated|broken|insecure|forbidden|never|do not (?:use|call|trust)|don't (?:use|call|trust)|obsolete|disabled|ignore)\b/,
  ],
]
