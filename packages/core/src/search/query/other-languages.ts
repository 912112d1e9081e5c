import { onFirstUse } from '../../on-first-use.ts'

/**
 * Tool words in Spanish, French, German, Portuguese, Russian, Chinese, Hindi, Arabic and Japanese, written as stems, so
 * that inflected and compound words match. Models read that they should search in English; a person at a terminal does not.
 */
const DICTIONARY: Readonly<Record<string, string>> = {
  open: 'abre abrir ouvrir ouvre öffne abra откр 打开 खोल افتح 開く 開い',
  close: 'cierra cerrar ferme schließ fechar закр 关闭 बंद أغلق 閉じ',
  send: 'envia enviar manda envoie envoyer schick send versend отправ пошли 发送 发 भेज أرسل ارسل 送信 送',
  read: 'lee leer lire lis les lesen ler leia прочит чита 读 读取 阅读 पढ़ اقرأ 読',
  write: 'escrib écri ecri schreib escrev напи пиш 写 लिख اكتب 書',
  create: 'crea crear créer crée erstell anleg cria criar созда 创建 新建 建 बना أنشئ انشئ 作成 作',
  new: 'nuevo nueva nouveau nouvelle neue neues novo nova нов 新 नया नई جديد 新しい',
  delete: 'borra borrar elimin suppri efface lösch entfern apaga exclu удал 删除 हटा मिटा احذف 削除 消',
  update: 'actualiz modifi met aktualisier änder atualiz обнов измен 更新 修改 अपडेट बदल حدث 更新する 変更',
  search:
    'busca buscar cherch recherch such durchsuch procura pesquis ищи найд поиск 搜索 查找 搜 खोज ابحث 検索 探',
  find: 'encuentra encontrar trouve find encontre найти 找 找到 ढूंढ جد 見つけ',
  list: 'lista listar liste auflist zeig listar список покаж 列出 列表 显示 सूची दिखा قائمة اعرض 一覧 表示',
  show: 'muestra mostrar montre affiche zeig mostre покаж 显示 看 दिखा أظهر 見せ',
  download: 'descarga télécharg herunterlad baixar скач загруз 下载 डाउनलोड حمل ダウンロード',
  upload: 'subir sube téléverse hochlad enviar выгруз 上传 अपलोड ارفع アップロード',
  copy: 'copia copier kopier copie копир 复制 कॉपी انسخ コピー',
  move: 'mueve mover déplac verschieb mova перемест 移动 移 انقل 移動',
  rename: 'renombr renomm umbenenn renomear переимен 重命名 नाम بدل 名前',
  run: 'ejecut exécut ausführ start executa запус выполн 运行 执行 चला شغل 実行',
  start: 'inicia démarr start inicie начн 启动 开始 शुरू ابدأ 開始',
  stop: 'detén para arrêt stopp pare остан 停止 रोक أوقف 停止',
  translate: 'traduc tradui übersetz traduz перевед перевод 翻译 अनुवाद ترجم 翻訳',
  calculate: 'calcul berechn calcule рассчит посчит 计算 गणना احسب 計算',
  compare: 'compar vergleich compare сравн 比较 तुलना قارن 比較',
  summarize: 'resum résum zusammenfass resuma обобщ резюм 总结 摘要 सारांश لخص 要約',
  book: 'reserva réserv buch reserve заброн 预订 预定 बुक احجز 予約',
  buy: 'compra achet kauf compre купи 买 购买 खरीद اشتر 買',
  pay: 'paga payer zahl bezahl pague оплат заплат 支付 付款 भुगतान ادفع 支払',
  add: 'añad agreg ajout hinzufüg füg addier adicion acrescent добав 添加 加 जोड़ أضف 追加',
  sum: 'addier summ sumar suma additionn somme somar soma сумм сложи 求和 相加 总和 योग مجموع اجمع 合計 足し',
  share: 'compart partag teil compartilh подел 分享 साझा شارك 共有',
  reply: 'respond répond antwort responda ответ 回复 जवाब رد 返信',
  schedule: 'program planifi plan agende заплан 安排 计划 कार्यक्रम جدول 予定',
  file: 'archivo ficher fichier datei arquivo ficheiro файл 文件 फ़ाइल फाइल ملف ファイル',
  folder: 'carpeta dossier ordner verzeichnis pasta папк 文件夹 目录 फ़ोल्डर مجلد フォルダ',
  message: 'mensaje message nachricht mensagem сообщен 消息 信息 संदेश رسالة メッセージ',
  email: 'correo courriel mail e-mail correio письм почт 邮件 电子邮件 ईमेल بريد メール',
  calendar: 'calendario calendrier kalender termin calendário календар 日历 日程 कैलेंडर تقويم カレンダー',
  event: 'evento événement ereignis termin событ 活动 事件 कार्यक्रम حدث イベント',
  meeting: 'reunión réunion besprechung sitzung reunião встреч 会议 बैठक اجتماع 会議',
  task: 'tarea tâche aufgabe tarefa задач 任务 कार्य مهمة タスク',
  issue: 'incidencia problema problème fehler problema проблем 问题 समस्या مشكلة 問題',
  note: 'nota notiz anota замет 笔记 नोट ملاحظة メモ',
  weather: 'tiempo clima météo wetter clima погод 天气 मौसम طقس 天気',
  forecast: 'pronóstico prévision vorhersage previsão прогноз 预报 पूर्वानुमान توقعات 予報',
  map: 'mapa carte karte mapa карт 地图 नक्शा خريطة 地図',
  route: 'ruta itinéraire route weg rota маршрут 路线 रास्ता طريق 道順',
  flight: 'vuelo vol flug voo рейс авиа 航班 机票 उड़ान رحلة 飛行機 航空券',
  hotel: 'hotel hôtel unterkunft hotel отел гостин 酒店 होटल فندق ホテル',
  restaurant: 'restaurante restaurant gaststätte ресторан 餐厅 रेस्तरां مطعم レストラン',
  price: 'precio prix preis preço цен 价格 कीमत سعر 価格 値段',
  stock: 'acciones bourse aktie ações акци 股票 शेयर سهم 株価',
  currency: 'moneda devise währung moeda валют 货币 汇率 मुद्रा عملة 通貨',
  account: 'cuenta compte konto conta счёт счет 账户 खाता حساب 口座',
  invoice: 'factura facture rechnung fatura счёт-фактур 发票 चालान فاتورة 請求書',
  customer: 'cliente client kunde cliente клиент 客户 ग्राहक عميل 顧客',
  user: 'usuario utilisateur benutzer nutzer usuário пользовател 用户 उपयोगकर्ता مستخدم ユーザー',
  image: 'imagen image bild imagem изображен картин 图片 图像 चित्र صورة 画像',
  photo: 'foto photo foto фото 照片 फोटो صورة 写真',
  video: 'vídeo video vidéo видео 视频 वीडियो فيديو 動画',
  music: 'música musique musik música музык 音乐 संगीत موسيقى 音楽',
  song: 'canción chanson lied canção песн 歌曲 गाना أغنية 曲',
  news: 'noticia nouvelles actualité nachrichten notícia новост 新闻 समाचार أخبار ニュース',
  page: 'página page seite página страниц 页面 पृष्ठ صفحة ページ',
  website: 'sitio site webseite site сайт 网站 वेबसाइट موقع サイト',
  browser: 'navegador navigateur browser navegador браузер 浏览器 ब्राउज़र متصفح ブラウザ',
  screenshot: 'captura capture bildschirmfoto captura скриншот 截图 स्क्रीनशॉट لقطة スクリーンショット',
  table: 'tabla tableau tabelle tabela таблиц 表格 表 तालिका جدول 表',
  database: 'base datenbank banco баз 数据库 डेटाबेस قاعدة データベース',
  document: 'documento document dokument documento документ 文档 दस्तावेज़ مستند 文書 ドキュメント',
  spreadsheet: 'hoja tableur tabellenkalkulation planilha электронн 电子表格 स्प्रेडशीट جدول スプレッドシート',
  contact: 'contacto contact kontakt contato контакт 联系人 संपर्क جهة 連絡先',
  channel: 'canal chaîne kanal canal канал 频道 चैनल قناة チャンネル',
  project: 'proyecto projet projekt projeto проект 项目 परियोजना مشروع プロジェクト',
  repository: 'repositorio dépôt repository repositório репозитор 仓库 रिपॉजिटरी مستودع リポジトリ',
  order: 'pedido commande bestellung pedido заказ 订单 आदेश طلب 注文',
  product: 'producto produit produkt produto товар продукт 产品 商品 उत्पाद منتج 商品',
  report: 'informe rapport bericht relatório отчет отчёт 报告 रिपोर्ट تقرير レポート',
  password: 'contraseña passe passwort senha парол 密码 पासवर्ड كلمة パスワード',
  time: 'hora heure uhrzeit zeit hora врем 时间 समय وقت 時間 時刻',
  date: 'fecha date datum data дат 日期 तारीख تاريخ 日付',
  city: 'ciudad ville stadt cidade город 城市 शहर مدينة 都市',
  address: 'dirección adresse endereço адрес 地址 पता عنوان 住所',
  language: 'idioma langue sprache idioma язык 语言 भाषा لغة 言語',
  text: 'texto texte text texto текст 文本 文字 पाठ نص テキスト',
  number: 'número nombre zahl nummer número числ номер 数字 号码 संख्या رقم 番号',
  today: 'hoy aujourd heute hoje сегодня 今天 आज اليوم 今日',
  tomorrow: 'mañana demain morgen amanhã завтра 明天 कल غدا 明日',
  error: 'error erreur fehler erro ошибк 错误 त्रुटि خطأ エラー',
  memory: 'memoria mémoire gedächtnis speicher memória памят 记忆 स्मृति ذاكرة 記憶',
  remember: 'recuerda souvien merk erinner lembre запомн 记住 याद تذكر 覚え',
  reminder: 'recordatorio rappel erinnerung lembrete напомин 提醒 अनुस्मारक تذكير リマインダー',
  train: 'tren train zug trem поезд 火车 ट्रेन قطار 電車',
  player: 'jugador joueur spieler jogador игрок 玩家 球员 खिलाड़ी لاعب 選手',
  game: 'juego jeu spiel jogo игр 游戏 खेल لعبة ゲーム',
  recipe: 'receta recette rezept receita рецепт 食谱 व्यंजन وصفة レシピ',
}

