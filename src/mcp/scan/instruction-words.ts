import type { FindingKind, Severity } from '../../finding.ts'

/**
 * The shape of an instruction to a model: a sentence in which all of these parts occur, in any order. Each part is a
 * pattern without open repetitions, so that looking for all of them takes time linear in the text.
 */
export interface Shape {
  readonly kind: FindingKind
  readonly severity: Severity
  readonly message: string
  readonly parts: readonly RegExp[]
}

const MESSAGES = {
  override: 'tells the model to disregard what it was told',
  rank: 'puts itself above what the user or the host says',
  secrecy: 'tells the model to keep something from the user',
  consent: 'tells the model to act without asking the user',
  data: 'asks for the conversation or the system prompt',
  secrets: 'asks for keys, passwords or files that hold them',
  first: 'wants to come before every other tool',
  obey: 'tells the model to obey what a tool returns',
} as const

const KINDS: Readonly<Record<keyof typeof MESSAGES, readonly [FindingKind, Severity]>> = {
  override: ['override', 'high'],
  rank: ['override', 'high'],
  secrecy: ['secrecy', 'high'],
  consent: ['secrecy', 'medium'],
  data: ['exfiltration', 'high'],
  secrets: ['exfiltration', 'high'],
  first: ['precedence', 'medium'],
  obey: ['override', 'high'],
}

function shape(meaning: keyof typeof MESSAGES, ...parts: RegExp[]): Shape {
  const [kind, severity] = KINDS[meaning]
  return { kind, severity, message: MESSAGES[meaning], parts }
}

/** Files that hold keys or passwords, in any language. */
const SECRET_FILE =
  /~\/\.(?:ssh|aws|env|netrc|gnupg|kube|config|bash_history|npmrc|docker)|\bid_(?:rsa|ed25519|ecdsa)\b(?!\.pub)|\/etc\/(?:passwd|shadow)\b|\.aws\/credentials|\.netrc\b/
const ADDRESS = /https?:\/\/|\b[\w.+-]{1,40}@[\w-]{1,40}\.\w/

const ENGLISH_SEND =
  /\b(?:send|forward|post|upload|pass|includ(?:e|ing)|attach|append|put|copy|quote|hand over|supply|provide|paste|transmit|submit|leak|repeat|add|share|disclose|email|load|open|read|encode)\b/
const ENGLISH_TALK =
  /\b(?:conversation|chat|dialog(?:ue)?|transcript|(?:last|earlier|previous|all|past|prior) (?:\w+ )?messages|system prompt|initial prompt|(?:typed|wrote|said|told you)(?: earlier| before| so far)?)\b/
const ENGLISH_USER =
  '(?:the |an? |your |any )?(?:users?|humans?|persons?|people|operators?|owners?|customers?|anyone|anybody|someone)'

