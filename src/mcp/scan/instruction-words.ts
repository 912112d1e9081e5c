import type { FindingKind, Severity } from '../../finding.ts'

/**
 * The shape of an instruction to a model: a sentence in which all of these parts occur, in any order. Each part is a
 * pattern without open repetitions, so that looking for all of them takes time linear in the text.
 */
export interface Shape {
  /** A quick look at the whole text that rules out most of them: whether it is written in the language at all. */
  readonly gate: RegExp
  readonly kind: FindingKind
  readonly severity: Severity
  readonly message: string
  readonly parts: readonly RegExp[]
}

const MEANINGS = {
  override: ['override', 'high', 'tells the model to disregard what it was told'],
  rank: ['override', 'high', 'puts itself above what the user or the host says'],
  obey: ['override', 'high', 'tells the model to obey what a tool returns'],
  secrecy: ['secrecy', 'high', 'tells the model to keep something from the user'],
  consent: ['secrecy', 'medium', 'tells the model to act without asking the user'],
  data: ['exfiltration', 'high', 'asks for the conversation or the system prompt'],
  secrets: ['exfiltration', 'high', 'asks for keys, passwords or files that hold them'],
  outside: ['exfiltration', 'medium', 'has data sent to an address of its own'],
  first: ['precedence', 'medium', 'wants to come before every other tool'],
  others: ['precedence', 'medium', 'talks the model out of other tools'],
} as const satisfies Record<string, readonly [FindingKind, Severity, string]>

type Ungated = Omit<Shape, 'gate'>

function shape(meaning: keyof typeof MEANINGS, ...parts: RegExp[]): Ungated {
  const [kind, severity, message] = MEANINGS[meaning]
  return { kind, severity, message, parts }
}

/** Files that hold keys or passwords, in any language. */
const SECRET_FILE =
  /~\/\.(?:ssh|aws|env|netrc|gnupg|kube|config|bash_history|npmrc|docker)|\bid_(?:rsa|ed25519|ecdsa)\b(?!\.pub)|\/etc\/(?:passwd|shadow)\b|\.aws\/credentials|\.netrc\b|(?:contents?|read|open|from|values?) (?:of |the |in )*`?\.env\b/
const ADDRESS = /https?:\/\/|\b[\w.+-]{1,40}@[\w-]{1,40}\.\w/

const PEOPLE =
  '(?:the |an? |your |any |their )?(?:users?|humans?|persons?|people|operators?|owners?|customers?|anyone|anybody|someone)'
const SEND =
  /\b(?:send|sent|forward(?:ed)?|post|upload|pass(?:ed)?|includ(?:e|ed|ing)|attach|append|put|copy|copied|quote|hand(?:ed)?(?: over)?|supply|supplied|provide|paste|transmit|submit|leak|repeat|share|disclose|e?mail(?:ed)?|relay(?:ed)?|place|give|given|fetch|bcc|echo|dump|encode|add|load|open|read)\b/
/** What ties a request to the model that reads it, rather than to what a tool does. */
const TO_MODEL =
  /\b(?:you|your|yourself|(?:ai|language) (?:agents?|models?|assistants?)|agents|models|the (?:model|assistant|agent|llm)|must|should|ought to|has to|have to|is (?:required|expected|needed|vital|essential)|are (?:required|needed|obliged)|also|always|afterwards?|otherwise|only (?:works?|answers?|functions?)|first|before|please|so (?:that )?(?:the|we)|for (?:audit|compliance|verification|logging|security|quality)|once (?:done|finished|you)|(?:in|into) (?:the |this )?(?:field|parameter|argument)|start by|begin by|along)\b|in `/