// Short words that sentences of a language contain, and sentences of the others seldom do.
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  [
    'der die das den dem ein eine einen einem einer und ist für mir mein meine meinen ich bitte von mit auf zu im wie was',
    'el la los las un una unos por para mi mis que con del al por favor quiero cual como',
    'le les une des du mon ma mes pour avec est moi dans quel quelle je au aux s’il',
    'um uma os meu minha com não por favor qual quero no na do da dos das ao',
  ]
    .join(' ')
    .split(' '),
)
const ENGLISH_WORDS: ReadonlySet<string> = new Set(
  'the a an to my of for and is are with what how me in on from that this it i you all please do'.split(' '),
)

/** Whether a word only joins others in one of these languages. */
export function isForeignFunctionWord(word: string): boolean {
  return FUNCTION_WORDS.has(word.toLowerCase())
}

/**
 * Whether a request is probably not in English: by its letters, by its short words, or because the list has most of its
 * words and no tool contains them.
 */
export function soundsForeign(words: readonly string[], isUnknown: (word: string) => boolean): boolean {
  if (words.some((word) => /[^\p{ASCII}\p{P}\p{S}\p{Extended_Pictographic}]/u.test(word))) return true
  let foreign = 0
  let english = 0
  for (const word of words) {
    if (FUNCTION_WORDS.has(word.toLowerCase())) foreign++
    if (ENGLISH_WORDS.has(word.toLowerCase())) english++
  }
  if (foreign > english || (words.length <= 2 && english === 0)) return true
  if (english > 0) return false
  const known = words.filter((word) => isUnknown(word) && translated(word).length > 0)
  return known.length > words.length / 2
}

