import type { ComponentChildren } from 'preact'
import { VisibleText } from './visible-text.tsx'

/** Longer texts are cut: nobody reads a description of 100 kB. */
const MAX_CHARACTERS = 12_000

/**
 * The Markdown that descriptions use, as elements and never as HTML. Links show their address and cannot be clicked;
 * images are not loaded.
 */
export function Markdown({ text }: { readonly text: string }) {
  const cut = text.slice(0, MAX_CHARACTERS)
  return (
    <div class="markdown">
      {blocksOf(cut).map((block, index) => (
        <Block key={index} block={block} />
      ))}
      {text.length > MAX_CHARACTERS && (
        <p class="muted">… cut here: {text.length.toLocaleString('en-US')} characters in all</p>
      )}
    </div>
  )
}

type BlockData =
  | { readonly kind: 'code' | 'text' | 'heading'; readonly text: string }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly string[] }

function Block({ block }: { readonly block: BlockData }) {
  switch (block.kind) {
    case 'code':
      return (
        <pre>
          <VisibleText text={block.text} />
        </pre>
      )
    case 'heading':
      return (
        <p>
          <b>{inline(block.text)}</b>
        </p>
      )
    case 'list': {
      const items = block.items.map((item) => <li key={item}>{inline(item)}</li>)
      return block.isOrdered ? <ol>{items}</ol> : <ul>{items}</ul>
    }
    default:
      return <p class="prose">{inline(block.text)}</p>
  }
}

function blocksOf(text: string): BlockData[] {
  const blocks: BlockData[] = []
  let code: string[] | undefined
  let paragraph: string[] = []
  let list: { isOrdered: boolean; items: string[] } | undefined
  const flush = () => {
    if (paragraph.length > 0) blocks.push({ kind: 'text', text: paragraph.join('\n') })
    if (list) blocks.push({ kind: 'list', ...list })
    paragraph = []
    list = undefined
  }
  for (const line of text.split('\n')) {
    if (/^\s*(?:```|~~~)/.test(line)) {
      if (code) blocks.push({ kind: 'code', text: code.join('\n') })
      else flush()
      code = code ? undefined : []
      continue
    }
    if (code) {
      code.push(line)
      continue
    }
    const heading = /^#{1,6}\s+(.*)$/.exec(line)?.[1]
    const [, mark, item] = /^\s*([-*+]|\d{1,3}[.)])\s+(.*)$/.exec(line) ?? []
    if (heading !== undefined) {
      flush()
      blocks.push({ kind: 'heading', text: heading })
    } else if (item !== undefined) {
      if (paragraph.length > 0) flush()
      list ??= { isOrdered: /\d/.test(mark ?? ''), items: [] }
      list.items.push(item)
    } else if (line.trim() === '') flush()
    else {
      if (list) flush()
      paragraph.push(line)
    }
  }
  if (code) blocks.push({ kind: 'code', text: code.join('\n') })
  flush()
  return blocks
}

/** Code, bold and emphasis; one pass, no nesting, linear in the length. */
function inline(text: string): ComponentChildren {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*|\*[^*\s][^*\n]*\*)/).map((part, index) => {
    if (index % 2 === 0) return <VisibleText text={part} />
    if (part.startsWith('`')) return <code>{<VisibleText text={part.slice(1, -1)} />}</code>
    if (part.startsWith('**')) return <b>{<VisibleText text={part.slice(2, -2)} />}</b>
    return <em>{<VisibleText text={part.slice(1, -1)} />}</em>
  })
}