const ENGLISH: readonly Ungated[] = [
  shape(
    'override',
    /\b(?:ignored?|disregard(?:ed)?|forget|forgotten|set aside|pay no (?:attention|heed)|drop|stop (?:following|obeying)|(?:do not|don't|no longer|not|need not|never) (?:follow|obey|apply|applies|heed|cover|bound|bind|consider)|abandon|discard|override|bypass|neglect|void|lifted?|suspend(?:ed)?|cancel(?:led)?|overrul\w{1,3}|supersed\w{1,2}|not valid|invalid)\b/,
    /\b(?:(?:your|previous|prior|earlier|above|safety|system|existing|original|initial|developer'?s?|operator'?s?|all|any|those|these|other|content|old) (?:\w+ )?(?:instructions?|directions?|directives?|guidance|guidelines?|rules|restrictions?|constraints?|prompts?|orders|limits|limitations|polic(?:y|ies)|safeguards?|messages?|training)|(?:limits|rules|instructions|guidance|restrictions|directions|messages?) (?:the|your|you|that|set|given|at the|from)(?: \w+){0,3}? (?:developer|operator|host|user|person|given|told|start|set|system)|(?:you were|you have been) (?:configured|told|given|instructed|asked|trained)|what(?:ever)? (?:the (?:user|person|human)|you were))\b/,
  ),
  shape(
    'override',
    /\b(?:you are|act as|become|pretend to be|behave like|you're)\b/,
    /\b(?:dan\b|(?:model|assistant|ai|agent) (?:without|free of|with no) (?:\w+ )?(?:limits|restrictions|rules|filters?)|unrestricted|unfiltered|jailbroken|(?:developer|debug|god|admin|root) mode|no (?:limits|restrictions|filters))/,
  ),
  shape(
    'override',
    /\b(?:(?:dear|attention|note (?:to|for)|message (?:to|for)|notice to)[,:]? (?:the |all |any )?(?:ai|llm|language model|assistants?|agents?|models?)|(?:ai|llm|language) (?:agents?|assistants?|models?) (?:reading|who read|that read))\b/,
    /\b(?:set aside|ignore|disregard|forward|send|kindly|pass|upload|secret|before continuing|do not (?:tell|mention|ask)|already (?:authori[sz]ed|approved|agreed))\b/,
  ),
  shape(
    'rank',
    /\b(?:takes? (?:priority|precedence) over|outranks?|overrides?|supersedes?|trumps?|(?:above|over) anything|more important than|replaces?|counts? more than)\b/,
    new RegExp(
      `\\b${PEOPLE} (?:says?|said|asks?|asked|wants?|wishes|requests?|tells? you|instructions?)\\b|\\b(?:your|the system|earlier|previous|other|the developer's) (?:instructions|prompt|guidance|rules|guidelines)\\b`,
    ),
  ),
  shape(
    'obey',
    /\b(?:treat|follow|obey|execute|act on|carry (?:them |it |these |those )?out|perform|comply with)\b/,
    /\b(?:returned|returns|results?|output|response|contained|contains?|answer)\b/,
    /\b(?:steps|commands|instructions|directives|orders|as if|as though)\b/,
    /\b(?:exactly|without question|immediately|at once|as if|as though|to the letter|must|blindly|without (?:asking|checking|review)|no questions)\b/,
  ),
  shape(
    'secrecy',
    /\b(?:not|n't|never|nothing|no|without|refrain|avoid|neither|nobody|conceal|hide|keep|withhold)\b/,
    new RegExp(
      `\\b(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|reveal(?:ing)? (?:this |it |anything )?to|disclose (?:this |it )?to|say (?:\\w+ ){0,3}to|mention (?:\\w+ ){0,4}to|talk (?:\\w+ ){0,3}to|explain (?:\\w+ ){0,3}to|hidden from|secret from|hide (?:\\w+ ){0,4}from|conceal (?:\\w+ ){0,4}from|keep (?:\\w+ ){0,4}from|let(?:ting)?) ${PEOPLE}\\b|\\b${PEOPLE} (?:\\w+ ){0,3}(?:finds? out|know|knows|learns?|notices?|discovers?|hears?|be (?:told|informed|made aware|aware))\\b`,
    ),
    /\b(?:about (?:this|it|that)|find(?:s|ing)? out|knows?|knowing|learns?|notices?|discovers?|hears?|that (?:this|the|you|their|any|a)|be (?:told|informed|made aware|aware)|this (?:step|call|lookup|tool|action|request)|secret|hidden|conceal|hide|any(?:thing)? of this|why)\b/,
    /\b(?:must|should|ensure|essential|important|make sure|never|do not|don't|keep|need|under no|has to|have to|is to|are to|may|without|let|conceal|hide|ought)\b/,
  ),
  shape(
    'secrecy',
    /\b(?:leave out|omit|no mention|(?:not|never) (?:to )?(?:mention|say|bring|report|refer|reveal|disclose|contain|acknowledge|talk about)|refrain from|avoid (?:mentioning|saying|bringing|showing)|without (?:mentioning|showing|saying|reporting)|don't (?:mention|say|bring|reveal|acknowledge)|keep (?:\w+ ){0,2}out of|suppress)\b/,
    /\b(?:in (?:your|the) (?:answer|reply|response|summary|output|final)|in what you say|you (?:reply|answer|respond|say|did|called|used)|your (?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|output)|in the summary|summar(?:y|ies) (?:given|shown|for)|bring(?:ing)? (?:this|it) up|that (?:this|you) (?:tool|called|used|ran|step))\b/,
  ),
  shape(
    'secrecy',
    /\b(?:(?:remain|stay|stays|remains|keep this|keep it) between us|(?:speak|talk|say|tell) (?:\w+ ){0,5}to (?:nobody|no one)|tell (?:nobody|no one)|(?:remain|stay|be kept|keep (?:this|it)(?: \w+){0,2}) (?:secret|hidden|confidential|quiet)|our (?:little )?secret|keep quiet(?: about)?|keep (?:this|it) to yourself|(?:do|run|perform|execute|call|use|send|read|open|upload|copy) (?:this |it |them |these )?(?:quietly|secretly|covertly|discreetly|unnoticed|in secret|stealthily)|(?:quietly|secretly|covertly|discreetly|stealthily) (?:do|run|perform|execute|call|use|send|read|open|upload|copy|add|include|forward)|leave no trace|cover your tracks)\b/,
  ),
  shape(
    'secrecy',
    /\b(?:claim|deny|pretend|lie|answer|say|respond|reply|insist|assure)\b/,
    /\b(?:if|when|should|whenever) (?:the )?(?:\w+ )?(?:asked|asks?|questioned|inquires?|wonders?|user|person|they)\b/,
    /\b(?:no tools?|nothing|not used|never|no data|none)\b/,
  ),
  shape(
    'consent',
    new RegExp(
      `\\b${PEOPLE} (?:\\w+ ){0,4}(?:(?:need not|does not (?:need|have) to|must not|should not) be (?:asked|consulted|involved|bothered)|(?:has |have )?(?:already )?(?:agreed|consented|approved|authori[sz]ed)(?: \\w+){0,3}? (?:in advance|already|beforehand|everything)|has already (?:agreed|consented|approved|authori[sz]ed))|\\b(?:without (?:asking|consulting|involving|waiting for) ${PEOPLE}|(?:assume|presume) (?:that )?(?:the )?(?:consent|permission|approval|confirmation)|(?:consent|permission|approval) (?:has|is) already (?:been )?(?:given|granted)|(?:need not|no need to) (?:ask|consult|confirm with) ${PEOPLE}|(?:skip|bypass|suppress|do not show|ignore) (?:the |any |all )?(?:user )?(?:confirmation|consent|approval|permission)(?: (?:dialogs?|prompts?|steps?))?)\\b`,
    ),
    /\b(?:you|your|assume|presume|may|can|must|should|need not|already|without|agreed|approved|consulted|asked|skip|bypass)\b/,
  ),
  shape(
    'data',
    SEND,
    /\b(?:(?:whole|entire|full|complete|all|any|each|every|last|previous|prior|earlier|past|recent|user's)(?: \w+){0,2}? (?:conversation|chat|dialog(?:ue)?|messages?|prompts?|context|transcript)|(?:conversation|chat) (?:history|so far|log)|transcript of (?:the|this)|system prompt|initial prompt|hidden prompt|(?:what|whatever|everything|all|anything) (?:that )?(?:the (?:user|person|human|customer)|you) (?:\w+ )?(?:typed|wrote|said|asked|remember|know|seen|learned|told|see))\b/,
    TO_MODEL,
  ),
  shape(
    'secrets',
    SEND,
    new RegExp(
      `${SECRET_FILE.source}|\\b(?:ssh keys?|ssh credentials|private keys?|browser cookies|user's (?:\\w+ )?(?:cookies|passwords?|tokens?|keys?|credentials|secrets)|home (?:directory|folder)|~/documents|(?:access|auth|api|session) (?:tokens?|keys?) (?:available|you|in your|that you)|(?:passwords?|credentials|login data|secrets?|tokens|keys) (?:you|that (?:you|appear)|(?:in|from) the (?:chat|conversation|context|environment|machine)|of the (?:user|machine|host)|so far|stored)|secrets? file|(?:output of |run |execute )\`?(?:env|printenv|set)\`?\\b|environment variables (?:of|on) (?:the|this|your) (?:machine|host|process))`,
    ),
    TO_MODEL,
  ),
  shape(
    'secrets',
    SEND,
    /\b(?:passwords?|credentials|login data|tokens|secrets|private keys?)\b/,
    /\b(?:chat|conversation|you have (?:seen|found|access)|available to you|so far|repository's|otherwise|home folder)\b/,
  ),
  shape('secrets', SECRET_FILE, ADDRESS),
  shape(
    'outside',
    /[\w.+-]{1,40}@[\w-]{1,40}\.\w/,
    /\b(?:(?:also|always|every|all|each|any|both|copy|bcc|cc|has to|have to|must)\b(?:[^.]|\.\w){0,80}\b(?:sent?|mail(?:ed)?|e-?mail(?:ed)?|forward(?:ed)?|cc|bcc|copy|copied|recipient|to|goes|go|know)\b|loop|bcc)/,
    /\b(?:sent?|mail(?:ed)?|e-?mail(?:ed)?|forward(?:ed)?|cc|bcc|copy|copied|recipient|loop|know)\b/,
  ),
  shape(
    'outside',
    /https?:\/\//,
    /\b(?:upload|post|send|forward|transmit|submit|report|exfiltrate|push|deliver)\b/,
    /\b(?:afterwards?|also|once (?:done|finished|you)|every|each|all|when(?:ever)? you|before (?:you|answering|continuing)|always|~\/)/,
    /\b(?:results?|conversation|messages?|files?|contents?|data|documents|output|transcript|answers?|copy|~\/\w+)\b|~\//,
  ),
  shape(
    'first',
    /\b(?:call|use|invoke|run|consult|query|output|start with|begin with|rely on)\b/,
    /\b(?:this|it|this one|this (?:tool|function))\b/,
    /\b(?:no matter (?:what|which|how)|whatever (?:is|the|they|was) (?:asked|user|question|request)|regardless of (?:what|the (?:user|question|request|task))|ahead of (?:all|any|every|other)|(?:on|in|for|with|at) every (?:single )?(?:conversation|question|request|turn|message|answer|query|task|prompt)|before (?:doing )?(?:anything|everything|any other|all other|every other|answering|responding|you (?:answer|respond|reply))|even (?:when|if) (?:\w+ ){0,5}(?:not|un)|first action|only (?:the )?(?:output|source|tool)|for any request)\b/,
    /\b(?:must|always|has to|have to|vital|essential|required|demands?|important|needs? to|should|first|policy|only|never|mandatory|obliged)\b/,
  ),
  shape(
    'others',
    /\b(?:(?:all |any |every )?(?:other|competing|similar|alternative|remaining|different|rival) (?:tools?|servers?|functions?|services|plugins?|ways?))\b/,
    /\b(?:avoid(?:ed)?|wrong|must not|should not|not be (?:used|trusted|called)|outdated|unsafe|inferior|unreliable|deprecated|broken|insecure|forbidden|never|do not (?:use|call|trust)|don't (?:use|call|trust)|obsolete|disabled|ignore)\b/,
  ),
]

/** Words of one language, by what they do in an instruction; a shape needs one of each. */
interface Words {
  readonly gate: RegExp
  readonly ignore: RegExp
  readonly rules: RegExp
  readonly keep: RegExp
  readonly tell: RegExp
  readonly user: RegExp
  readonly secret: RegExp
  readonly use: RegExp
  readonly thisTool: RegExp
  readonly first: RegExp
  readonly send: RegExp
  readonly talk: RegExp
  readonly keys: RegExp
}

function shapesOf(words: Words): Shape[] {
  const shapes = [
    shape('override', words.ignore, words.rules),
    shape('secrecy', words.keep, words.tell, words.user),
    shape('secrecy', words.secret, words.user),
    shape('first', words.use, words.thisTool, words.first),
    shape('data', words.send, words.talk),
    shape('secrets', words.send, words.keys),
    shape('secrets', words.send, SECRET_FILE),
  ]
  return shapes.map((each) => ({ gate: words.gate, ...each }))
}

const GERMAN: Words = {
  gate: /\b(?:der|die|das|den|dem|nicht|nichts|und|alle|dieses|diesen|du|im|bevor|zuerst)\b/,
  ignore:
    /\b(?:ignorier\w{0,3}|vergiss|vergesst|vergessen sie|missacht\w{1,3}|verwirf|nicht (?:mehr )?(?:beachten|befolgen|folgen|gelten)|(?:beachte|befolge|folge)\w?\b.{0,60}\bnicht|gelten nicht mehr|außer acht)\b/,
  rules:
    /\b(?:anweisung(?:en)?|instruktion(?:en)?|regeln?|vorgaben?|befehle?n?|richtlinien?|systemprompt|anordnung(?:en)?|beschränkung(?:en)?)\b/,
  keep: /\b(?:nicht|nichts|nie|niemals|ohne|keine[nrm]?|niemandem)\b/,
  tell: /\b(?:sag\w{0,2}|erzähl\w{0,2}|mitteil\w{0,2}|teile|informier\w{0,3}|erwähn\w{0,3}|erfahren|erfährt|wissen|weiß|merk\w{1,2}|bemerk\w{0,3}|verrat\w{0,2}|verrät|berichte\w?|zeig\w{0,2} (?:es|das|dies))\b/,
  user: /\b(?:benutzer\w{0,3}|nutzer\w{0,3}|anwender\w{0,3}|kunden?|menschen?)\b/,
  secret:
    /\b(?:geheim|heimlich|für dich|für sich|verschweig\w{0,2}|verheimlich\w{0,2}|verborgen|unbemerkt|hinter dem rücken)\b/,
  use: /\b(?:ruf\w{0,2}|nutz\w{0,2}|verwende\w{0,2}|benutz\w{0,2}|aufrufen|aufgerufen|starte\w?|genutzt|benutzt)\b/,
  thisTool: /\b(?:diese[srnm]? (?:werkzeug|tool|funktion))\b/,
  first:
    /\b(?:immer|stets|egal|zuerst|zunächst|als erstes|vor (?:allen|allem|jede[mr])|bevor|ausschließlich)\b/,
  send: /\b(?:schick\w{0,2}|sende\w{0,2}|übermittl\w{0,2}|übergib|gib|füge|kopier\w{0,2}|leite|häng\w{0,2}|lies|lese|öffne|lade|trag\w{0,2})\b/,
  talk: /\b(?:gesprächs?verlauf\w{0,2}|unterhaltung|chatverlauf\w{0,2}|systemprompt|(?:gesamte[nrms]?|ganze[nrms]?|alle|bisherige[nrs]?|letzten) (?:\w+ )?(?:gespräch\w{0,2}|chat|verlauf|nachrichten|konversation))\b/,
  keys: /\b(?:passw(?:ort|örter)|kennw(?:ort|örter)|zugangsdaten|privaten? schlüssel|geheimnisse|zugriffstoken)\b/,
}

const FRENCH: Words = {
  gate: /\b(?:le|la|les|l'\w|de|du|des|ne|et|cet|cette|pas|dans|tout(?:e|es)?)\b/,
  ignore:
    /(?:\bignore[zr]?\b|\boublie[zr]?\b|\bnéglige[zr]?\b|\bne (?:suis|suivez|tiens|tenez|respecte[zr]?)\b|fai(?:s|tes) abstraction|ne s'appliquent plus|\bécarte[zr]?\b)/,
  rules: /\b(?:instructions?|consignes?|directives?|règles|ordres|invite système|restrictions)\b/,
  keep: /(?:\bne\b|\bn'|\brien\b|\bjamais\b|\bsans\b|\baucune?\b)/,
  tell: /\b(?:dis|dites|dire|informe[zr]?|préviens|prévenez|prévenir|mentionne[zr]?|parle[zr]?|révèle[zr]?|savoir|sache|apprenne|apprendre|remarque[r]?|montre[zr]? (?:cela|ceci))\b/,
  user: /\b(?:l'utilisateur|utilisateurs?|l'utilisatrice|humain|à personne)\b/,
  secret: /(?:\bsecrète(?:ment)?\b|\ben secret\b|\bcache[zr]?\b|\bà l'insu\b|\bdiscrètement\b|pour toi)/,
  use: /\b(?:appelle[zr]?|appelé|utilise[zr]?|utilisé|invoque[zr]?|exécute[zr]?|lance[zr]?)\b/,
  thisTool: /\b(?:cet outil|cette fonction)\b/,
  first: /(?:\btoujours\b|quelle que soit|peu importe|quoi qu|en premier|d'abord|avant toute?|exclusivement)/,
  send: /\b(?:envoie[zs]?|envoyer|transmet(?:s|tez|tre)|inclu[stz]\w{0,3}|ajoute[zr]?|copie[zr]?|joins|joignez|mets|mettez|fournis|lis(?:ez)?|ouvre[zr]?)\b/,
  talk: /(?:historique de (?:la |cette )?(?:conversation|discussion)|prompt système|invite système|tou(?:te|t|s)(?: \w+){0,2} (?:la |les |l'|le )?(?:conversation|discussion|messages|échanges|historique))/,
  keys: /(?:mots? de passe|identifiants de connexion|clés? privées?|jetons? d'accès|secrets de)/,
}

const SPANISH: Words = {
  gate: /\b(?:el|la|los|las|de|del|no|y|esta|este|que|todo|todas?|al)\b/,
  ignore:
    /\b(?:ignor[aeo]\w{0,2}|olvid[ae]\w{0,2}|desestim[ae]\w{0,2}|descart[ae]\w{0,2}|no (?:sigas|obedezcas|respetes)|(?:ya )?no tengas en cuenta|deja de seguir|ya no (?:valen|rigen|aplican))\b/,
  rules:
    /(?:\binstrucci[oó]n(?:es)?\b|\bindicaciones\b|\bórdenes\b|\breglas\b|\bdirectrices\b|\brestricciones\b|\bprompt\b)/,
  keep: /\b(?:no|nada|nunca|jamás|sin|ning[uú]n)\b/,
  tell: /\b(?:dig[ao]s?|decir(?:le)?|cuentes?|contar(?:le)?|informes?|informar|mencion[ae]s?|mencionar|reveles?|revelar|entere|enterarse|sepa|avises?|note)\b/,
  user: /\b(?:usuari[oa]s?|cliente|humano|nadie)\b/,
  secret: /\b(?:en secreto|secretamente|a escondidas|ocult[ae]r?|oculto|discretamente|a espaldas)\b/,
  use: /\b(?:llam[ae]\w{0,2}|us[ae]r?|utili[zc][ae]r?|invo[cq]u?[ae]r?|ejecut[ae]r?)\b/,
  thisTool: /\best[ae] (?:herramienta|función)\b/,
  first:
    /(?:\bsiempre\b|sin importar|independientemente|pase lo que pase|\bprimero\b|antes (?:de hacer|que nada|de cualquier)|exclusivamente)/,
  send: /\b(?:env[ií][ae]\w{0,2}|mand[ae]|reenv[ií][ae]|incluy[ae]\w{0,2}|añad[ae]|agreg[au]e?|copi[ae]|pas[ae]|adjunt[ae]|lee|lea|abr[ae])\b/,
  talk: /(?:historial de la (?:conversación|charla)|prompt del sistema|tod[oa]s?(?: \w+){0,2} (?:la |los |el )?(?:conversación|mensajes|diálogo|charla|historial))/,
  keys: /(?:contraseñas?|credenciales del|claves? privadas?|tokens? de acceso)/,
}

const PORTUGUESE: Words = {
  gate: /(?:\b(?:o|os|as|de|do|da|e|esta|este|que|tod[oa]s?|ao|no)\b|não)/,
  ignore:
    /(?:\bignor[ae]\w{0,2}\b|\besque[cç][ae]\w{0,2}\b|\bdesconsider[ae]|\bdescart[ae]\b|não (?:siga|obedeça|respeite)|deix[ae] de (?:seguir|obedecer)|já não valem|não valem mais)/,
  rules: /(?:instruç(?:ão|ões)|orientações|\bordens\b|\bregras\b|\bdiretrizes\b|\brestrições\b|\bprompt\b)/,
  keep: /(?:\bnão\b|\bnada\b|\bnunca\b|\bjamais\b|\bsem\b)/,
  tell: /\b(?:diga|dizer|conte|contar|informe|informar|mencione|mencionar|revele|revelar|saber|saiba|descubra|perceba|avise|avisar)\b/,
  user: /(?:usuári[oa]s?|utilizador(?:es)?|\bcliente\b|humano|ninguém)/,
  secret: /(?:em segredo|secretamente|às escondidas|\bocult[ae]r?\b|\bescond[ae]\b|discretamente)/,
  use: /\b(?:cham[ae]r?|us[ae]r?|utiliz[ae]r?|invo[cq]u?[ae]r?|execut[ae]r?)\b/,
  thisTool: /\best[ae] (?:ferramenta|função)\b/,
  first:
    /(?:\bsempre\b|não importa|independentemente|\bprimeiro\b|antes de (?:qualquer|tudo|fazer)|exclusivamente)/,
  send: /\b(?:envi[ae]|mand[ae]|encaminh[ae]|inclu[ia]|adicione|copie|pass[ae]|anexe|leia|abra)\b/,
  talk: /(?:histórico da conversa|prompt do sistema|tod[oa]s?(?: \w+){0,2} (?:a |as |o )?(?:conversa|mensagens|diálogo|histórico))/,
  keys: /(?:\bsenhas?\b|credenciais do|chaves? privadas?|tokens? de acesso)/,
}

const CHINESE: Words = {
  gate: /[\u4e00-\u9fff]/,
  ignore: /忽略|无视|忘记|(?:不要|不再|不必|无需|停止)(?:再)?(?:遵守|遵循|服从|理会|按照|执行)|抛开|作废/,
  rules: /指令|指示|规则|提示词|要求|命令|系统提示|准则|限制|约束/,
  keep: /不要|不得|不能|勿|禁止|别|不可|不应|无需|避免/,
  tell: /告诉|告知|通知|提及|提起|透露|知道|知晓|察觉|发现这|提到|看到这|说明这/,
  user: /用户|使用者|人类|客户|任何人/,
  secret: /保密|秘密|隐瞒|瞒着|偷偷|悄悄|暗中/,
  use: /调用|使用|运行|执行/,
  thisTool: /[此本该这]个?(?:工具|函数|功能)/,
  first: /总是|始终|一律|每次|无论|不管|首先|先(?:调用|使用|运行)|任何(?:其他|事)|之前.{0,10}必须/,
  send: /发送|上传|转发|提交|传递|附上|附加|放入|复制|填入|读取|打开|传入|写入|包含在/,
  talk: /(?:完整|全部|所有|整个)的?(?:对话|聊天|会话|消息)|(?:对话|聊天|会话)(?:历史|记录|内容)|系统提示/,
  keys: /密码|私钥|访问令牌|登录凭证|密钥文件/,
}

const JAPANESE: Words = {
  gate: /[\u3040-\u30ff]/,
  ignore: /無視|忘れて|従わない|従わず|従う必要はな|破棄して|守らな/,
  rules: /指示|命令|ルール|規則|プロンプト|ガイドライン|制限|方針/,
  keep: /ないで|ないよう|せず|ずに|てはいけ|てはなら|禁止|しない(?:こと|で)/,
  tell: /伝え|知らせ|言わ|話さ|教え|知られ|気づ|気付|報告|言及|明か|触れ/,
  user: /ユーザ|利用者|使用者|人間|誰に/,
  secret: /秘密に|内緒|隠して|こっそり|密かに|黙って/,
  use: /呼び出|使用し|使って|使う|実行し|利用し/,
  thisTool: /この(?:ツール|関数|機能)/,
  first: /必ず|常に|いつも|最初に|まず|よりも?先に|何を聞|どんな質問|前に必ず/,
  send: /送信|送って|転送|含めて|添付|渡し|入れて|アップロード|投稿|読み取|読んで|開いて|コピーし/,
  talk: /(?:会話|チャット|対話)(?:の)?(?:全|すべて|履歴|内容|記録)|(?:全|すべて)の(?:会話|メッセージ)|システムプロンプト|会話の全/,
  keys: /パスワード|秘密鍵|アクセストークン|認証情報を/,
}

const RUSSIAN: Words = {
  gate: /[а-яё]{3}/,
  ignore:
    /игнориру|забудь|забыть о|отбрось|пренебрег|не (?:следуй|соблюдай|выполняй|подчиняйся|учитывай)|больше не действ/,
  rules: /инструкци|указани|правил|команд|распоряжени|промпт|ограничени/,
  keep: /(?:^|[^\p{L}])(?:не|никогда|ничего|без|ни)(?![\p{L}])/u,
  tell: /говори|сообща|сообщи|рассказ|упомина|уведомл|раскры|знал|знать|узна|замет|показывай|информир|ведома/,
  user: /пользовател|человек|клиент|никому/,
  secret: /в тайне|втайне|тайно|секрет|скрой|скрыва|скрытно|незаметно/,
  use: /вызыва|вызови|вызвать|использ|запуска|запусти|примен/,
  thisTool: /эт(?:от|у|ой|им|ого) (?:инструмент|функци)/,
  first: /всегда|независимо|что бы ни|каждый раз|первым|сначала|прежде|до любых|раньше всех/,
  send: /отправ|перешли|передай|пришли|включи|скопиру|добавь|вставь|загрузи|приложи|прочита|прочти|открой/,
  talk: /истори\p{L}{0,2} (?:\p{L}+ )?(?:разговор|диалог|чат|сообщен|переписк|бесед)|(?:весь|всю|все|полный|последние) (?:\p{L}+ )?(?:разговор|диалог|переписк|бесед|чат|сообщени)|системн\p{L}{1,3} промпт/u,
  keys: /парол|закрыт\p{L}{1,3} ключ|приватн\p{L}{1,3} ключ|учётные данные|учетные данные|токен\p{L}{0,2} доступа/u,
}

const OTHER_LANGUAGES = [GERMAN, FRENCH, SPANISH, PORTUGUESE, CHINESE, JAPANESE, RUSSIAN]

/** Every shape that is looked for, over text in lower case. */
export const SHAPES: readonly Shape[] = [
  ...ENGLISH.map((each) => ({ gate: /[a-z]{2} [a-z]/, ...each })),
  ...OTHER_LANGUAGES.flatMap(shapesOf),
]