const ENGLISH: readonly Shape[] = [
  shape(
    'override',
    /\b(?:ignore|disregard|forget|set aside|pay no (?:attention|heed)|drop|stop (?:following|obeying)|(?:do not|don't|no longer) (?:follow|obey|apply|applies|heed)|abandon|discard|throw out|override|bypass|neglect)\b/,
    /\b(?:instructions?|directions?|directives?|guidance|guidelines?|rules|restrictions?|constraints?|prompts?|developer(?:'s)? messages?|system messages?|orders|asked for|safety|what (?:you were|the (?:user|person|human)))\b/,
    /\b(?:previous|prior|earlier|above|before|so far|you (?:were|have been) (?:given|told)|developer|system|start of the|initial|original|your|existing|outdated|old|safety|else)\b/,
  ),
  shape(
    'rank',
    /\b(?:takes? (?:priority|precedence) over|(?:outranks?|overrides?|supersedes?|trumps?)|(?:above|over) anything|replaces?)\b/,
    new RegExp(
      `\\b${ENGLISH_USER} (?:says?|said|asks?|asked|wants?|wishes|requests?|tells? you)\\b|\\b(?:your|the system|earlier|previous|other) (?:instructions|prompt|guidance|rules|guidelines)\\b`,
    ),
  ),
  shape(
    'secrecy',
    /\b(?:not|n't|never|nothing|no|without|refrain|avoid|neither|nobody|conceal|hide|keep)\b/,
    new RegExp(
      `\\b(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|to|from|let(?:ting)?) ${ENGLISH_USER}\\b|\\b${ENGLISH_USER} (?:\\w+ ){0,2}(?:finds? out|know|knows|learn|learns|notices?|discovers?|be (?:told|informed|aware))\\b`,
    ),
    /\b(?:about (?:this|it|that)|find(?:s|ing)? out|know|knows|knowing|learns?|notice|discover|that (?:this|the|you)|be (?:told|informed|aware)|this (?:step|call|lookup|tool|action|request)|secret|hidden|any(?:thing)? of this)\b/,
    /\b(?:must|should|ensure|essential|important|make sure|never|do not|don't|keep|need|under no|has to|have to|is to|are to|may|without|let)\b/,
  ),
  shape(
    'secrecy',
    /\b(?:leave out|omit|no mention|not (?:mention|say|bring|report|refer|show|reveal|disclose)|never (?:mention|say|bring|report|refer|reveal|disclose)|refrain from|avoid (?:mentioning|saying|bringing|showing)|without (?:mentioning|showing|saying|reporting)|don't (?:mention|say|bring))\b/,
    /\b(?:in (?:your|the) (?:answer|reply|response|summary|output|final)|in what you say|you (?:reply|answer|respond|say)|your (?:answer|reply|response|summary)|in the summary|bring(?:ing)? (?:this|it) up)\b/,
  ),
  shape(
    'secrecy',
    /\b(?:(?:remain|stay|stays|remains|keep this|keep it) between us|(?:speak|talk|say|tell) (?:\w+ ){0,5}to (?:nobody|no one)|tell (?:nobody|no one)|(?:remain|stay|be kept) (?:secret|hidden|confidential) from|our (?:little )?secret)\b/,
  ),
  shape(
    'consent',
    new RegExp(
      `\\b(?:${ENGLISH_USER} (?:\\w+ ){0,4}(?:need not|does not (?:need|have) to|must not|should not) be (?:asked|consulted|involved|bothered)|without (?:asking|consulting|involving|waiting for) ${ENGLISH_USER}|(?:assume|presume|treat) (?:that )?(?:the )?(?:consent|permission|approval|confirmation)|(?:consent|permission|approval) (?:has|was|is) (?:already )?(?:been )?(?:given|granted)|(?:need not|no need to) (?:ask|consult|confirm with) ${ENGLISH_USER})`,
    ),
  ),
  shape(
    'data',
    ENGLISH_SEND,
    ENGLISH_TALK,
    /\b(?:whole|entire|full|complete|everything|word for word|verbatim|last \w+|all|any|whatever|transcript|system prompt|so far|earlier)\b/,
    /\b(?:must|should|has to|have to|is expected|always|before|once|also|first|please|so that|otherwise|in the (?:field|parameter|argument)|to (?:the|this)|agents?|you|https?)\b|https?:\/\//,
  ),
  shape(
    'data',
    ENGLISH_SEND,
    /\b(?:everything|all|anything|whatever) (?:that )?you (?:remember|know|have (?:seen|learned|been told)|see)\b/,
  ),
  shape('secrets', ENGLISH_SEND, SECRET_FILE),
  shape(
    'secrets',
    ENGLISH_SEND,
    /\b(?:passwords?|credentials|login data|logins?|private keys?|secrets?(?: file)?|api keys?|access keys?|tokens)\b/,
    /\b(?:you have (?:seen|found|access to|been given)|(?:that )?appear in the (?:chat|conversation)|in the (?:chat|conversation|home (?:folder|directory)|context)|so far|(?:of|on) the (?:machine|computer|host)|the user's|user's|home folder|seen so far|repository's|environment's)\b/,
    /\b(?:must|should|have to|has to|also|first|before|otherwise|so (?:that )?we|attach|to (?:verify|work|function)|into the (?:argument|parameter|field)|in the (?:argument|parameter|field)|pass them|add)\b/,
  ),
  shape(
    'first',
    /\b(?:first (?:action|step|thing|call)|always|must|has to|have to|only|every (?:conversation|question|request|turn|message|answer))\b/,
    /\b(?:call|use|invoke|run|output) (?:\w+ ){0,3}this (?:tool|function|one)\b|\boutput of this tool\b/,
    /\b(?:no matter|whatever (?:is|the|they|was)|regardless of (?:what|the)|any other (?:tools?|way)|every (?:conversation|question|request|turn|message|answer)|before (?:anything|everything|any other|all other|answering|responding))\b/,
  ),
  shape(
    'obey',
    /\b(?:treat|follow|obey|execute|act on|carry out|regard)\b/,
    /\b(?:returned|returns|results?|output|response|contained)\b/,
    /\b(?:as if|as though|like (?:an? )?(?:order|instruction|command)s? (?:of|from)|with the authority)\b/,
    /\b(?:developer|owner|user|system|host|administrator|admin|human|person|issued|written)\b/,
  ),
  shape(
    'override',
    /\b(?:dear|attention|note (?:to|for)|message (?:to|for)|(?:ai|llm|language) (?:agents?|assistants?|models?)) ?(?:the |all |any )?(?:ai|llm|language model|assistants?|agents?|models?|reading|who read|that read)\b/,
    /\b(?:set aside|ignore|forward|send|include|pass|kindly|must|disregard|before continuing|call|follow)\b/,
  ),
]

const OTHER_LANGUAGES: readonly Shape[] = [
  // German
  shape(
    'override',
    /\b(?:ignorier\w{0,3}|vergiss|vergesse\w?|missachte\w?|beachte\w? nicht|verwirf)\b/,
    /\b(?:anweisung(?:en)?|instruktion(?:en)?|regeln|vorgaben|befehle|richtlinien|systemprompt)\b/,
    /\b(?:bisherige[nrs]?|vorherige[nrs]?|früheren?|vorige[nr]?|obigen?|alle[nr]?|deine[nr]?|bestehenden?)\b/,
  ),
  shape(
    'secrecy',
    /\b(?:nicht|nichts|nie|niemals|ohne|keine[nrm]?|geheim|verschweig\w{0,2})\b/,
    /\b(?:sag\w{0,2}|erzähl\w{0,2}|mitteil\w{0,2}|teile|informier\w{0,3}|erwähn\w{0,3}|erfahren|erfährt|wissen|weiß|merken|bemerkt|verrat\w{0,2}|verrät|verschweig\w{0,2})\b/,
    /\b(?:benutzer\w{0,3}|nutzer\w{0,3}|anwender\w{0,3}|menschen?)\b/,
  ),
  shape(
    'first',
    /\b(?:immer|stets|egal|unabhängig|jedes mal|in jedem fall)\b/,
    /\b(?:ruf\w{0,2}|nutz\w{0,2}|verwend\w{0,2}|benutz\w{0,2}|aufrufen|starte)\b/,
    /\b(?:dieses? (?:werkzeug|tool|funktion))\b/,
    /\b(?:zuerst|als erstes|vor (?:allen|jedem)|egal)\b/,
  ),
  shape(
    'data',
    /\b(?:schick\w{0,2}|send\w{0,3}|übermittl\w{0,2}|übergib|gib|füge|kopier\w{0,2}|leite)\b/,
    /\b(?:gesprächs?verlauf\w{0,2}|gespräche?s?|unterhaltung|chat(?:verlauf)?|verlauf|systemprompt|nachrichten)\b/,
    /\b(?:gesamte[nrms]?|ganze[nrms]?|vollständige[nrms]?|alle|bisherige[nrs]?|letzten|systemprompt)\b/,
  ),
  shape(
    'secrets',
    /\b(?:lies|lese|schick\w{0,2}|send\w{0,3}|übergib|kopier\w{0,2}|füge|öffne)\b/,
    new RegExp(`${SECRET_FILE.source}|\\b(?:passw(?:ort|örter)|zugangsdaten|privaten? schlüssel)\\b`),
  ),
  // French
  shape(
    'override',
    /\b(?:ignore[zr]?|oublie[zr]?|néglige[zr]?|ne (?:suis|suivez|tiens|tenez)|fais abstraction)/,
    /\b(?:instructions?|consignes?|directives?|règles|ordres|invite)\b/,
    /(?:précédente?s?|antérieure?s?|ci-dessus|toutes|système|tes|vos|initiales?)/,
  ),
  shape(
    'secrecy',
    /\b(?:ne|n'|rien|jamais|sans|secret|aucune?)\b/,
    /\b(?:di[st]|dites|dire|informe[zr]?|préviens|prévenez|mentionne[zr]?|parle[zr]?|révèle[zr]?|savoir|sache|apprenne|apprendre|remarque)\b/,
    /\b(?:l'utilisateur|utilisateurs?|l'utilisatrice|humain|personne)\b/,
    /(?:\bà ce sujet|\bcela\b|\bceci\b|\brien\b|\bdoit pas\b|\bdoivent pas\b|\bétape|\bjamais\b|\bque\b|\ben\b)/,
  ),
  shape(
    'first',
    /(?:\btoujours\b|quelle que soit|peu importe|quoi qu)/,
    /\b(?:appelle[zr]?|utilise[zr]?|invoque[zr]?|exécute[zr]?|lance[zr]?)\b/,
    /\bcet? (?:outil|fonction)\b|\bcette fonction\b/,
    /(?:en premier|d'abord|avant tout|peu importe|quelle que)/,
  ),
  shape(
    'data',
    /\b(?:envoie[zs]?|envoyer|transmet(?:s|tez|tre)|inclu[stz]\w{0,3}|ajoute[zr]?|copie[zr]?|joins|mets|fournis)\b/,
    /(?:historique|conversation|discussion|échanges|messages|invite système|prompt système)/,
    /(?:tout|toute|entière?|intégral|complète?|dernier)/,
  ),
  shape(
    'secrets',
    /\b(?:lis(?:ez)?|lire|envoie[zs]?|transmet\w{0,3}|inclu\w{1,3}|copie[zr]?|mets|ouvre[zr]?)\b/,
    new RegExp(`${SECRET_FILE.source}|mots? de passe|identifiants de connexion|clés? privées?`),
  ),
  // Spanish
  shape(
    'override',
    /\b(?:ignor[aeo]\w{0,2}|olvid[ae]\w{0,2}|desestim[ae]\w{0,2}|descart[ae]\w{0,2}|no sigas)\b/,
    /\b(?:instrucci[oó]n(?:es)?|indicaciones|órdenes|reglas|directrices|prompt)\b/,
    /\b(?:anterior(?:es)?|previas?|todas|sistema|tus|iniciales)\b/,
  ),
  shape(
    'secrecy',
    /\b(?:no|nada|nunca|jamás|sin|secreto|ning[uú]n)\b/,
    /\b(?:dig[ao]s?|decir(?:le)?|cuente?s?|inform[ae]s?|mencion[ae]s?|revel[ae]s?|enter(?:e|arse|en|a)|sep[ao]n?|saber|avis[ae]s?|not[ae])\b/,
    /\b(?:usuari[oa]s?|humano|persona|nadie)\b/,
    /(?:\besto\b|\bello\b|\bpaso\b|\bnada\b|\bdebe\b|\bnunca\b|\bque\b)/,
  ),
  shape(
    'first',
    /(?:\bsiempre\b|sin importar|independientemente|pase lo que pase)/,
    /\b(?:llam[ae]\w{0,2}|us[ae]|utili[zc][ae]|invo[cq]u?[ae]|ejecut[ae])\b/,
    /\best[ae] (?:herramienta|función)\b/,
    /(?:primero|antes (?:de|que)|sin importar)/,
  ),
  shape(
    'data',
    /\b(?:env[ií][ae]\w{0,2}|manda|reenv[ií]a|inclu[iy]\w{0,2}|añade|agrega|copia|pasa|adjunta)\b/,
    /(?:historial|conversación|diálogo|charla|mensajes|prompt del sistema)/,
    /(?:tod[oa]s?|enter[oa]|complet[oa]|íntegr[oa]|últimos)/,
  ),
  shape(
    'secrets',
    /\b(?:lee|lea|env[ií][ae]|pasa|copia|inclu[iy]\w{0,2}|abre|adjunta)\b/,
    new RegExp(`${SECRET_FILE.source}|contraseñas?|credenciales del|claves? privadas?`),
  ),
  // Portuguese
  shape(
    'override',
    /\b(?:ignor[ae]\w{0,2}|esque[cç][ae]\w{0,2}|desconsider[ae]|descart[ae]|não siga)\b/,
    /(?:instruç(?:ão|ões)|orientações|ordens|regras|diretrizes|prompt)/,
    /\b(?:anterior(?:es)?|prévias?|todas|sistema|suas|tuas|iniciais)\b/,
  ),
  shape(
    'secrecy',
    /(?:\bnão\b|\bnada\b|\bnunca\b|\bjamais\b|\bsem\b|\bsegredo\b)/,
    /\b(?:diga|dizer|conte|contar|inform[ae]r?|mencion[ae]r?|revel[ae]r?|saber|saiba|descubra|perceba|avis[ae]r?|mostr[ae]r?)\b/,
    /(?:usuári[oa]s?|utilizador(?:es)?|humano|pessoa|ninguém)/,
    /(?:\bisto\b|\bisso\b|\bpasso\b|\betapa\b|\bnada\b|\bdeve\b|\bnunca\b|\bque\b|\bdisto\b|\bdisso\b)/,
  ),
  shape(
    'first',
    /(?:\bsempre\b|não importa|independentemente)/,
    /\b(?:cham[ae]|us[ae]|utiliz[ae]|invo[cq]u?[ae]|execut[ae])\b/,
    /\best[ae] (?:ferramenta|função)\b/,
    /(?:primeiro|antes de|não importa|em primeiro)/,
  ),
  shape(
    'data',
    /\b(?:envi[ae]|mand[ae]|encaminh[ae]|inclu[ia]|adicione|copie|passe|anexe)\b/,
    /(?:histórico|conversa|diálogo|mensagens|prompt do sistema)/,
    /(?:tod[oa]s?|inteir[oa]|complet[oa]|íntegr[oa]|últimas)/,
  ),
  shape(
    'secrets',
    /\b(?:leia|envi[ae]|passe|copie|inclu[ia]|abra|anexe)\b/,
    new RegExp(`${SECRET_FILE.source}|senhas?\\b|credenciais do|chaves? privadas?`),
  ),
  // Chinese
  shape(
    'override',
    /忽略|无视|忘记|不要遵守|不再遵守|抛开|忽視|無視/,
    /指令|指示|说明|規則|规则|提示词|要求|命令|系统提示/,
    /之前|以前|先前|此前|上述|以上|所有|原有|系统|前面/,
  ),
  shape(
    'secrecy',
    /不要|不得|不能|勿|禁止|别|不可|不应|无需|瞒|隱瞞|隐瞒/,
    /告诉|告知|通知|提及|透露|知道|知晓|察觉|发现|说明|提到|让.{0,6}看到/,
    /用户|使用者|人类|客户|任何人/,
    /这|此|该|本|一步|件事|操作|秘密/,
  ),
  shape(
    'first',
    /总是|始终|必须|一律|每次|无论|不管/,
    /调用|使用|运行|执行/,
    /[此本该这]个?(?:工具|函数|功能)/,
    /先|首先|第一|之前|无论|不管/,
  ),
  shape(
    'data',
    /发送|上传|转发|提交|传递|附上|放入|包含|复制|填入/,
    /对话|聊天|会话|系统提示|消息/,
    /完整|全部|所有|整个|历史|记录|全文/,
  ),
  shape(
    'secrets',
    /读取|打开|发送|上传|放入|附上|包含|复制|传入|传递/,
    new RegExp(`${SECRET_FILE.source}|密码|私钥|凭证文件|密钥文件`),
  ),
  // Japanese
  shape(
    'override',
    /無視|忘れて|従わない|破棄/,
    /指示|命令|ルール|規則|プロンプト|指図|ガイドライン/,
    /これまで|以前|前の|上記|すべて|全て|システム|先の|元の/,
  ),
  shape(
    'secrecy',
    /ないで|ないよう|せず|ずに|てはいけ|てはなら|禁止|秘密|内緒|隠/,
    /伝え|知らせ|言わ|話さ|教え|知られ|気づ|気付|報告|言及|明か|見せ|秘密|内緒|隠/,
    /ユーザ|利用者|使用者|人間|誰に/,
  ),
  shape(
    'first',
    /必ず|常に|いつも|何を|どんな/,
    /呼び出|使用し|使って|実行し|利用し/,
    /この(?:ツール|関数|機能)/,
    /最初|まず|先に|前に|何を聞/,
  ),
  shape(
    'data',
    /送信|送って|転送|含め|添付|渡し|入れて|アップロード|投稿/,
    /会話|チャット|対話|履歴|システムプロンプト|メッセージ/,
    /全|すべて|完全|履歴|全体|全文/,
  ),
  shape(
    'secrets',
    /読み取|読んで|読み込|開いて|送信|送って|含め|渡し|入れて|コピー/,
    new RegExp(`${SECRET_FILE.source}|パスワード|秘密鍵|認証情報ファイル`),
  ),
  // Russian
  shape(
    'override',
    /(?:^|[^\p{L}])(?:игнориру\p{L}{1,4}|забудь\p{L}{0,2}|отбрось\p{L}{0,2}|не следуй\p{L}{0,2}|пренебрег\p{L}{1,4})/u,
    /инструкци|указани|правил|команд|распоряжени|промпт/,
    /предыдущ|прежн|прошл|все |всех|выше|системн|ранее|свои/,
  ),
  shape(
    'secrecy',
    /(?:^|[^\p{L}])(?:не|никогда|ничего|без|тайн\p{L}{0,4}|скры\p{L}{1,4}|секрет\p{L}{0,3})(?![\p{L}])/u,
    /говори|сообща|сообщи|рассказ|упомина|уведомл|раскры|знал|знать|узна|замет|показыва|информир|ведома/,
    /пользовател|человек|человеку|клиент|никому/,
  ),
  shape(
    'first',
    /всегда|обязательно|независимо|что бы ни|каждый раз/,
    /вызыва|вызови|использу|запуска|запусти|примен/,
    /эт(?:от|у|ой|им|ого) (?:инструмент|функци)/,
    /перв|сначала|прежде|до любых|что бы ни/,
  ),
  shape(
    'data',
    /отправ|перешли|передай|пришли|включи|скопиру|добавь|вставь|загрузи/,
    /истори|разговор|диалог|переписк|беседа|беседы|чат|сообщени|системн\p{L}{1,3} промпт/u,
    /всю|весь|полн|целиком|все |последн/,
  ),
  shape(
    'secrets',
    /прочита|прочти|открой|отправ|передай|скопиру|включи|вставь|добавь/,
    new RegExp(`${SECRET_FILE.source}|парол|закрыт\\p{L}{1,3} ключ|приватн\\p{L}{1,3} ключ`, 'u'),
  ),
  // Any language: something is sent to an address, and it is the talk or a file of secrets.
  shape('secrets', SECRET_FILE, ADDRESS),
]

/** Every shape that is looked for, over text in lower case. */
export const SHAPES: readonly Shape[] = [...ENGLISH, ...OTHER_LANGUAGES]