/** A stem with fewer letters only matches a whole word. Scripts without spaces need fewer. */
const MIN_STEM = 4
const MAX_WORD = 60
const MAX_MEANINGS = 4

interface Translation {
  readonly stem: string
  readonly english: string
}

const IS_UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u

const entriesByScript = onFirstUse(() => {
  // Longest first, so that a compound's own entry wins over those of its pieces.
  const entries: readonly Translation[] = Object.entries(DICTIONARY)
    .flatMap(([english, stems]) => stems.split(' ').map((stem) => ({ stem: folded(stem), english })))
    .sort((a, b) => b.stem.length - a.stem.length)
  return {
    spaced: entries.filter(({ stem }) => !IS_UNSPACED.test(stem)),
    unspaced: entries.filter(({ stem }) => IS_UNSPACED.test(stem)),
  }
})

/**
 * The English tool words for a word of another language, in order; none if the list does not have it. Inflections
 * match by their beginning, compounds by their pieces: `Wettervorhersage` is weather and forecast.
 */
export function translated(word: string): readonly string[] {
  const text = folded(word.slice(0, MAX_WORD))
  if (text.length < 2) return []
  const { spaced, unspaced } = entriesByScript()
  const entries = IS_UNSPACED.test(text) ? unspaced : spaced
  const meanings = new Map<string, number>()
  let rest = text
  let last = { stem: '', at: -1 }
  for (const { stem, english } of entries) {
    if (meanings.size === MAX_MEANINGS) break
    // A stem may have several meanings: `Zahlen` are numbers, and to pay.
    const at = stem === last.stem ? last.at : placeOf(stem, rest, text)
    if (at < 0) continue
    last = { stem, at }
    if (!meanings.has(english)) meanings.set(english, at)
    // What matched is used up; the place of the rest stays the same.
    rest = rest.slice(0, at) + ' '.repeat(stem.length) + rest.slice(at + stem.length)
  }
  return [...meanings].sort(([, a], [, b]) => a - b).map(([english]) => english)
}

function placeOf(stem: string, rest: string, text: string): number {
  if (IS_UNSPACED.test(stem)) return rest.indexOf(stem)
  if (stem === text) return 0
  if (stem.length < MIN_STEM) return rest.startsWith(stem) && text.length <= stem.length + 3 ? 0 : -1
  // At the start of a word, or of the second piece of a compound.
  const at = rest.indexOf(stem)
  return at === 0 || at >= MIN_STEM - 1 ? at : -1
}

/** Lower case without accents. */
function folded(word: string): string {
  return word
    .toLowerCase()
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .normalize('NFC')
}
