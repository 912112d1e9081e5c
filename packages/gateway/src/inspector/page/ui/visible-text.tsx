/**
 * Characters that people do not see but models read: controls, zero-width, bidi, tags, fillers. Not tabs, line breaks,
 * and the variation selector of emoji.
 */
const UNSEEN = /(?![\t\n\r]|(?<=\p{Emoji})\ufe0f)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u

const NAMES: Readonly<Record<string, string>> = {
  '200b': 'ZWSP',
  '200c': 'ZWNJ',
  '200d': 'ZWJ',
  '200e': 'LRM',
  '200f': 'RLM',
  '202d': 'LRO',
  '202e': 'RLO',
  feff: 'BOM',
  ad: 'SHY',
  '1b': 'ESC',
}

/** Shows untrusted text: hidden characters are made visible, and nothing is parsed as markup. */
export function VisibleText({ text }: { readonly text: string }) {
  if (!UNSEEN.test(text)) return <>{text}</>
  return (
    <>
      {text.split(new RegExp(`(${UNSEEN.source})`, 'u')).map((part, index) => {
        if (index % 2 === 0) return part
        const code = (part.codePointAt(0) ?? 0).toString(16)
        const key = `${index} ${code}`
        return (
          <span key={key} class="unseen" title={`hidden character U+${code.toUpperCase().padStart(4, '0')}`}>
            {NAMES[code] ?? `U+${code.toUpperCase()}`}
          </span>
        )
      })}
    </>
  )
}

const MAX_CHARACTERS = 100_000

/** Untrusted text in a box that scrolls; a very long one is cut. */
export function LongText({ text }: { readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reachable by keyboard.
    <pre class="log" tabIndex={0}>
      <VisibleText text={text.slice(0, MAX_CHARACTERS)} />
    </pre>
  )
}
